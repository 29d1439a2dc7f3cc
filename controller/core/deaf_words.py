"""What is said of a path on which entries do not come: the likely cause, and the command that checks it.

Commands are whole: they can be pasted. Permissions and roles are those of facts: audit logs 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from controller.api.constants import LOG_CANARY


@dataclass(frozen=True, slots=True)
class Names:
    """Whose path it is: the project of the entries, and the subscription (`projects/p/subscriptions/s`)."""

    project: str
    subscription: str

    @property
    def sinks(self) -> str:
        """Shows the sinks: whether there is one, disabled or not, its filter, its writer identity."""
        return f"gcloud logging sinks list --project={self.project} --format=yaml"

    @property
    def publishers(self) -> str:
        """Shows who may publish to the topic."""
        topic = f"gcloud pubsub subscriptions describe {self.subscription} --format='value(topic)'"
        return f'gcloud pubsub topics get-iam-policy "$({topic})"'


def nothing(names: Names, limit: float, what: str = "") -> str:
    """No entry comes, whatever it is of."""
    expected = f"not even that of our own {what}" if what else f"not even {LOG_CANARY}"
    return (
        f"no entry of project {names.project} has arrived for {limit:g} s, {expected}. The log sink is missing or "
        "disabled, its filter admits nothing, or its writer identity lacks roles/pubsub.publisher on the topic. "
        f"Check the sink (destination, disabled, filter, writerIdentity): `{names.sinks}`; and who may publish: "
        f"`{names.publishers}`"
    )


def canary_missing(names: Names, limit: float) -> str:
    """Audit entries come, the canary does not."""
    return (
        f"audit entries of project {names.project} arrive, but {LOG_CANARY} has not come back for {limit:g} s: the "
        f'filter of the log sink does not admit log_id("{LOG_CANARY}"). Check the filter: `{names.sinks}`; and '
        f"that the entry is written: `gcloud logging read 'log_id(\"{LOG_CANARY}\")' --project={names.project} "
        "--freshness=10m --limit=1`"
    )


def not_written(names: Names, trouble: str) -> str:
    """The operator cannot write its canary."""
    return (
        f"{LOG_CANARY} cannot be written, so whether entries arrive is not known: {trouble}. The operator's service "
        "account needs logging.logEntries.create (roles/logging.logWriter). Check: "
        f"`gcloud projects get-iam-policy {names.project} --flatten='bindings[].members' "
        "--filter=bindings.role:roles/logging.logWriter`"
    )


def activity_missing(names: Names, limit: float, what: str, types: Sequence[str]) -> str:
    """The canary comes, entries of the audit log do not."""
    return (
        f"the audit entry of {what} has not arrived within {limit:g} s: the filter of the log sink of project "
        f"{names.project} does not admit {' and '.join(types)}, or a sink of a folder or of the organization "
        f"intercepts them. Check the filter: `{names.sinks}`; that they are written: `gcloud logging read "
        f'\'protoPayload.serviceName="compute.googleapis.com" AND resource.type="{types[0]}"\' '
        f"--project={names.project} --freshness=1h --limit=1`; and sinks above with interceptChildren: `gcloud "
        "logging sinks list --organization=ORGANIZATION_ID --format=yaml`. The next such entry that arrives ends this"
    )


def stream_down(names: Names, error: str, code: str) -> str:
    """The subscription cannot be pulled. `code`: the gRPC status by name, "" where the service did not answer."""
    describe = f"gcloud pubsub subscriptions describe {names.subscription}"
    if code == "PERMISSION_DENIED":
        return f"{error}. Check: `gcloud pubsub subscriptions get-iam-policy {names.subscription}`"
    if code == "NOT_FOUND":
        return f"{error}. Check: `{describe}`"
    return f"{error}. Check that it can be reached from elsewhere: `{describe}`"


def behind(limit: float) -> str:
    """Entries come, late."""
    return f"events arrive, and the oldest that is not handled yet is older than {limit:g} s: see docs/metrics.md"
