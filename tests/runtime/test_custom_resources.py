"""The custom resources in memory: our own status is the one that counts, and older copies of anything do not."""

from typing import Any

import pytest

from controller.api.constants import API_VERSION, FINALIZER
from controller.api.resources import TPUNodeGroupStatus, WorkloadPolicy, parse
from controller.core.model import Key, Kind
from controller.runtime.custom_resources import Change, CustomResources, key_of, owner_of

Json = dict[str, Any]
KEY = Key(Kind.GROUP, "default", "slice")
CHILD_KEY = Key(Kind.POLICY, "default", "slice-policy")


def raw(version: int | str = 10, *, name: str = "slice", uid: str = "u1", **metadata: Any) -> Json:
    """A group as the API gives it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "TPUNodeGroup",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid,
            "resourceVersion": str(version),
            "generation": 1,
            **metadata,
        },
        "spec": {"project": "p"},
    }


def raw_child(version: int = 20, owner: str = "u1", uid: str = "c1") -> Json:
    """A policy that the group owns."""
    reference = {"apiVersion": API_VERSION, "kind": "TPUNodeGroup", "name": "slice", "uid": owner, "controller": True}
    return {
        "apiVersion": API_VERSION,
        "kind": "WorkloadPolicy",
        "metadata": {
            "name": "slice-policy",
            "namespace": "default",
            "uid": uid,
            "resourceVersion": str(version),
            "ownerReferences": [reference],
        },
        "spec": {"project": "p", "region": "r"},
    }


def seen(*raws: Json) -> CustomResources:
    """The objects after these were seen."""
    resources = CustomResources()
    for one in raws:
        resources.apply(Kind(one["kind"]), "ADDED", one)
    return resources


OURS = TPUNodeGroupStatus(nodes_ready="1/2")


def written(version: int = 11) -> CustomResources:
    """A group whose status we wrote at this version."""
    resources = seen(raw(10))
    resources.wrote(KEY, raw(version), OURS)
    return resources


def status(resources: CustomResources) -> TPUNodeGroupStatus:
    """The group's status in memory."""
    group = resources.group(KEY)
    assert group is not None
    return group.status


def test_an_object_that_is_seen_for_the_first_time_is_new_with_the_status_that_it_has() -> None:
    resources = CustomResources()
    told = {**raw(), "status": {"nodesReady": "2/2"}}
    assert resources.apply(Kind.GROUP, "ADDED", told) == Change(KEY, parse(told), new=True)
    assert status(resources) == TPUNodeGroupStatus(nodes_ready="2/2")


def test_our_own_status_is_not_replaced_by_the_one_that_an_event_brings() -> None:
    resources = written()
    resources.apply(Kind.GROUP, "MODIFIED", {**raw(12, generation=2), "status": {"nodesReady": "0/2"}})
    assert status(resources) == OURS


def test_the_echo_of_our_own_write_is_no_change() -> None:
    resources = written(11)
    assert resources.apply(Kind.GROUP, "MODIFIED", {**raw(11), "status": {"nodesReady": "1/2"}}) is None


@pytest.mark.parametrize(
    "metadata",
    [
        {"generation": 2},
        {"finalizers": [FINALIZER]},
        {"deletionTimestamp": "2026-01-31T12:00:00Z"},
        {"ownerReferences": [{"kind": "X", "name": "x", "uid": "x"}]},
    ],
    ids=["the spec", "the finalizers", "a deletion", "the owners"],
)
def test_a_change_is_one_of(metadata: Json) -> None:
    resources = written()
    told = raw(12, **metadata)
    change = resources.apply(Kind.GROUP, "MODIFIED", told)
    assert change == Change(KEY, parse(told).model_copy(update={"status": OURS}))


@pytest.mark.parametrize("metadata", [{}, {"labels": {"a": "b"}}, {"annotations": {"a": "b"}}], ids=str)
def test_what_does_not_matter_is_kept_and_wakes_nobody(metadata: Json) -> None:
    resources = written()
    assert resources.apply(Kind.GROUP, "MODIFIED", raw(12, **metadata)) is None
    group = resources.group(KEY)
    assert group is not None
    assert group.metadata.resource_version == "12"


def test_an_older_copy_is_ignored() -> None:
    resources = written(11)
    assert resources.apply(Kind.GROUP, "MODIFIED", raw(10, generation=7)) is None
    group = resources.group(KEY)
    assert group is not None
    assert group.metadata.generation == 1


