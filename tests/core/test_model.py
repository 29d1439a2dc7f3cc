"""Two wakes in one: nothing that either asked for is lost, and the first cause is told."""

from itertools import product
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.model import Cause, Key, Kind, Scope, Wake
from tests.core.builders import NOW, after

TIMER, LATER_TIMER = Cause("resync", NOW), Cause("follow_up", after(seconds=1))
EVENT, LATER_EVENT = Cause("instance.inserted.last", after(seconds=2), "e1"), Cause("x", after(seconds=3), "e2")


@pytest.mark.parametrize(
    ("first", "later", "told"),
    [
        pytest.param(TIMER, LATER_TIMER, TIMER, id="the first of two timers"),
        pytest.param(EVENT, LATER_EVENT, EVENT, id="the first of two events"),
        pytest.param(TIMER, EVENT, EVENT, id="an event rather than a timer before it"),
        pytest.param(EVENT, TIMER, EVENT, id="an event rather than a timer after it"),
    ],
)
def test_the_cause_that_is_told_is(first: Cause, later: Cause, told: Cause) -> None:
    merged = Wake(Scope.SPEC, first, {"a": first}).merge(Wake(Scope.NODES, later, {"a": later}))
    assert merged == Wake(Scope.SPEC | Scope.NODES, told, {"a": told})


def test_instances_of_both_are_looked_at() -> None:
    first, later = Wake(Scope.INSTANCES, EVENT, {"a": EVENT}), Wake(Scope.INSTANCES, LATER_EVENT, {"b": LATER_EVENT})
    assert first.merge(later) == Wake(Scope.INSTANCES, EVENT, {"a": EVENT, "b": LATER_EVENT})


def test_who_asks_for_all_instances_gets_all_though_another_names_one() -> None:
    everything, one = Wake(Scope.INSTANCES, TIMER), Wake(Scope.INSTANCES, EVENT, {"a": EVENT})
    assert everything.merge(one) == Wake(Scope.INSTANCES, EVENT)
    assert one.merge(everything) == Wake(Scope.INSTANCES, EVENT)


def test_a_wake_that_asks_for_no_instance_leaves_the_names_of_the_other() -> None:
    one = Wake(Scope.INSTANCES, EVENT, {"a": EVENT})
    assert Wake(Scope.SPEC, TIMER).merge(one) == Wake(Scope.SPEC | Scope.INSTANCES, EVENT, {"a": EVENT})


causes = st.builds(Cause, st.sampled_from(["timer", "event"]), st.just(NOW), st.sampled_from(["", "e1", "e2"]))
scopes = st.sampled_from([Scope.NONE, Scope.SPEC, Scope.INSTANCES, Scope.MIG, Scope.ALL])
wakes = st.builds(Wake, scopes, causes, st.dictionaries(st.sampled_from("abc"), causes, max_size=2))


@given(wakes, wakes, wakes)
def test_it_does_not_matter_which_two_are_merged_first(a: Wake, b: Wake, c: Wake) -> None:
    assert a.merge(b).merge(c) == a.merge(b.merge(c))


@given(wakes, wakes)
def test_a_merge_asks_for_all_that_either_asked_for(a: Wake, b: Wake) -> None:
    merged = a.merge(b)
    assert merged.scope == a.scope | b.scope
    for wake, name in product((a, b), "abcd"):
        wants = Scope.INSTANCES in wake.scope and (name in wake.instances or not wake.instances)
        gets = name in merged.instances or not merged.instances
        assert gets or not wants


@given(wakes)
def test_merging_a_wake_with_itself_changes_nothing(wake: Wake) -> None:
    whole = Scope.INSTANCES in wake.scope and not wake.instances
    assert wake.merge(wake) == Wake(wake.scope, wake.cause, MappingProxyType({} if whole else wake.instances))


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        (Kind.GROUP, "tpunodegroups"),
        (Kind.POLICY, "workloadpolicies"),
        (Kind.TEMPLATE, "instancetemplates"),
        (Kind.MIG, "managedinstancegroups"),
    ],
)
def test_the_plural_of_a_kind_is_its_name_in_urls(kind: Kind, plural: str) -> None:
    assert kind.plural == plural


def test_a_key_reads_as_kubectl_would_name_it() -> None:
    assert str(Key(Kind.GROUP, "default", "slice")) == "TPUNodeGroup/default/slice"
