"""Decoding: the whole table of published samples, every method, and what is refused."""

import copy
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sinks.intake.document import to_json
from sinks.intake.entry import decode
from sinks.intake.events import Event, EventKind, Failure, Ignored, Phase, Resource, Unreadable, moment
from sinks.intake.methods import KINDS

SAMPLES = Path(__file__).parents[1] / "data" / "audit-log"
ACTIVITY = "projects/example-project/logs/cloudaudit.googleapis.com%2Factivity"
SYSTEM = "projects/example-project/logs/cloudaudit.googleapis.com%2Fsystem_event"

#: sample -> resource, kind, zone, name, instance id, phase, failure, key (without the log), log.
TABLE: dict[str, tuple[str, str, str | None, str, str | None, str, dict[str, Any] | None, str, str]] = {
    "01": ("instance", "inserted", "us-central1-a", "instance-1", "11111111631960822", "first", None,
           "2020-05-03T12:15:29.009Z|3vuqdhe1iqbu", ACTIVITY),
    "02": ("instance", "inserted", "us-central1-b", "my-managed-group2-f3ng", "16752163", "first", None,
           "2020-05-11T01:26:36.738Z|-oyhqund58si", ACTIVITY),
    "03": ("instance", "inserted", "us-central1-c", "gke-cluster-1-default-pool-a6ea5e55-h1ms", "859073022264137727",
           "last", {"code": 8, "message": "IP_SPACE_EXHAUSTED"}, "2024-06-30T14:18:11.532599Z|-1xf12idklrw", ACTIVITY),
    "04": ("instance", "inserted", "us-central1-a", "instance-1", "866011396029255273", "first", None,
           "2021-10-19T02:42:13.839954Z|-g30hzhe5pe18", ACTIVITY),
    "05": ("instance", "inserted", "us-central1-a", "instance-1", "866011396029255273", "last", None,
           "2021-10-19T02:42:22.986298Z|mraniadjjli", ACTIVITY),
    "06": ("instance", "inserted", "us-central1-a", "x-logs", "2525602744967966726", "first", None,
           "2024-11-19T13:13:13.176899Z|-w5vrlhdm7gk", ACTIVITY),
    "07": ("instance", "inserted", "us-central1-a", "vm1-audit", "9006852555199593347", "last", None,
           "2024-05-24T03:11:47.971786Z|-nut5osd6veo", ACTIVITY),
    "08": ("instance", "deleted", "us-central1-a", "instance-1", "3771111960822", "first", None,
           "2020-05-04T02:07:40.933Z|7rriyre2bn74", ACTIVITY),
    "09": ("instance", "deleted", "us-central1-a", "instance-1", "11222333444555", "last", None,
           "2020-05-15T10:59:09.637Z|-q2fk9qcysg", ACTIVITY),
    "10": ("instance", "deleted", "us-central1-a", "instance-1", "3771111960822", "last",
           {"code": 5, "message": "NOT_FOUND"}, "2020-05-04T15:53:41.313Z|j5g4dbpsk", ACTIVITY),
    "11": ("group", "inserted", "europe-west1-b", "gke-gke2-default-pool-11b6ca8e-grp", None, "last", None,
           "2021-11-24T16:35:22.615295Z|-4pqrg9dartq", ACTIVITY),
    "12": ("template", "inserted", None, "custodian-instance-template", None, "first", None,
           "2019-06-06T07:20:09.450Z|op199ld921s", ACTIVITY),
    "13": ("instance", "preempted", "us-central1-a", "instance-1", "2162224123123123213", "only", None,
           "2020-05-11T15:56:44.808Z|epf7fkd2vsm", SYSTEM),
    "14": ("instance", "preempted", "europe-west1-c", "mock-instance-spot-3706-5b909138-nr65", None, "only", None,
           "2023-09-16T10:42:31.325309Z|qnwer3e38dfz", SYSTEM),
    "15": ("instance", "host_error", "us-east1-d", "longevity-10gb-3h-master-db-node-fac7b27a-0-6",
           "2074079198322937303", "only", None, "2022-06-30T14:07:23.102868Z|fjpkr2e6yi26", SYSTEM),
    "16": ("instance", "restarted", "us-central1-a", "instance-1", "2162224123123123213", "only", None,
           "2020-05-06T16:36:54.562Z|nv6pmae2oxw2", SYSTEM),
    "17": ("instance", "host_maintenance", "us-central1-a", "instance-1", "2162224123123123213", "only", None,
           "2020-05-06T16:10:46.781Z|n164j2e2uprm", SYSTEM),
    "18": ("instance", "guest_terminated", "us-central1-a", "instance-1", "2162224123123123213", "only", None,
           "2020-05-06T17:39:34.635Z|-usf2yfe25ij2", SYSTEM),
    "19": ("instance", "repair", "us-central1-a", "instance-1", "2162224123123123213", "only", None,
           "2020-05-03T19:36:19.812Z|u5trcdfmye", SYSTEM),
    "20": ("instance", "metadata", "us-central1-a", "instance-1", "20008111111111111", "first", None,
           "2020-10-07T05:52:20.573709Z|bnzqs0e3nris", ACTIVITY),
    "21": ("instance", "metadata", "us-central1-a", "instance-a", "37848154511111", "last", None,
           "2020-10-08T14:10:30.078247Z|-8b5rzjcui4", ACTIVITY),
    "22": ("instance", "started", "us-central1-a", "instance-4", "22226545691698668", "last", None,
           "2020-05-19T08:42:50.053Z|-sa9mjld44k8", ACTIVITY),
    "23": ("instance", "stopped", "us-central1-c", "start-and-stop-vm", "3670725117245009111", "first", None,
           "2025-03-17T23:05:00.419086Z|u8w6xue538k0", ACTIVITY),
}  # fmt: skip


