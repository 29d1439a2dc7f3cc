"""Everything that must be refused, with the words of the refusal: custom resources, settings, messages.

What the API server refuses at admission is in `tests/api/bad_crs.py`. Here is what passes it and cannot work all the
same: the operator says so in a condition.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from tests.api.manifests import changed, make_brought_group, make_template

Json = dict[str, Any]

TEMPLATES: Final = "projects/my-gcp-project/global/instanceTemplates"


@dataclass(frozen=True)
class Rejected:
    """A custom resource that is accepted by the API server and rejected by the operator.

    `template`: the properties of a brought template that must be there first. `reads`: how many calls of Compute
    Engine it takes to see; none changes anything.
    """

    about: str
    manifest: Json
    message: str
    template: Json | None = None
    reads: frozenset[str] = field(default_factory=frozenset)


def _brought(about: str, message: str, properties: Json | None, **changes: Any) -> Rejected:
    """A group of a brought template with these properties; None is a template that is not there."""
    name = about.replace(" ", "-").replace(",", "").lower()[:40].strip("-")
    manifest = make_brought_group(instanceTemplateURI=f"{TEMPLATES}/{name}", **changes)
    return Rejected(
        about,
        changed(manifest, {"metadata.name": name}),
        message.format(template=f"{TEMPLATES}/{name}"),
        properties,
        frozenset({"instanceTemplates.get"}),
    )


def _properties(**changes: Any) -> Json:
    """A template that could be brought, but for some of its properties."""
    scheduling = {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"}
    properties: Json = {
        "machineType": "tpu7x-standard-4t",
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/p/global/images/family/golden"}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "scheduling": scheduling,
    }
    return properties | changes


REJECTED: Final = (
    Rejected(
        "a subnetwork by its bare name in a template",
        changed(make_template(subnetwork="private"), {"metadata.name": "bare-subnetwork"}),
        "subnetwork 'private': an instance template is global and has no region for a bare name; "
        "write regions/<region>/subnetworks/private",
    ),
    _brought("a template that is not there", "spec.instanceTemplateURI: {template} does not exist", None),
    _brought(
        "a template without TPUs",
        "{template}: its machine type 'n2-standard-4' is no TPU of v6e or v7; bring a template of one",
        _properties(machineType="n2-standard-4"),
    ),
    _brought(
        "a template whose VMs would migrate",
        "{template}: its scheduling must say onHostMaintenance TERMINATE: a TPU VM cannot migrate",
        _properties(scheduling={"provisioningModel": "STANDARD", "onHostMaintenance": "MIGRATE"}),
    ),
    _brought(
        "a template of Spot VMs that are deleted",
        "{template}: with provisioning model SPOT its instanceTerminationAction must be STOP",
        _properties(
            scheduling={
                "provisioningModel": "SPOT",
                "onHostMaintenance": "TERMINATE",
                "instanceTerminationAction": "DELETE",
            }
        ),
    ),
    _brought(
        "a template of another size",
        "nodeCount",
        _properties(machineType="tpu7x-standard-4t"),
        nodeCount=4,
        topology="2x2x2",
    ),
)

_SUBSCRIPTION: Final = "TPU_NODE_GROUP_SUBSCRIPTION"
_DURATION: Final = 'is not a duration: write a number with ms, s, m or h, such as "30s" or "5m"'
_ENDPOINT: Final = "is not an endpoint: write http://HOST:PORT or https://HOST, or nothing for Google's"
#: What is set -> what `run` says of it. All end with exit code 2.
SETTINGS: Final[tuple[tuple[dict[str, str], str], ...]] = (
    (
        {_SUBSCRIPTION: "events"},
        'TPU_NODE_GROUP_SUBSCRIPTION="events" is not a subscription: write projects/PROJECT/subscriptions/NAME',
    ),
    (
        {"TPU_NODE_GROUP_RESYNC_INTERVAL": "soon"},
        f'TPU_NODE_GROUP_RESYNC_INTERVAL="soon" {_DURATION}',
    ),
    (
        {"TPU_NODE_GROUP_LOG_FORMAT": "xml"},
        "TPU_NODE_GROUP_LOG_FORMAT=\"xml\" must be one of 'console' or 'json'",
    ),
    (
        {"TPU_NODE_GROUP_LIVE_TOKENS": "0"},
        'TPU_NODE_GROUP_LIVE_TOKENS="0" must be at least 1',
    ),
    (
        {"TPU_NODE_GROUP_COMPUTE_ENDPOINT": "localhost:80"},
        f'TPU_NODE_GROUP_COMPUTE_ENDPOINT="localhost:80" {_ENDPOINT}',
    ),
    (
        {"TPU_NODE_GROUP_TOKEN_LIFE": "5m"},
        "token_renew_margin (10m) must be shorter than token_life (5m)",
    ),
    (
        {"TPU_NODE_GROUP_RESYNC_INTERVALL": "5m"},
        "TPU_NODE_GROUP_RESYNC_INTERVALL is no setting: did you mean TPU_NODE_GROUP_RESYNC_INTERVAL?",
    ),
)

_ENTRY: Final[Json] = {
    "protoPayload": {
        "serviceName": "compute.googleapis.com",
        "methodName": "v1.compute.instances.insert",
        "resourceName": "projects/my-gcp-project/zones/us-central1-c/instances/slice-mig-00000000-0000",
    },
    "resource": {"type": "gce_instance", "labels": {"project_id": "my-gcp-project", "zone": "us-central1-c"}},
    "timestamp": "2026-03-01T12:00:00.123456Z",
    "insertId": "abc",
    "logName": "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Factivity",
}


def _entry(**changes: Any) -> bytes:
    """An entry without or with other fields."""
    return json.dumps(changed(_ENTRY, {key.replace("__", "."): value for key, value in changes.items()})).encode()


#: What is published -> why it cannot be read. `events decode` says so and ends with 0: the input was read.
MESSAGES: Final[tuple[tuple[bytes, str], ...]] = (
    (b"no JSON at all", "not JSON"),
    (b"\xff\xfe\x00", "not UTF-8"),
    (b'{"a":' * 50_000, "nested too deeply"),
    (b"7", "not a JSON object"),
    (_entry(logName=None), "no logName"),
    (_entry(timestamp="yesterday"), "no timestamp"),
    (_entry(protoPayload__methodName=7), "no methodName"),
    (_entry(protoPayload="text"), "the payload is not an object"),
    (_entry(protoPayload__resourceName=None), "no resourceName"),
)
#: What is published and is a log entry, but none of ours -> the reason for which it is passed over, or "" where it is
#: an event of a resource that nobody here owns.
FOREIGN: Final[tuple[tuple[bytes, str], ...]] = (
    (_entry(protoPayload__serviceName="storage.googleapis.com"), "v1.compute.instances.insert"),
    (_entry(protoPayload__methodName="v1.compute.disks.insert"), "compute.disks.insert"),
    (_entry(insertId="of-nobody"), ""),
)
