"""Every knob of the operator, in one frozen model: its name, its default, what it is for and what it may be.

Names, defaults and descriptions here are also the flags of `tpu-node-group run`, the variables `TPU_NODE_GROUP_*` and
`docs/settings.md`: nothing is written twice. This module decides what is valid; `load.py` says it to people.
"""

import re
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from controller.api.constants import CONTROLLER_NAMESPACE
from controller.settings.duration import Duration, Durations, format_duration
from controller.settings.identity import default_identity

#: Variables of the environment begin so.
ENV_PREFIX: Final = "TPU_NODE_GROUP_"

_SUBSCRIPTION: Final = re.compile(r"projects/([^/]*)/subscriptions/([^/]*)")
#: A project of a domain has the domain before its id, as in `example.com:my-project`.
_PROJECT_ID: Final = re.compile(r"[a-z][a-z0-9.:-]{4,61}[a-z0-9]")
_SUBSCRIPTION_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.~+%-]{2,254}")
_HOST_PORT: Final = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:/]+):(\d{1,5})")
_ACCOUNT: Final = re.compile(r"default|[a-z0-9.-]+@[a-z0-9.-]+")
_DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"


def _subscription(value: str) -> str:
    match = _SUBSCRIPTION.fullmatch(value)
    if not match:
        raise ValueError("is not a subscription: write projects/PROJECT/subscriptions/NAME")
    project, name = match.groups()
    if not _PROJECT_ID.fullmatch(project):
        raise ValueError(
            f'is not a subscription: "{project}" is no project id, which has 6 to 63 lower-case letters, digits, "-", '
            '"." or ":", begins with a letter and ends with a letter or a digit'
        )
    if not _SUBSCRIPTION_NAME.fullmatch(name):
        raise ValueError(
            f'is not a subscription: "{name}" is no name of one, which has 3 to 255 letters, digits or any of -_.~+%, '
            "and begins with a letter"
        )
    return value


def _web_endpoint(value: str) -> str:
    # A bare host:port would become https:// in the Compute client (facts: GCE 1).
    if value and not re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
        raise ValueError("is not an endpoint: write http://HOST:PORT or https://HOST, or nothing for Google's")
    return value.rstrip("/")


def _host_port(value: str) -> str:
    match = _HOST_PORT.fullmatch(value)
    if not match or int(match[2]) > 65535:
        raise ValueError("is not an address: write HOST:PORT")
    return value


def _grpc_endpoint(value: str) -> str:
    if value and not _HOST_PORT.fullmatch(value):
        raise ValueError("is not an endpoint: write HOST:PORT, or nothing for Google's")
    return value


def _account(value: str) -> str:
    if value and not _ACCOUNT.fullmatch(value):
        raise ValueError('is not a service account: write its email, "default", or nothing for none')
    return value


def _image(value: str) -> str:
    if not re.fullmatch(r"projects/[^/\s]+/global/images/(family/)?[^/\s]+", value):
        raise ValueError("is not an image: write projects/PROJECT/global/images/NAME or .../images/family/NAME")
    return value