def sample(number: str) -> bytes:
    (path,) = SAMPLES.glob(f"{number}-*.json")
    return path.read_bytes()


def expected(number: str) -> dict[str, Any]:
    resource, kind, zone, name, instance_id, phase, failure, key, log = TABLE[number]
    return {
        "outcome": "event",
        "resource": resource,
        "kind": kind,
        "project": "example-project",
        "zone": zone,
        "name": name,
        "instance_id": instance_id,
        "phase": phase,
        "failure": failure,
        "at": key.split("|")[0],
        "key": f"{log}|{key}",
    }


def audit(method: str = "v1.compute.instances.insert", **payload: Any) -> dict[str, Any]:
    """An audit entry of a MIG-made VM, as short as the format allows."""
    return {
        "logName": ACTIVITY,
        "resource": {
            "type": "gce_instance",
            "labels": {"instance_id": "42", "project_id": "example-project", "zone": "us-east5-a"},
        },
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "serviceName": "compute.googleapis.com",
            "methodName": method,
            "resourceName": "projects/123456789012/zones/us-east5-a/instances/slice-mig-0a1b2c3d-x7kq",
            **payload,
        },
        "insertId": "id-1",
        "timestamp": "2026-01-02T03:04:05.123456789Z",
    }


def said(log: str, payload: Any) -> dict[str, Any]:
    """An entry that a VM or the operator wrote."""
    return {
        "logName": f"projects/example-project/logs/{log}",
        "resource": {
            "type": "gce_instance",
            "labels": {"instance_id": "42", "project_id": "example-project", "zone": "us-east5-a"},
        },
        "jsonPayload": payload,
        "insertId": "id-1",
        "timestamp": "2026-01-02T03:04:05Z",
    }


def read(entry: Any) -> Event | Ignored | Unreadable:
    return decode(json.dumps(entry).encode())


def event(entry: Any) -> Event:
    decoded = read(entry)
    assert isinstance(decoded, Event), decoded
    return decoded


@pytest.mark.parametrize("number", sorted(TABLE))
def test_a_published_sample_decodes_to_its_row_of_the_table(number: str) -> None:
    assert to_json(decode(sample(number))) == expected(number)


def test_all_samples_are_in_the_table_but_the_envelope() -> None:
    assert sorted(path.name[:2] for path in SAMPLES.glob("*.json")) == [*sorted(TABLE), "24"]


def test_an_event_names_its_operation() -> None:
    decoded = decode(sample("02"))
    assert isinstance(decoded, Event)
    assert decoded.operation_id == "operation-1589160396842-5a5553cf1e7c8-796d6bb5-473f0464"


def test_a_system_event_keeps_its_message_as_reason() -> None:
    decoded = decode(sample("15"))
    assert isinstance(decoded, Event)
    assert (decoded.reason, decoded.failure) == ("Instance terminated by Compute Engine.", None)


