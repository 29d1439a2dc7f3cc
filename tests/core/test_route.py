"""From an event to the key that must look, and to nobody where there is nothing of ours or nothing to see."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.reasons import Reason
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.route import Hint, Route, RoutingIndex, route
from sinks.intake.events import Event, EventKind, Failure, Phase, Resource
from tests.core.builders import BASE, GROUP_KEY, NOW, PROJECT, ZONE, make_ref, vm

MIG_KEY = Key(Kind.MIG, "default", BASE)
TEMPLATE_KEY = Key(Kind.TEMPLATE, "default", make_ref(Kind.TEMPLATE).name)
POLICY_KEY = Key(Kind.POLICY, "default", make_ref(Kind.POLICY).name)
KEYS = {Kind.MIG: MIG_KEY, Kind.TEMPLATE: TEMPLATE_KEY, Kind.POLICY: POLICY_KEY}


def make_index() -> RoutingIndex:
    """The index of one group with its three children."""
    index = RoutingIndex()
    index.add_instances_of(make_ref(Kind.MIG), GROUP_KEY)
    for kind, key in KEYS.items():
        index.add_resource(make_ref(kind), key)
    return index


def event(kind: EventKind, phase: Phase = Phase.LAST, **fields: object) -> Event:
    """An event of the group's VM."""
    base = Event(Resource.INSTANCE, kind, PROJECT, ZONE, vm(), "1001", phase, None, "2026-01-31T12:00:00Z", "k1")
    return replace(base, **fields)  # type: ignore[arg-type]


def wake(kind: str, detail: str = "", instance_id: str = "1001") -> Wake:
    """The wake that an event of the VM makes."""
    cause = Cause(kind, NOW, "k1", detail, instance_id)
    return Wake(Scope.INSTANCES, cause, {vm(): cause})


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (event(EventKind.INSERTED), "instance.inserted.last"),
        (event(EventKind.INSERTED, Phase.ONLY), "instance.inserted.only"),
        (event(EventKind.STARTED), "instance.started.last"),
        (event(EventKind.RESET), "instance.reset.last"),
        (event(EventKind.DELETED, Phase.FIRST), "instance.deleted.first"),
        (event(EventKind.DELETED), "instance.deleted.last"),
        (event(EventKind.STOPPED, Phase.FIRST), "instance.stopped.first"),
        (event(EventKind.STOPPED), "instance.stopped.last"),
        (event(EventKind.RESTARTED, Phase.ONLY), "instance.restarted.only"),
        (event(EventKind.REPAIR, Phase.ONLY), "instance.repair.only"),
        (event(EventKind.MAINTENANCE_UPCOMING, Phase.ONLY), "instance.maintenance_upcoming.only"),
        (event(EventKind.BOOTSTRAP, Phase.ONLY, step="booted"), "instance.bootstrap.booted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_event_of_a_vm_wakes_its_group_at_this_vm(told: Event, kind: str) -> None:
    assert route(told, make_index(), NOW) == Route(GROUP_KEY, wake(kind))


@pytest.mark.parametrize("zone", [None, ZONE], ids=["told of a region, or of none", "told of a zone"])
@pytest.mark.parametrize("kind", KEYS)
def test_an_event_of_a_resource_wakes_its_child_wherever_it_says_the_resource_is(kind: Kind, zone: str | None) -> None:
    resource = {Kind.MIG: Resource.GROUP, Kind.TEMPLATE: Resource.TEMPLATE, Kind.POLICY: Resource.POLICY}[kind]
    told = event(
        EventKind.INSERTED, resource=resource, name=make_ref(kind).name, zone=zone, instance_id=None, operation_id="o"
    )
    cause = Cause(f"{resource}.inserted.last", NOW, "k1")
    assert route(told, make_index(), NOW) == Route(KEYS[kind], Wake(Scope.MIG, cause))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (EventKind.PREEMPTED, Reason.PREEMPTED),
        (EventKind.HOST_ERROR, Reason.HOST_ERROR),
        (EventKind.HOST_MAINTENANCE, Reason.HOST_MAINTENANCE),
        (EventKind.GUEST_TERMINATED, Reason.GUEST_TERMINATED),
    ],
)
def test_some_events_leave_a_reason_for_a_loss_of_this_incarnation(kind: EventKind, reason: Reason) -> None:
    told = event(kind, Phase.ONLY, reason="as GCE says")
    assert route(told, make_index(), NOW) == Route(
        GROUP_KEY, wake(f"instance.{kind}.only", "as GCE says"), Hint("1001", reason, "as GCE says")
    )
    assert route(replace(told, instance_id=None), make_index(), NOW) == Route(
        GROUP_KEY, wake(f"instance.{kind}.only", "as GCE says", "")
    )


def test_a_loss_that_comes_without_words_is_given_some() -> None:
    found = route(event(EventKind.GUEST_TERMINATED, Phase.ONLY), make_index(), NOW)
    assert found is not None
    assert found.hint == Hint("1001", Reason.GUEST_TERMINATED, "the VM was shut down from inside")