WebEndpoint = Annotated[str, AfterValidator(_web_endpoint)]
GrpcEndpoint = Annotated[str, AfterValidator(_grpc_endpoint)]
Image = Annotated[str, AfterValidator(_image)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


def _knob(group: str, default: Any, description: str) -> Any:
    """A setting: in which chapter it stands, what it is when nobody says, what it is for."""
    return Field(default=default, description=description, json_schema_extra={"group": group})


def _seconds(group: str, seconds: float, description: str) -> Any:
    return _knob(group, timedelta(seconds=seconds), description)


def _series(group: str, seconds: tuple[float, ...], description: str) -> Any:
    return _knob(group, tuple(timedelta(seconds=each) for each in seconds), description)


_WHERE, _VMS, _EVENTS, _PACE = "Where things are", "Virtual machines", "Events", "Looking again"
_TOKENS, _TROUBLE, _BUDGETS, _PROCESS = "Join tokens", "When calls fail", "Budgets", "The process"


class Settings(BaseSettings):
    """The operator's settings. Durations are timedeltas; an empty endpoint means Google's own."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid", validate_default=True)

    subscription: Annotated[str, AfterValidator(_subscription)] = Field(
        description="Pub/Sub subscription that carries the log entries, as projects/PROJECT/subscriptions/NAME.",
        json_schema_extra={"group": _WHERE},
    )
    project: Annotated[str, Field(pattern=r"^([a-z][a-z0-9.:-]{4,61}[a-z0-9])?$")] = _knob(
        _WHERE, "", "Project for the operator's own log entries; the subscription's project when empty."
    )
    cluster_name: Annotated[str, Field(pattern=_DNS_LABEL)] = _knob(
        _WHERE, "default", "Name of this cluster in canary and audit entries, where several share one project."
    )
    namespace: Annotated[str, Field(pattern=_DNS_LABEL)] = _knob(
        _WHERE, CONTROLLER_NAMESPACE, "Namespace of the operator's own Lease."
    )
    kubeconfig: str = _knob(_WHERE, "", "Kubeconfig file; when empty the pod's own account, or else ~/.kube/config.")
    kube_context: str = _knob(_WHERE, "", "Context of the kubeconfig; its current one when empty.")
    compute_endpoint: WebEndpoint = _knob(_WHERE, "", "Compute Engine API, as http://HOST:PORT; empty for Google's.")
    pubsub_endpoint: GrpcEndpoint = _knob(_WHERE, "", "Pub/Sub API, as HOST:PORT without TLS; empty for Google's.")
    logging_endpoint: GrpcEndpoint = _knob(
        _WHERE, "", "Cloud Logging API, as HOST:PORT without TLS; empty for Google's."
    )
    apis_endpoint: WebEndpoint = _knob(
        _WHERE,
        "",
        "Cloud Resource Manager and Service Usage, which `doctor` asks, as http://HOST:PORT; empty for Google's.",
    )
    sink: Annotated[str, Field(pattern=r"^((projects|folders|organizations)/[^/\s]+/sinks/[^/\s]+)?$")] = _knob(
        _WHERE, "", "Log sink that `doctor` looks at, as projects/PROJECT/sinks/NAME; found by its topic when empty."
    )

    node_service_account: Annotated[str, AfterValidator(_account)] = _knob(
        _VMS,
        "",
        "Service account for the VMs of groups that name none. With one, a VM reports its boot through Cloud Logging"
        " and gets its token at once; without one, the operator looks for it.",
    )
    boot_image_tpu7x: Image = _knob(
        _VMS,
        "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2404-amd64-tpu-tpu7x",
        "Boot image of tpu7x and tpu7 machines whose group names none.",
    )
    boot_image_v6e: Image = _knob(
        _VMS,
        "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accel-2204-amd64-tpu-v5e-v5p-v6e",
        "Boot image of ct6e machines whose group names none.",
    )

    canary_interval: Duration = _seconds(_EVENTS, 300, "How often the operator sends itself an entry along the path.")
    deaf_limit: Duration = _seconds(_EVENTS, 120, "An entry that must come and has not come for so long means: deaf.")
    max_delivery_attempts: Annotated[int, Field(ge=5, le=100)] = _knob(
        _EVENTS, 5, "After so many attempts the subscription hands what cannot be read to its dead-letter topic."
    )
    max_outstanding_messages: Annotated[int, Field(ge=1, le=100_000)] = _knob(
        _EVENTS, 1000, "Messages that Pub/Sub may have sent and not got an answer for."
    )
    max_looks_per_key_per_second: Count = _knob(
        _EVENTS, 20, "Looks at one object per second, at most: no flood of events can make more."
    )

    resync_interval: Duration = _seconds(_PACE, 600, "How often a group is looked at when nothing is heard of it.")
    resync_jitter: Share = _knob(_PACE, 0.2, "Share by which a resync may come earlier or later.")
    deaf_resync_interval: Duration = _seconds(_PACE, 30, "The same while events do not flow.")
    follow_up_first: Duration = _seconds(_PACE, 0.5, "First look again while VMs are on their way; then it doubles.")
    follow_up_max: Duration = _seconds(_PACE, 8, "Longest wait between two such looks.")
    pass_limit: Duration = _seconds(_PACE, 1, "A pass acts for so long, then looks again: no plan grows stale.")
    unconfirmed_looks: Durations = _series(_PACE, (5, 15, 30), "When metadata writes without an answer are re-read.")
    operation_looks: Durations = _series(_PACE, (5, 15, 30, 60), "When an operation without an event is looked at.")
    rejected_retry: Duration = _seconds(_PACE, 300, "How often something that GCE refused is tried again.")

    token_life: Duration = _seconds(_TOKENS, 3600, "Life of a join token.")
    token_renew_margin: Duration = _seconds(_TOKENS, 600, "A VM that has not joined gets a new one so long before.")
    token_slot: Duration = _seconds(_TOKENS, 600, "After so long a VM that does not join makes room for others.")
    signature_wait: Duration = _seconds(_TOKENS, 2, "How long to wait for a token's signature in cluster-info.")
    live_tokens: Count = _knob(_TOKENS, 500, "Live tokens of all groups together, at most.")
    live_tokens_per_group: Count = _knob(_TOKENS, 200, "Live tokens of one group, at most.")

    retry_first: Duration = _seconds(_TROUBLE, 1, "First wait after passing trouble; then it doubles.")
    retry_max: Duration = _seconds(_TROUBLE, 60, "Longest wait after passing trouble.")
    capacity_retry_first: Duration = _seconds(_TROUBLE, 30, "First wait when there is no capacity or quota.")
    capacity_retry_max: Duration = _seconds(_TROUBLE, 600, "Longest wait when there is no capacity or quota.")
    call_timeout: Duration = _seconds(_TROUBLE, 15, "Longest that one API call may take.")

    compute_reads_per_minute: Count = _knob(_BUDGETS, 1500, "Compute Engine reads per minute, shared by all groups.")
    compute_writes_per_minute: Count = _knob(_BUDGETS, 1000, "Compute Engine writes per minute, shared by all groups.")
    compute_threads: Annotated[int, Field(ge=1, le=64)] = _knob(_BUDGETS, 8, "Compute Engine calls at the same time.")

    identity: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,253}$")] = Field(
        default_factory=default_identity,
        description="Who this replica is, in the Lease and in audit records: the Pod's name; else host and process.",
        json_schema_extra={"group": _PROCESS},
    )
    leader_election: bool = _knob(_PROCESS, default=True, description="Act only while holding the Lease.")
    lease_duration: Duration = _seconds(_PROCESS, 15, "A Lease not renewed for so long may be taken.")
    lease_renew_deadline: Duration = _seconds(_PROCESS, 10, "A leader that cannot renew for so long stops acting.")
    lease_retry: Duration = _seconds(_PROCESS, 2, "Wait between two tries to take or renew the Lease.")
    shutdown_grace: Duration = _seconds(_PROCESS, 5, "How long work in progress may go on after SIGTERM.")
    listen: Annotated[str, AfterValidator(_host_port)] = _knob(
        _PROCESS, "0.0.0.0:8080", "Address of /metrics, /healthz and /readyz; port 0 takes a free one."
    )
    log_level: Literal["debug", "info", "warning", "error"] = _knob(_PROCESS, "info", "What is worth a log line.")
    log_format: Literal["console", "json"] = _knob(_PROCESS, "console", "Log lines for people, or for Cloud Logging.")
    audit_to_cloud_logging: bool = _knob(
        _PROCESS, default=True, description="Write audit records to Cloud Logging too, not only to stdout."
    )

    @model_validator(mode="before")
    @classmethod
    def _take_the_project_of_the_subscription(cls, data: dict[str, Any]) -> dict[str, Any]:
        match = _SUBSCRIPTION.fullmatch(str(data.get("subscription", "")))
        if data.get("project") or not match or not _PROJECT_ID.fullmatch(match[1]):
            return data
        return {**data, "project": match[1]}

    @model_validator(mode="after")
    def _check_what_depends_on_another(self) -> Self:
        for shorter, longer in _SHORTER_THAN:
            low, high = getattr(self, shorter), getattr(self, longer)
            equal = (shorter, longer) in _MAY_BE_EQUAL
            if low > high or (low == high and not equal):
                must = "must not be longer than" if equal else "must be shorter than"
                raise ValueError(f"{shorter} ({format_duration(low)}) {must} {longer} ({format_duration(high)})")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load` hands over and the environment: no `.env` file of whatever directory this runs in."""
        del settings_cls, dotenv_settings, file_secret_settings
        return init_settings, env_settings


_MAY_BE_EQUAL: Final = (
    ("follow_up_first", "follow_up_max"),
    ("retry_first", "retry_max"),
    ("capacity_retry_first", "capacity_retry_max"),
    ("deaf_resync_interval", "resync_interval"),
)
_SHORTER_THAN: Final = (
    *_MAY_BE_EQUAL,
    ("lease_renew_deadline", "lease_duration"),
    ("lease_retry", "lease_renew_deadline"),
    ("token_renew_margin", "token_life"),
)