PATHS = {
    Resource.INSTANCE: "projects/1/zones/us-east5-a/instances/n",
    Resource.GROUP: "projects/1/regions/us-east5/instanceGroupManagers/n",
    Resource.TEMPLATE: "projects/1/global/instanceTemplates/n",
    Resource.POLICY: "projects/1/regions/us-east5/resourcePolicies/n",
}
RESOURCES = {
    "instances": Resource.INSTANCE,
    "regionInstances": Resource.INSTANCE,
    "instanceGroupManagers": Resource.GROUP,
    "regionInstanceGroupManagers": Resource.GROUP,
    "instanceGroupManagerResizeRequests": Resource.GROUP,
    "regionInstanceGroupManagerResizeRequests": Resource.GROUP,
    "instanceTemplates": Resource.TEMPLATE,
    "regionInstanceTemplates": Resource.TEMPLATE,
    "resourcePolicies": Resource.POLICY,
}


@pytest.mark.parametrize("prefix", ["", "v1.", "beta.", "alpha."])
@pytest.mark.parametrize(("collection", "method"), sorted(KINDS))
def test_every_method_is_known_under_every_version(prefix: str, collection: str, method: str) -> None:
    resource = RESOURCES[collection]
    decoded = event(audit(f"{prefix}compute.{collection}.{method}", resourceName=PATHS[resource]))
    zone, instance_id = ("us-east5-a", "42") if resource is Resource.INSTANCE else (None, None)
    assert (decoded.resource, decoded.kind, decoded.name, decoded.zone, decoded.instance_id, decoded.project) == (
        resource, KINDS[collection, method], "n", zone, instance_id, "example-project",
    )  # fmt: skip


#: What Compute Engine can write of what bears on a group (docs/facts.md, audit logs 2 and 3): kind -> methods.
VOCABULARY = {
    ("instances", "inserted"): "insert bulkInsert",
    ("instances", "deleted"): "delete deferredDelete",
    ("instances", "started"): "start startWithEncryptionKey resume",
    ("instances", "stopped"): (
        "stop suspend deferredStop instanceManagerHaltForRestart stoppedDueToPdDoubleServe kmsKeyError "
        "shredmillKeyError invalidVmImage scratchDiskCreationFailed localSsdInitializationError "
        "localSsdInitializationKeyError "
        "localSsdVerifyTarError localSsdRecoveryAttempting localSsdRecoveryTimeoutError localSsdRecoveryFailedError"
    ),
    ("instances", "reset"): "reset",
    ("instances", "preempted"): "preempted baremetalCaretakerPreempted",
    ("instances", "host_error"): "hostError reportHostAsFaulty",
    ("instances", "host_maintenance"): (
        "terminateOnHostMaintenance migrateOnHostMaintenance simulateMaintenanceEvent performMaintenance"
    ),
    ("instances", "restarted"): "automaticRestart",
    ("instances", "repair"): "repair.recreateInstance",
    ("instances", "maintenance_upcoming"): "upcomingMaintenance upcomingInfraMaintenance",
    ("instances", "guest_terminated"): "guestTerminate",
    ("instances", "metadata"): "setMetadata",
    ("regionInstances", "inserted"): "bulkInsert",
    ("instanceGroupManagers", "inserted"): "insert",
    ("instanceGroupManagers", "deleted"): "delete",
    ("instanceGroupManagers", "changed"): (
        "patch update resize resizeAdvanced createInstances deleteInstances recreateInstances applyUpdatesToInstances "
        "abandonInstances startInstances stopInstances resumeInstances suspendInstances setInstanceTemplate "
        "setTargetPools setAutoHealingPolicies updatePerInstanceConfigs patchPerInstanceConfigs "
        "deletePerInstanceConfigs"
    ),
    ("instanceGroupManagerResizeRequests", "changed"): "insert delete cancel",
    ("instanceTemplates", "inserted"): "insert",
    ("instanceTemplates", "deleted"): "delete",
    ("resourcePolicies", "inserted"): "insert",
    ("resourcePolicies", "deleted"): "delete",
    ("resourcePolicies", "changed"): "patch",
}
#: Collections that have a regional form, of which the same is written.
REGIONAL = {
    "instanceGroupManagers": "regionInstanceGroupManagers",
    "instanceGroupManagerResizeRequests": "regionInstanceGroupManagerResizeRequests",
    "instanceTemplates": "regionInstanceTemplates",
}


def test_the_table_of_methods_is_what_compute_engine_writes_of_a_group() -> None:
    expected = {
        (form, method): kind
        for (collection, kind), methods in VOCABULARY.items()
        for method in methods.split()
        for form in {collection, REGIONAL.get(collection, collection)}
    }
    assert {key: kind.value for key, kind in KINDS.items()} == expected