def test_versions_are_compared_as_numbers() -> None:
    resources = seen(raw(9))
    assert resources.apply(Kind.GROUP, "MODIFIED", raw(10, generation=2)) is not None


def test_a_version_that_is_no_number_counts_as_newest() -> None:
    resources = seen(raw(9))
    assert resources.apply(Kind.GROUP, "MODIFIED", raw("opaque", generation=2)) is not None


def test_an_answer_that_comes_after_a_newer_event_gives_its_status_and_nothing_older() -> None:
    resources = seen(raw(10))
    resources.apply(Kind.GROUP, "MODIFIED", raw(12, deletionTimestamp="2026-01-31T12:00:00Z"))
    resources.wrote(KEY, raw(11), OURS)
    group = resources.group(KEY)
    assert group is not None
    assert (group.status, group.metadata.deleting, group.metadata.resource_version) == (OURS, True, "12")


def test_an_answer_about_an_object_that_is_gone_by_now_does_not_bring_it_back() -> None:
    resources = seen(raw(10))
    resources.apply(Kind.GROUP, "DELETED", raw(12))
    resources.wrote(KEY, raw(11), OURS)
    assert resources.get(KEY) is None


def test_an_answer_about_an_earlier_object_of_the_name_changes_nothing() -> None:
    resources = seen(raw(20, uid="u2"))
    resources.wrote(KEY, raw(11), OURS)
    assert resources.get(KEY) == parse(raw(20, uid="u2"))


def test_an_answer_without_a_status_keeps_ours() -> None:
    resources = written()
    resources.wrote(KEY, {**raw(12, finalizers=[FINALIZER]), "status": {"nodesReady": "0/2"}})
    assert resources.get(KEY) == parse(raw(12, finalizers=[FINALIZER])).model_copy(update={"status": OURS})


def test_a_deletion_is_told_with_the_last_known_object() -> None:
    resources = written()
    known = resources.get(KEY)
    assert known is not None
    assert resources.apply(Kind.GROUP, "DELETED", raw(13)) == Change(KEY, known, gone=True)
    assert resources.get(KEY) is None


@pytest.mark.parametrize("told", [raw(13, uid="u0"), raw(13, name="other")], ids=["an earlier one", "an unknown one"])
def test_the_deletion_of_another_object_is_none_of_ours(told: Json) -> None:
    resources = written()
    assert resources.apply(Kind.GROUP, "DELETED", told) is None
    assert status(resources) == OURS


def test_an_object_of_the_same_name_and_another_uid_is_new_and_has_its_own_status() -> None:
    resources = written()
    assert resources.apply(Kind.GROUP, "ADDED", raw(5, uid="u2")) == Change(KEY, parse(raw(5, uid="u2")), new=True)
    assert status(resources) == TPUNodeGroupStatus()


def test_an_object_that_cannot_be_read_leaves_the_last_good_one() -> None:
    resources = written()
    broken = raw(12, generation=2)
    broken["spec"] = {"nodeCount": "many"}
    assert resources.apply(Kind.GROUP, "MODIFIED", broken) is None
    assert status(resources) == OURS


def test_an_object_that_went_with_its_last_finalizer_is_gone_once() -> None:
    resources = written()
    known = resources.get(KEY)
    assert known is not None
    assert resources.gone(KEY) == Change(KEY, known, gone=True)
    assert resources.gone(KEY) is None


def test_a_list_tells_what_came_changed_and_went_unseen() -> None:
    resources = seen(raw(10), raw(10, name="stays"), raw(10, name="goes"), raw(10, name="replaced", uid="u3"))
    went, replaced = (resources.get(Key(Kind.GROUP, "default", name)) for name in ("goes", "replaced"))
    assert went is not None
    assert replaced is not None
    listed = [
        raw(12, generation=2),
        raw(10, name="stays"),
        raw(14, name="replaced", uid="u4"),
        raw(15, name="comes", uid="u5"),
    ]
    assert resources.replace(Kind.GROUP, listed) == [
        Change(went_key := Key(Kind.GROUP, "default", "goes"), went, gone=True),
        Change(Key(Kind.GROUP, "default", "replaced"), replaced, gone=True),
        Change(KEY, parse(raw(12, generation=2))),
        Change(Key(Kind.GROUP, "default", "replaced"), parse(listed[2]), new=True),
        Change(Key(Kind.GROUP, "default", "comes"), parse(listed[3]), new=True),
    ]
    assert resources.get(went_key) is None


