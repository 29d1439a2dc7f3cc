"""Which entries the log sink takes, as a table: every published sample, every method that matters, and the noise.

Each verdict is given twice: with the module's defaults, and narrowed to one zone and to names that begin with `slice-`.
The evaluator that says so is itself held to Google's examples in `test_query.py`.
"""

import base64
import json
from pathlib import Path
from typing import Any, Final

import pytest

from simulator.logging.query import compile_query
from simulator.logging.sink_filter import sink_filter
from sinks.intake.events import EventKind
from sinks.intake.methods import COLLECTIONS, KINDS
from tests.simulator.logging.conftest import audit, written

Json = dict[str, Any]

SAMPLES: Final = Path(__file__).parents[2] / "data" / "audit-log"
ACTIVITY: Final = "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Factivity"
SYSTEM: Final = "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Fsystem_event"
READS: Final = "projects/my-gcp-project/logs/cloudaudit.googleapis.com%2Fdata_access"
ZONE: Final = "us-central1-a"
EVERYTHING: Final = compile_query(sink_filter())
NARROW: Final = compile_query(sink_filter(zones=ZONE, regions="us-central1", names="slice-"))

#: Where a collection's resources are, and what their entries call their kind.
PLACES: Final = {
    "instances": (f"zones/{ZONE}", "gce_instance"),
    "instanceGroupManagers": (f"zones/{ZONE}", "gce_instance_group_manager"),
    "instanceTemplates": ("global", "gce_instance_template"),
    "resourcePolicies": ("regions/us-central1", "gce_resource_policy"),
}
#: Kinds of events that Compute Engine reports by itself, in the log of system events (facts: audit logs 3).
BY_ITSELF: Final = {
    EventKind.PREEMPTED,
    EventKind.RESTARTED,
    EventKind.REPAIR,
    EventKind.MAINTENANCE_UPCOMING,
    EventKind.GUEST_TERMINATED,
}
#: Of the other kinds, those methods that are none of the API's (service_catalog.json has only what can be called).
CALLED: Final = {
    "insert",
    "bulkInsert",
    "delete",
    "start",
    "startWithEncryptionKey",
    "resume",
    "stop",
    "suspend",
    "reset",
    "reportHostAsFaulty",
    "simulateMaintenanceEvent",
    "performMaintenance",
    "setMetadata",
}


def entry_of(collection: str, method: str, name: str = "slice-mig-0", **changes: Any) -> Json:
    """An entry of a method on one resource, in the log in which Compute Engine writes it."""
    place, kind = PLACES[COLLECTIONS[collection][1]]
    reported = KINDS[collection, method] in BY_ITSELF or (collection == "instances" and method not in CALLED)
    bare = f"compute.{collection}.{method}"
    return {
        "logName": SYSTEM if reported else ACTIVITY,
        "severity": "INFO" if reported else "NOTICE",
        "resource": {"type": kind, "labels": {"project_id": "my-gcp-project"}},
        "protoPayload": {
            "serviceName": "compute.googleapis.com",
            "methodName": bare if reported else f"v1.{bare}",
            "resourceName": f"projects/123456789012/{place}/{COLLECTIONS[collection][1]}/{name}",
        },
        **changes,
    }


#: A successful write of metadata is our own echo.
ECHO: Final = ("instances", "setMetadata")


@pytest.mark.parametrize("reacts", [each for each in KINDS if each != ECHO], ids=".".join)
def test_every_method_that_the_operator_reacts_to_comes_through_for_its_own_names_alone(
    reacts: tuple[str, str],
) -> None:
    ours, foreign = entry_of(*reacts), entry_of(*reacts, name="web-1")
    assert [(EVERYTHING(entry), NARROW(entry)) for entry in (ours, foreign)] == [(True, True), (True, False)]


def sample(path: Path) -> Json:
    """A published entry; of the envelope of a push, what is in it."""
    found: Json = json.loads(path.read_text(encoding="utf-8"))
    return dict(json.loads(base64.b64decode(found["message"]["data"]))) if "message" in found else found


#: What the filter drops of the published samples: two echoes, and an entry of Kubernetes.
DROPPED: Final = {"20-instance-setmetadata-first", "21-instance-setmetadata-last", "24-pubsub-push-envelope"}


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_published_sample_has_its_verdict(path: Path) -> None:
    assert EVERYTHING(sample(path)) is (path.stem not in DROPPED)
    # None of them is of a slice.
    assert not NARROW(sample(path))


#: (what it is, the entry, taken by default, taken when narrowed)
NOISE: Final[list[tuple[str, Json, bool, bool]]] = [
    ("a VM of GKE", audit("gke-prod-pool-1-abcd", "v1.compute.instances.insert"), True, False),
    ("another VM", audit("web-1", "v1.compute.instances.delete"), True, False),
    ("a VM whose name only contains ours", audit("my-slice-1", "v1.compute.instances.delete"), True, False),
    ("a preempted VM of somebody", audit("web-1", "compute.instances.preempted", logName=SYSTEM), True, False),
    ("a read", audit("slice-1", "v1.compute.instances.get", logName=READS), False, False),
    ("a list", audit("slice-1", "v1.compute.instances.list", logName=READS), False, False),
    ("our own setMetadata, first", audit("slice-1", "v1.compute.instances.setMetadata"), False, False),
    ("setMetadata that failed", audit("slice-1", "v1.compute.instances.setMetadata", severity="ERROR"), True, True),
    (
        "setMetadata of no severity",
        audit("slice-1", "beta.compute.instances.setMetadata", severity=""),
        False,
        False,
    ),
    ("a label", audit("slice-1", "v1.compute.instances.setLabels"), False, False),
    ("a serial console", audit("slice-1", "google.ssh-serialport.v1.connect"), False, False),
    ("a disk", audit("slice-1", "v1.compute.disks.insert", resource={"type": "gce_disk"}), False, False),
    ("a firewall", audit("x", "v1.compute.firewalls.insert", resource={"type": "gce_firewall_rule"}), False, False),
    (
        "GKE itself",
        audit(
            "x",
            "google.container.v1.ClusterManager.CreateCluster",
            protoPayload={
                "serviceName": "container.googleapis.com",
                "methodName": "google.container.v1.ClusterManager.CreateCluster",
                "resourceName": "projects/p/zones/us-central1-a/clusters/c",
            },
            resource={"type": "gke_cluster"},
        ),
        False,
        False,
    ),
    ("a VM's boot", written("tpu-node-bootstrap", instance="slice-1", step="booted"), True, True),
    ("another VM's boot", written("tpu-node-bootstrap", instance="web-1", step="booted"), True, False),
    ("the canary", written("tpu-node-group-canary", cluster="c", instance="i"), True, True),
    ("our own audit records", written("tpu-node-group-actions", action="InjectToken"), False, False),
    ("an application", written("stdout", message="compute.instances.delete of slice-1"), False, False),
    (
        "a policy violation",
        audit("slice-1", "v1.compute.instances.insert", logName=ACTIVITY.replace("activity", "policy")),
        False,
        False,
    ),
]


@pytest.mark.parametrize(("entry", "taken", "narrowed"), [each[1:] for each in NOISE], ids=[each[0] for each in NOISE])
def test_of_the_noise_only_what_looks_like_ours_comes_through(entry: Json, *, taken: bool, narrowed: bool) -> None:
    assert (EVERYTHING(entry), NARROW(entry)) == (taken, narrowed)