@pytest.mark.parametrize(
    ("collection", "path", "zone", "name"),
    [
        ("instances", "projects/my-project/zones/us-east5-a/instances/vm-1", "us-east5-a", "vm-1"),
        ("instances", "https://www.googleapis.com/compute/v1/projects/p/zones/us-east5-a/instances/vm-1", "us-east5-a",
         "vm-1"),
        ("instances", "//compute.googleapis.com/projects/p/zones/z/instances/vm-1/", "z", "vm-1"),
        ("instances", "projects/example.com:p/zones/z/instances/vm-1", "z", "vm-1"),
        ("instances", "projects/instances/zones/z/instances/instances", "z", "instances"),
        ("instances", "projects/zones/zones/global/instances/regions", "global", "regions"),
        ("instances", "projects/regions/zones/zones/instances/zones", "zones", "zones"),
        ("instances", "instances/vm-1", "us-east5-a", "vm-1"),
        ("instances", "projects/1/zones/Not A Zone/instances/vm-1", None, "vm-1"),
        ("instanceGroupManagers", "projects/1/zones/z/instanceGroupManagers/m", "z", "m"),
        ("regionInstanceGroupManagers", "projects/1/regions/us-east5/instanceGroupManagers/m", None, "m"),
        ("regionInstanceTemplates", "projects/global/regions/us-east5/instanceTemplates/t", None, "t"),
        ("instanceTemplates", "projects/1/global/instanceTemplates/t", None, "t"),
    ],
)  # fmt: skip
def test_name_and_zone_are_read_from_the_end_of_the_resource_name(
    collection: str, path: str, zone: str | None, name: str
) -> None:
    decoded = event(audit(f"v1.compute.{collection}.insert", resourceName=path))
    assert (decoded.zone, decoded.name) == (zone, name)


def test_each_vm_of_a_bulk_insert_has_an_event_of_its_own() -> None:
    """One entry with both flags and its own operation, in a zone also where the request was regional."""
    for method in ("v1.compute.instances.bulkInsert", "beta.compute.regionInstances.bulkInsert"):
        decoded = event({**audit(method), "operation": {"id": "operation-7", "first": True, "last": True}})
        assert (decoded.kind, decoded.phase, decoded.zone, decoded.name, decoded.operation_id) == (
            EventKind.INSERTED, Phase.ONLY, "us-east5-a", "slice-mig-0a1b2c3d-x7kq", "operation-7",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "phase"),
    [
        ({"id": "o", "first": True}, Phase.FIRST),
        ({"id": "o", "last": True}, Phase.LAST),
        ({"id": "o", "first": True, "last": True}, Phase.ONLY),
        ({"id": "o"}, Phase.ONLY),
        (None, Phase.ONLY),
    ],
)
def test_the_phase_follows_from_the_operations_flags(operation: Any, phase: Phase) -> None:
    assert event({**audit(), "operation": operation}).phase is phase


@pytest.mark.parametrize("fraction", ["", *(f".{'123456789'[:digits]}" for digits in range(1, 10))])
@pytest.mark.parametrize("zone", ["Z", "z", "+05:30"])
def test_a_timestamp_has_up_to_nine_digits_and_stays_as_it_is(fraction: str, zone: str) -> None:
    at = f"2026-01-02T03:04:05{fraction}{zone}"
    assert event({**audit(), "timestamp": at}).at == at
    micros = int(f"{fraction[1:]:0<6}"[:6])
    expected = datetime(2026, 1, 2, 3, 4, 5, micros, tzinfo=UTC)
    assert moment(at) == (expected if zone in "Zz" else expected - timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    "at",
    [
        "20260102T030405Z", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04Z", "2026-W01-1T03:04:05Z", "2026-13-02T03:04:05Z", "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+00:00:10", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-01:00",
        "\uff12026-01-02T03:04:05Z",
    ],
)  # fmt: skip
def test_what_is_no_rfc_3339_time_is_no_timestamp(at: str) -> None:
    assert read({**audit(), "timestamp": at}) == Unreadable("no timestamp")


def test_a_code_may_be_written_as_a_string_as_proto_json_allows() -> None:
    assert event(audit(status={"code": "8", "message": "m"})).failure == Failure(8, "m")