def test_a_list_of_one_kind_says_nothing_of_another() -> None:
    resources = seen(raw(), raw_child())
    assert resources.replace(Kind.POLICY, [raw_child()]) == []
    assert resources.keys() == (KEY, CHILD_KEY)
    assert resources.keys(Kind.POLICY) == (CHILD_KEY,)


def test_what_came_after_a_list_was_asked_for_is_not_missing_in_it() -> None:
    resources = seen(raw(10, name="before"))
    asked = resources.mark()
    resources.apply(Kind.GROUP, "ADDED", raw(20))
    assert [change.key.name for change in resources.replace(Kind.GROUP, [], asked)] == ["before"]
    assert resources.keys() == (KEY,)


def test_what_went_after_a_list_was_asked_for_does_not_come_back_by_it() -> None:
    resources = seen(raw(10))
    asked = resources.mark()
    resources.apply(Kind.GROUP, "DELETED", raw(11))
    assert resources.replace(Kind.GROUP, [raw(10)], asked) == []
    assert resources.keys() == ()


def test_children_are_found_by_the_uid_of_their_owner() -> None:
    resources = seen(raw(), raw_child())
    assert resources.children_of("u1") == {Kind.POLICY: (CHILD_KEY, parse(raw_child()))}
    assert resources.children_of("u2") == {}
    resources.apply(Kind.POLICY, "DELETED", raw_child())
    assert resources.children_of("u1") == {}


def test_a_child_that_was_made_anew_for_another_owner_is_not_the_first_ones_any_more() -> None:
    resources = seen(raw_child(20, "u1", "c1"))
    resources.apply(Kind.POLICY, "ADDED", raw_child(30, "u2", "c2"))
    assert resources.children_of("u1") == {}
    assert resources.children_of("u2") == {Kind.POLICY: (CHILD_KEY, parse(raw_child(30, "u2", "c2")))}


def test_a_child_is_no_group() -> None:
    resources = seen(raw_child())
    assert resources.group(CHILD_KEY) is None


def test_whose_a_child_is() -> None:
    assert owner_of(parse(raw_child())) == KEY
    assert owner_of(WorkloadPolicy.model_validate({"metadata": {"name": "p"}})) is None
    foreign = raw_child()
    foreign["metadata"]["ownerReferences"][0]["kind"] = "Deployment"
    assert owner_of(parse(foreign)) is None


def test_the_key_of_an_object() -> None:
    assert key_of(Kind.GROUP, raw()) == KEY


def test_what_came_after_a_list_was_asked_for_is_not_gone_for_missing_in_it() -> None:
    resources = seen(raw())
    asked = resources.mark()
    resources.apply(Kind.POLICY, "ADDED", raw_child())
    assert resources.replace(Kind.POLICY, [], asked) == []
    assert resources.keys() == (KEY, CHILD_KEY)


def test_what_went_after_a_list_was_asked_for_does_not_come_back_with_it() -> None:
    resources = seen(raw(), raw_child())
    asked = resources.mark()
    resources.apply(Kind.POLICY, "DELETED", raw_child())
    assert resources.replace(Kind.POLICY, [raw_child()], asked) == []
    assert resources.keys() == (KEY,)


def test_a_later_list_tells_of_what_came_and_went_by_itself() -> None:
    resources = seen(raw(), raw_child())
    resources.apply(Kind.POLICY, "DELETED", raw_child())
    asked = resources.mark()
    assert resources.replace(Kind.POLICY, [raw_child()], asked) == [Change(CHILD_KEY, parse(raw_child()), new=True)]
    assert resources.replace(Kind.GROUP, [], asked) == [Change(KEY, parse(raw()), gone=True)]


def of_readiness(name: str, status: str, **metadata: Any) -> Json:
    """A group that says whether it is Ready."""
    said = {"type": "Ready", "status": status, "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return raw(name=name, uid=f"uid-{name}", **metadata) | {"status": {"conditions": [said]}}


def test_groups_that_are_not_ready_and_should_be_are_counted() -> None:
    resources = seen(
        raw(name="new", uid="uid-new"),
        of_readiness("down", "False"),
        of_readiness("up", "True"),
        of_readiness("going", "False", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[FINALIZER]),
        raw_child(),
    )
    assert resources.not_ready() == 2
