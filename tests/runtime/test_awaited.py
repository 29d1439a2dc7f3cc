"""Which entries must come, and what settles them."""

from dataclasses import replace

from controller.core.deafness import Missed
from controller.core.model import Kind
from controller.core.observed import ResourceRef
from controller.runtime.awaited import Awaited
from sinks.intake.events import EventKind, Resource
from tests.runtime.listening import ANOTHER, OWN, entry_of, mig

TEMPLATE = ResourceRef(Kind.TEMPLATE, OWN, "global", "slice-template")
POLICY = ResourceRef(Kind.POLICY, OWN, "us-central1", "slice-policy")
GRACE = 60.0


def insert(awaited: Awaited, ref: ResourceRef, operation: str, at: float) -> None:
    """Accepted at once."""
    awaited.mutated(ref, "insert", operation, at, at)


def types(awaited: Awaited, now: float = 100.0, project: str = OWN) -> list[str]:
    """What is missed."""
    return [missed.type for missed in awaited.missed(project, now)]


def test_the_oldest_of_each_type_is_told_with_its_age() -> None:
    awaited = Awaited()
    insert(awaited, mig("one"), "o1", 10)
    insert(awaited, mig("two"), "o2", 20)
    insert(awaited, TEMPLATE, "o3", 30)
    awaited.ended("o1", 40)
    assert awaited.missed(OWN, 100) == (
        Missed(f"insert of {mig('one').path}", "gce_instance_group_manager", 90, 60),
        Missed(f"insert of {TEMPLATE.path}", "gce_instance_template", 70, None),
    )
    assert awaited.missed(ANOTHER, 100) == ()


def test_an_entry_settles_its_own_mutation_and_those_before_it_by_operation_or_name() -> None:
    for event in (entry_of(name="another", operation="o2"), entry_of(name="two", operation="o9")):
        awaited = Awaited()
        for number, name in enumerate(("one", "two", "three"), start=1):
            insert(awaited, mig(name), f"o{number}", number * 10)
        awaited.heard(event, 35, GRACE)
        assert awaited.missed(OWN, 40) == (
            Missed(f"insert of {mig('three').path}", "gce_instance_group_manager", 10, None),
        )


def test_anothers_entry_of_the_type_settles_what_is_older_than_an_entry_can_be_on_its_way() -> None:
    awaited = Awaited()
    insert(awaited, mig(), "o1", 10)
    awaited.heard(entry_of(name="theirs"), 30, GRACE)
    assert types(awaited) == ["gce_instance_group_manager"]
    awaited.heard(entry_of(name="theirs"), 71, GRACE)
    assert types(awaited) == []


def test_entries_of_another_type_or_project_and_words_of_a_vm_settle_nothing() -> None:
    awaited = Awaited()
    insert(awaited, mig(), "o1", 10)
    for event in (
        entry_of(Resource.INSTANCE, "vm"),
        entry_of(name="slice-mig", project=ANOTHER),
        replace(entry_of(name="slice-mig"), kind=EventKind.BOOTSTRAP),
    ):
        awaited.heard(event, 99, GRACE)
    assert types(awaited) == ["gce_instance_group_manager"]


def test_what_no_public_entry_shows_is_not_waited_for_nor_what_has_no_operation() -> None:
    awaited = Awaited()
    insert(awaited, POLICY, "o1", 10)
    insert(awaited, mig(), "", 10)
    assert types(awaited) == []


def test_an_entry_that_came_since_the_call_began_is_not_waited_for() -> None:
    awaited = Awaited()
    awaited.heard(entry_of(name="slice-mig"), 15, GRACE)
    awaited.mutated(mig(), "delete", "o1", began=10, now=20)
    assert types(awaited) == []
    awaited.mutated(mig(), "delete", "o2", began=16, now=20)
    assert types(awaited) == ["gce_instance_group_manager"]


def test_a_loss_that_was_told_lately_is_none_that_events_missed() -> None:
    awaited = Awaited()
    awaited.heard(entry_of(Resource.INSTANCE, "told", kind=EventKind.PREEMPTED), 10, GRACE)
    awaited.heard(entry_of(Resource.INSTANCE, "made", kind=EventKind.INSERTED), 10, GRACE)
    assert awaited.found(mig(), ["told"], ["made"], 800) == 0
    assert types(awaited) == []
    # That a VM was made tells nothing of its loss, and what was told long ago is another story.
    assert awaited.found(mig(), ["made"], [], 800) == 1
    assert awaited.found(mig(), ["told"], [], 911) == 1
    assert types(awaited, 911) == ["gce_instance"]


def test_time_in_which_nothing_could_be_heard_does_not_count() -> None:
    awaited = Awaited()
    insert(awaited, mig("one"), "o1", 10)
    insert(awaited, TEMPLATE, "o2", 50)
    awaited.excuse(40, 70)
    assert [missed.age for missed in awaited.missed(OWN, 100)] == [60, 30]


def test_it_keeps_no_more_than_it_needs() -> None:
    awaited = Awaited()
    for number in range(2000):
        insert(awaited, mig(f"m{number}"), f"o{number}", number)
    awaited.heard(entry_of(name="m1999", operation="o1999"), 2000, GRACE)
    assert types(awaited, 2000) == []


def test_what_was_lost_with_the_path_is_forgotten_for_its_project() -> None:
    awaited = Awaited()
    insert(awaited, mig(), "o1", 10)
    insert(awaited, mig(project=ANOTHER), "o2", 10)
    awaited.forget(OWN)
    assert (types(awaited), types(awaited, project=ANOTHER)) == ([], ["gce_instance_group_manager"])
    awaited.forget()
    assert types(awaited, project=ANOTHER) == []