def test_a_refused_call_has_no_operation_and_is_a_failure() -> None:
    decoded = event(audit(status={"code": 7, "message": "Required permission"}, response={"error": {"code": 403}}))
    assert (decoded.phase, decoded.operation_id, decoded.failure) == (Phase.ONLY, "", Failure(7, "Required permission"))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"code": 0},
        {"message": "Instance was preempted."},
        None,
        "8",
        {"code": True},
        {"code": "0"},
        {"code": "x"},
        {"code": 8.5},
        {"code": 2**31},
        {"code": "99999999999"},
    ],
)
def test_only_a_status_code_other_than_zero_is_a_failure(status: Any) -> None:
    assert event(audit(status=status)).failure is None


@pytest.mark.parametrize("label", ["", "0", "000", "042", "-1", "184448819...", "١٢٣", 42, None, "9" * 21])
def test_an_unusable_instance_id_is_none(label: Any) -> None:
    entry = audit()
    entry["resource"]["labels"]["instance_id"] = label
    assert event(entry).instance_id is None


def test_the_project_comes_from_the_log_where_no_label_names_it() -> None:
    entry = audit()
    del entry["resource"]["labels"]["project_id"]
    assert event(entry).project == "example-project"


def test_a_project_number_in_the_resource_name_is_never_the_project() -> None:
    assert event(audit()).project == "example-project"


def test_the_parts_of_a_split_entry_share_a_key() -> None:
    parts = [
        {**audit(), "insertId": f"id-1-{n}", "split": {"uid": "u-1", "index": n, "totalSplits": 2}} for n in (0, 1)
    ]
    assert {event(part).key for part in parts} == {f"{ACTIVITY}|2026-01-02T03:04:05.123456789Z|u-1"}


def test_entries_without_an_id_are_told_apart_by_what_they_say() -> None:
    """Two VMs that are lost in the same microsecond are two events."""
    entries = [
        audit(),
        audit(resourceName="projects/1/zones/us-east5-a/instances/other"),
        audit("v1.compute.instances.delete"),
    ]
    entries += [said("tpu-node-bootstrap", {"instance": name, "step": "booted"}) for name in ("a", "b")]
    for entry in entries:
        del entry["insertId"]
    assert len({event(entry).key for entry in entries}) == len(entries)
    assert event(entries[0]) == event(entries[0])
    assert event(entries[0]).key.endswith("|~compute.instances.insert/only/us-east5-a/slice-mig-0a1b2c3d-x7kq")


def test_long_ids_that_differ_at_their_end_stay_different() -> None:
    keys = {event({**audit(), "insertId": "x" * 1000 + end}).key for end in "ab"}
    assert len(keys) == 2
    assert max(map(len, keys)) < 300


def test_half_a_character_somewhere_in_an_entry_does_not_cost_the_event() -> None:
    """An entry that was cut to size may end a text between the halves of a surrogate pair."""
    cut = audit(request={"description": "\ud83d"}, status={"message": "Reason \ud83d"})
    assert event(cut) == replace(event(audit()), reason="Reason ?")


@pytest.mark.parametrize("number", sorted(TABLE))
def test_b7_an_entry_cut_to_size_or_split_is_the_same_event(number: str) -> None:
    """B7: https://github.com/abcxyz/lumberjack/issues/128.

    Of an audit entry over the limit, request, response and metadata are divided over parts or missing; all else is in
    every part.
    """
    whole = json.loads(sample(number))
    expected = event(whole)
    cut = copy.deepcopy(whole)
    for name in ("request", "response", "metadata", "authorizationInfo", "requestMetadata"):
        cut["protoPayload"].pop(name, None)
    assert event(cut) == expected
    parts = [
        {**source, "insertId": f"{whole['insertId']}{n}", "split": {"uid": "u-1", "index": n, "totalSplits": 3}}
        for n, source in enumerate((whole, cut, cut))
    ]
    # Proto JSON leaves the index of the first part out.
    del parts[0]["split"]["index"]
    assert {event(part) for part in parts} == {replace(expected, key=f"{expected.key.rpartition('|')[0]}|u-1")}


def test_a_resize_request_is_a_change_of_its_group() -> None:
    decoded = event(
        audit(
            "v1.compute.instanceGroupManagerResizeRequests.insert",
            resourceName="projects/1/zones/us-east5-a/instanceGroupManagers/mig-1/resizeRequests/rr-1",
        )
    )
    assert (decoded.resource, decoded.kind, decoded.zone, decoded.name) == (
        Resource.GROUP, EventKind.CHANGED, "us-east5-a", "mig-1",
    )  # fmt: skip