def test_a_vm_that_says_it_failed_leaves_its_own_reason() -> None:
    told = event(EventKind.BOOTSTRAP, Phase.ONLY, step="failed", reason="kubeadm: no")
    assert route(told, make_index(), NOW) == Route(
        GROUP_KEY,
        wake("instance.bootstrap.failed", "kubeadm: no"),
        Hint("1001", Reason.BOOTSTRAP_FAILED, "kubeadm: no"),
    )


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(event(EventKind.INSERTED, Phase.FIRST), id="a creation begins"),
        pytest.param(event(EventKind.STARTED, Phase.FIRST), id="a start begins"),
        pytest.param(event(EventKind.RESET, Phase.FIRST), id="a reset begins"),
        pytest.param(event(EventKind.METADATA), id="a write of metadata succeeded: our own echo"),
        pytest.param(event(EventKind.METADATA, Phase.FIRST), id="a write of metadata begins"),
        *(
            pytest.param(event(EventKind.BOOTSTRAP, Phase.ONLY, step=step), id=f"a VM says {step}")
            for step in ("waiting", "joining", "joined")
        ),
        pytest.param(event(EventKind.INSERTED, resource=Resource.TEMPLATE, name="other"), id="another's template"),
        pytest.param(event(EventKind.INSERTED, zone="us-east5-b"), id="a VM of another zone"),
        pytest.param(event(EventKind.INSERTED, project="other-project"), id="a VM of another project"),
        pytest.param(event(EventKind.INSERTED, zone=None), id="a VM of no zone"),
        pytest.param(event(EventKind.INSERTED, name=f"{BASE}-aaaaa"), id="a name that our MIG does not make"),
        pytest.param(event(EventKind.INSERTED, name=BASE), id="a VM with the MIG's own name"),
        pytest.param(event(EventKind.INSERTED, name=f"{BASE}-aaaa-bbbb"), id="a VM of a longer base name"),
        pytest.param(event(EventKind.CANARY, Phase.ONLY, resource=Resource.CANARY), id="a canary"),
    ],
)
def test_nobody_looks_when(told: Event) -> None:
    assert route(told, make_index(), NOW) is None


REFUSED = Failure(9, "Invalid fingerprint.")


def test_a_write_of_metadata_that_failed_in_its_operation_wakes_a_look() -> None:
    told = event(EventKind.METADATA, failure=REFUSED, operation_id="operation-1")
    assert route(told, make_index(), NOW) == Route(GROUP_KEY, wake("instance.metadata.last", "Invalid fingerprint."))


def resource_event(kind: Kind, phase: Phase = Phase.LAST, **fields: object) -> Event:
    """An event of a child's GCE resource."""
    resource = {Kind.MIG: Resource.GROUP, Kind.TEMPLATE: Resource.TEMPLATE, Kind.POLICY: Resource.POLICY}[kind]
    return event(
        EventKind.INSERTED, phase, resource=resource, name=make_ref(kind).name, instance_id=None, zone=None, **fields
    )


@pytest.mark.parametrize("kind", [Kind.MIG, Kind.TEMPLATE, Kind.POLICY])
def test_the_end_of_an_operation_wakes_the_child_of_its_resource(kind: Kind) -> None:
    told = resource_event(kind)
    cause = Cause(f"{told.resource}.inserted.last", NOW, "k1")
    assert route(told, make_index(), NOW) == Route(KEYS[kind], Wake(Scope.MIG, cause))


@pytest.mark.parametrize("kind", [Kind.MIG, Kind.TEMPLATE, Kind.POLICY])
def test_the_beginning_of_an_operation_wakes_nobody(kind: Kind) -> None:
    assert route(resource_event(kind, Phase.FIRST), make_index(), NOW) is None


def test_an_operation_that_failed_wakes_its_child() -> None:
    told = resource_event(Kind.MIG, failure=Failure(8, "QUOTA_EXCEEDED"), operation_id="operation-1")
    cause = Cause("group.inserted.last", NOW, "k1", "QUOTA_EXCEEDED")
    assert route(told, make_index(), NOW) == Route(MIG_KEY, Wake(Scope.MIG, cause))


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(resource_event(Kind.MIG, Phase.ONLY, failure=Failure(7, "no permission")), id="a creation"),
        pytest.param(event(EventKind.METADATA, Phase.ONLY, failure=REFUSED), id="a write of metadata"),
    ],
)
def test_a_refusal_wakes_nobody_since_its_caller_was_told_and_waits_before_it_tries_again(told: Event) -> None:
    assert route(told, make_index(), NOW) is None


def test_the_detail_of_a_cause_is_bounded() -> None:
    told = event(EventKind.PREEMPTED, Phase.ONLY, reason="x" * 1000)
    found = route(told, make_index(), NOW)
    assert found is not None
    assert found.hint is not None
    assert (len(found.wake.cause.detail), len(found.hint.message)) == (200, 500)


def test_a_forgotten_key_is_woken_no_more() -> None:
    index = make_index()
    index.remove(GROUP_KEY)
    index.remove(MIG_KEY)
    assert route(event(EventKind.DELETED), index, NOW) is None
    assert route(resource_event(Kind.MIG), index, NOW) is None
    assert route(resource_event(Kind.POLICY), index, NOW) is not None


def test_a_node_without_a_place_is_looked_up_by_its_base_name() -> None:
    assert (make_index().owner_of_base(BASE), make_index().owner_of_base("other")) == (GROUP_KEY, None)


@given(
    st.sampled_from(list(Resource)),
    st.sampled_from(list(EventKind)),
    st.sampled_from(list(Phase)),
    st.sampled_from([PROJECT, "other"]),
    st.sampled_from([ZONE, None, ""]),
    st.sampled_from([vm(), BASE, "", "x-abcd"]),
    st.sampled_from(["1001", None]),
    st.sampled_from([None, REFUSED]),
)
def test_whatever_an_event_says_only_a_key_that_owns_its_name_is_woken(
    resource: Resource,
    kind: EventKind,
    phase: Phase,
    project: str,
    zone: str | None,
    name: str,
    instance_id: str | None,
    failure: Failure | None,
) -> None:
    told = Event(resource, kind, project, zone, name, instance_id, phase, failure, "", "k1", operation_id="o")
    found = route(told, make_index(), NOW)
    if found is not None:
        assert project == PROJECT
        assert (found.key, name) in {(GROUP_KEY, vm()), (MIG_KEY, BASE)}