def test_a_vms_own_entry_is_a_bootstrap_event() -> None:
    entry = said("tpu-node-bootstrap", {"instance": "slice-x7kq", "step": "failed", "reason": "no token"})
    assert event(entry) == Event(
        resource=Resource.INSTANCE,
        kind=EventKind.BOOTSTRAP,
        project="example-project",
        zone="us-east5-a",
        name="slice-x7kq",
        instance_id="42",
        phase=Phase.ONLY,
        failure=None,
        at="2026-01-02T03:04:05Z",
        key="projects/example-project/logs/tpu-node-bootstrap|2026-01-02T03:04:05Z|id-1",
        step="failed",
        reason="no token",
    )


def test_the_cause_of_a_bootstrap_event_names_its_step() -> None:
    assert event(said("tpu-node-bootstrap", {"instance": "n", "step": "booted"})).cause == "instance.bootstrap.booted"
    assert event(audit()).cause == "instance.inserted"


def test_a_canary_names_its_cluster_and_the_process_that_wrote_it() -> None:
    decoded = event(said("tpu-node-group-canary", {"cluster": "prod-1", "instance": "operator-0"}))
    assert (decoded.resource, decoded.kind, decoded.name, decoded.writer, decoded.instance_id, decoded.zone) == (
        Resource.CANARY, EventKind.CANARY, "prod-1", "operator-0", None, None,
    )  # fmt: skip


def test_untrusted_text_is_bounded() -> None:
    decoded = event(said("tpu-node-bootstrap", {"instance": "n", "step": "failed", "reason": "x" * 100_000}))
    assert len(decoded.reason) == 256
    failed = event(audit(status={"code": 3, "message": "x" * 100_000}))
    assert failed.failure is not None
    assert len(failed.failure.message) == 2048


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (audit("v1.compute.instances.setLabels"), "compute.instances.setLabels"),
        (audit("beta.compute.disks.insert"), "compute.disks.insert"),
        (audit("NotifyInstanceLocation"), "NotifyInstanceLocation"),
        (audit("storage.objects.create", serviceName="storage.googleapis.com"), "storage.objects.create"),
        (audit("v1.compute.instances.in sert\n"), "unprintable"),
        (audit("x" * 10_000), "unprintable"),
        (audit("v1.compute.instances.bulkInsert", resourceName="projects/1/zones/z/instances"), "bulkInsert parent"),
        (audit("v1.compute.regionInstances.bulkInsert", resourceName=None), "bulkInsert parent"),
        (audit(resourceName="projects/1/zones/us-east5-a/instances/Not_A_Name"), "unusual resource name"),
        ({**audit(), "protoPayload": {"@type": "type.googleapis.com/other"}}, "not an audit entry"),
        (said("syslog", {"message": "hello"}), "log syslog"),
        ({"logName": ACTIVITY, "timestamp": "2026-01-02T03:04:05Z", "textPayload": "hello"}, "text payload"),
        ({"logName": ACTIVITY, "timestamp": "2026-01-02T03:04:05Z"}, "no payload"),
    ],
)
def test_an_entry_that_is_none_of_our_business_is_ignored_by_name(entry: Any, reason: str) -> None:
    assert read(entry) == Ignored(reason)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"logName": "\\ud800"}', "no logName"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"1" * 5000, "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "not a JSON object"),
        (b"{}", "no logName"),
        (json.dumps({"logName": "tpu-node-bootstrap"}).encode(), "no logName"),
        (json.dumps({**audit(), "timestamp": None}).encode(), "no timestamp"),
        (json.dumps({**audit(), "timestamp": "yesterday"}).encode(), "no timestamp"),
        (json.dumps({**audit(), "timestamp": "2026-01-02T03:04:05"}).encode(), "no timestamp"),
        (json.dumps({**audit(), "protoPayload": []}).encode(), "the payload is not an object"),
        (json.dumps(audit(methodName=None)).encode(), "no methodName"),
        (json.dumps(audit(resourceName=7)).encode(), "no resourceName"),
        (json.dumps({**audit(), "logName": "folders/1/logs/x", "resource": {}}).encode(), "no project"),
        (json.dumps(said("tpu-node-bootstrap", {"instance": "n"})).encode(), "bootstrap entry without a known step"),
        (json.dumps(said("tpu-node-bootstrap", {"step": "booted"})).encode(), "bootstrap entry without an instance"),
        (json.dumps(said("tpu-node-group-canary", {"cluster": "c"})).encode(), "canary without cluster and instance"),
    ],
)
def test_what_is_no_log_entry_is_unreadable_with_a_fixed_phrase(data: bytes, reason: str) -> None:
    assert decode(data) == Unreadable(reason)
