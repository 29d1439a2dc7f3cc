"""What a group's looks remember: reads replace it, accepted writes show through reads that are older than they."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.api.reasons import Reason
from controller.core.hosts import Inventory
from controller.core.model import Cause, Kind
from controller.core.observed import Instance, ManagedInstance, MigView, OperationError, ResourceRef
from controller.runtime.group_memory import GroupMemory, Injection
from tests.core.builders import NOW, ago, make_instance, make_row, vm

A, B = vm("aaaa"), vm("bbbb")
INJECTION = Injection("tok001", "op-1", ago(seconds=3))


def filled(*instances: Instance) -> GroupMemory:
    """A memory after a list of these VMs, all of them members."""
    memory = GroupMemory()
    memory.fill(instances, (), memory.sequence)
    memory.take_members([replace(make_row(), name=i.name, id=i.id, status=i.status) for i in instances])
    return memory


def token_of(memory: GroupMemory, name: str = A) -> str:
    """The token id that decisions see in a VM's metadata."""
    return memory.instances[name].metadata.token_id


def test_a_new_memory_knows_nothing() -> None:
    assert GroupMemory().inventory({}) == Inventory(filled=False)


def test_an_inventory_is_a_copy_that_later_reads_do_not_change() -> None:
    memory = filled(make_instance())
    memory.hint("1001", (Reason.PREEMPTED, "taken"))
    inventory = memory.inventory({"1001": "tok001"})
    memory.reset(())
    assert inventory == Inventory(
        filled=True,
        instances={A: make_instance()},
        members={A: make_row()},
        injectable={"1001": "tok001"},
        hints={"1001": (Reason.PREEMPTED, "taken")},
    )


class TestAbsence:
    def test_a_list_tells_which_known_names_have_no_vm(self) -> None:
        memory = filled(make_instance())
        memory.fill([], [B], memory.sequence)
        assert memory.absent == {A, B}

    def test_a_404_tells_that_one_has_none(self) -> None:
        memory = filled(make_instance())
        assert memory.take(A, None, memory.sequence) is True
        assert (memory.instances, memory.absent) == ({}, {A})

    def test_it_is_not_believed_when_the_node_was_seen_after_the_read_began(self) -> None:
        memory = filled(make_instance())
        began = memory.sequence
        memory.sight(A)
        memory.take(A, None, began)
        assert memory.absent == set()
        memory.fill([], [A], began)
        assert memory.absent == set()

    def test_it_is_believed_when_the_read_began_after_the_node_was_seen(self) -> None:
        memory = filled(make_instance())
        memory.sight(A)
        memory.take(A, None, memory.sequence)
        assert memory.absent == {A}

    def test_it_is_not_believed_any_more_once_the_node_speaks(self) -> None:
        memory = filled()
        memory.take(A, None, memory.sequence)
        memory.sight(A)
        assert memory.absent == set()

    def test_a_read_that_finds_the_vm_ends_it(self) -> None:
        memory = filled()
        memory.take(A, None, memory.sequence)
        memory.take(A, make_instance(), memory.sequence)
        assert (memory.absent, memory.instances) == (set(), {A: make_instance()})

    def test_without_a_mig_there_are_no_vms(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.reset([B])
        assert memory.inventory({}) == Inventory(filled=True, absent=frozenset({A, B}))


class TestReads:
    @pytest.mark.parametrize(
        ("after", "moved"),
        [
            pytest.param(make_instance(), False, id="the same"),
            pytest.param(make_instance(token="tok001"), False, id="other metadata"),
            pytest.param(make_instance(status="STOPPING"), True, id="another status"),
            pytest.param(make_instance(id="2002"), True, id="another incarnation"),
            pytest.param(None, True, id="none any more"),
        ],
    )
    def test_a_read_says_whether_the_vm_moved(self, after: Instance | None, moved: bool) -> None:  # noqa: FBT001
        memory = filled(make_instance())
        assert memory.take(A, after, memory.sequence) is moved
        memory = filled(make_instance())
        assert memory.fill([after] if after else [], (), memory.sequence) is moved


class TestInjections:
    def test_an_accepted_token_shows_before_a_read_does(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        assert (token_of(memory), memory.inventory({}).injected) == ("tok001", {"1001": INJECTION.at})

    def test_a_read_from_before_it_does_not_undo_it(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.take(A, make_instance(), memory.sequence)
        assert token_of(memory) == "tok001"
        memory.fill([make_instance()], (), memory.sequence)
        assert token_of(memory) == "tok001"

    def test_what_was_accepted_must_be_read_again_before_the_next_write(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        assert memory.instances[A].metadata.fingerprint == ""

    def test_a_read_that_shows_it_confirms_it(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.take(A, make_instance(token="tok001"), memory.sequence)
        assert (memory.injections, memory.instances) == ({}, {A: make_instance(token="tok001")})

    def test_it_is_not_that_of_the_next_incarnation(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.take(A, make_instance(id="2002"), memory.sequence)
        assert token_of(memory) == ""

    def test_it_is_forgotten_with_its_vm(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.fill([make_instance(id="2002")], (), memory.sequence)
        assert memory.injections == {}

    def test_one_that_failed_counts_no_more(self) -> None:
        memory = filled(make_instance())
        memory.injected(make_instance(), INJECTION)
        memory.injection_failed("1001")
        memory.take(A, make_instance(), memory.sequence)
        assert (token_of(memory), memory.inventory({}).injected) == ("", {})

    def test_a_scrub_takes_the_token_away(self) -> None:
        memory = filled(make_instance(token="tok001"))
        memory.scrubbed(make_instance(token="tok001"))
        assert (token_of(memory), memory.instances[A].metadata.fingerprint) == ("", "")

    def test_an_injection_into_a_vm_that_was_replaced_meanwhile_shows_nowhere(self) -> None:
        memory = filled(make_instance(id="2002"))
        memory.injected(make_instance(id="1001"), INJECTION)
        assert token_of(memory) == ""

    @pytest.mark.parametrize(("age", "found"), [(2, 1), (3, 1), (4, 0)], ids=["younger", "as old", "older"])
    def test_those_that_no_read_has_shown_are_found_by_age(self, age: float, found: int) -> None:
        memory = filled(make_instance(), make_instance("bbbb", id="1002"))
        memory.injected(make_instance(), INJECTION)
        late = [(memory.instances[A], INJECTION)][:found]
        assert memory.unconfirmed([A, B, "unknown"], NOW, age) == late


class TestMembers:
    def test_a_row_without_an_id_is_of_a_vm_that_does_not_exist_yet(self) -> None:
        memory = filled()
        memory.take_members([make_row(id="", status="")])
        assert memory.members == {}

    def test_a_vm_that_the_mig_does_not_list_by_its_id_is_a_stranger(self) -> None:
        memory = filled(make_instance(), make_instance("bbbb", id="1002"))
        memory.take_members([make_row(), make_row("bbbb", id="999")])
        assert memory.strangers == {"1002"}
        assert [memory.is_member(i) for i in memory.instances.values()] == [True, False]

    def test_only_rows_without_a_vm_tell_why_it_is_missing(self) -> None:
        memory = filled()
        why, old, more = (OperationError(code, "") for code in ("WHY", "OLD", "MORE"))
        memory.take_members([make_row(errors=(old,)), make_row("bbbb", id="", status="", errors=(why, more))])
        assert memory.errors == (why,)
        assert memory.inventory({}).awaited == {vm("bbbb")}

    @pytest.mark.parametrize(
        ("known", "row", "changed"),
        [
            pytest.param(make_instance(), make_row(), set(), id="nothing new"),
            pytest.param(None, make_row(), {A}, id="one runs that was not known"),
            pytest.param(None, make_row(status="STAGING"), set(), id="one is on its way: its row says so"),
            pytest.param(make_instance(status="STAGING"), make_row(), {A}, id="it began to run"),
            pytest.param(make_instance(), make_row(status="STOPPING"), {A}, id="it runs no more"),
            pytest.param(make_instance(), make_row(id="2002"), {A}, id="it was replaced"),
            pytest.param(make_instance(), None, {A}, id="it is gone"),
            pytest.param(
                make_instance(status="STAGING"), make_row(status="PROVISIONING"), set(), id="it is still on its way"
            ),
        ],
    )
    def test_rows_tell_which_vms_must_be_read(self, known: Instance | None, row: object, changed: set[str]) -> None:
        memory = filled(*([known] if known else []))
        memory.take_members([row] if row else [])  # type: ignore[list-item]
        assert memory.changed() == changed


class TestMig:
    @pytest.mark.parametrize(
        ("mig", "must_read"),
        [
            pytest.param(MigView(2, is_stable=True, counts={"running": 1}), False, id="as many run as are known"),
            pytest.param(MigView(2, is_stable=False, counts={"running": 2}), True, id="more run"),
            pytest.param(MigView(2, is_stable=False, counts={"staging": 2}), True, id="fewer run"),
            pytest.param(MigView(2, is_stable=True), False, id="no counts, and it is stable"),
            pytest.param(MigView(2, is_stable=False), True, id="no counts, and it is not"),
        ],
    )
    def test_its_counts_tell_whether_vms_must_be_read(self, mig: MigView, must_read: bool) -> None:  # noqa: FBT001
        assert filled(make_instance()).take_mig(mig) is must_read

    @pytest.mark.parametrize(
        ("counts", "steps"),
        [
            pytest.param([{"staging": 2}] * 3, [1, 2, 3], id="it goes on while VMs are on their way"),
            pytest.param(
                [{"staging": 2}, {"staging": 1, "running": 1}, {"staging": 1, "running": 1}],
                [1, 2, 3],
                id="also while they come to run one after the other",
            ),
            pytest.param(
                [{"nonExistent": 2}, {"nonExistent": 2}, {"provisioning": 2}, {"staging": 2}],
                [1, 2, 0, 1],
                id="it begins anew when capacity came",
            ),
            pytest.param(
                [{"staging": 2}, {"running": 2}, {"stopping": 1}], [1, 0, 1], id="it ends when all is at rest"
            ),
            pytest.param(
                [{"running": 2}, {"running": 2}, {"running": 2}],
                [0, 1, 2],
                id="it goes on while the MIG counts VMs that are not found",
            ),
        ],
    )
    def test_a_series_of_follow_ups(self, counts: list[dict[str, int]], steps: list[int]) -> None:
        memory, taken = filled(), []
        for count in counts:
            memory.take_mig(MigView(2, is_stable=False, counts=count))
            taken.append(memory.quiet_looks)
        assert taken == steps


@pytest.mark.parametrize(
    ("instance", "kind", "detail", "known"),
    [
        pytest.param(make_instance(), "instance.inserted.last", "", True, id="it was made, and is known to run"),
        pytest.param(make_instance(), "instance.inserted.last", "IP_SPACE", False, id="its making failed"),
        pytest.param(make_instance(id="2002"), "instance.inserted.last", "", False, id="it is another one"),
        pytest.param(make_instance(status="STAGING"), "instance.inserted.last", "", False, id="it does not run yet"),
        pytest.param(None, "instance.inserted.last", "", False, id="it is not known"),
        pytest.param(make_instance(), "instance.bootstrap.booted", "", False, id="it booted and has no token"),
        pytest.param(
            make_instance(token="tok001"), "instance.bootstrap.booted", "", True, id="it booted and has its token"
        ),
        pytest.param(make_instance(), "instance.deleted.last", "", False, id="it went"),
    ],
)
def test_an_event_that_tells_what_is_known_needs_no_read(
    instance: Instance | None,
    kind: str,
    detail: str,
    known: bool,  # noqa: FBT001
) -> None:
    memory = filled(*([instance] if instance else []))
    assert memory.knows(A, Cause(kind, NOW, "k1", detail, "1001")) is known


def test_hints_are_bounded_the_oldest_go_first() -> None:
    memory = GroupMemory()
    for number in range(5000):
        memory.hint(str(number), (Reason.PREEMPTED, ""))
    assert list(memory.hints) == [str(number) for number in range(5000 - 4096, 5000)]


def test_an_overlay_holds_no_secret() -> None:
    memory = filled(make_instance())
    memory.injected(make_instance(), replace(INJECTION, at=NOW + timedelta(seconds=1)))
    assert memory.instances[A].metadata["kubeadm-join-token"] == "tok001.redacted"


class TestNewRows:
    """What runs by the MIG's own rows, and of which nothing else is known, needs no read to be decided on."""

    REF = ResourceRef(Kind.MIG, "my-gcp-project", "us-central1-c", "slice-mig-1a2b3c4d")

    def test_a_vm_that_runs_by_its_row_is_taken_without_its_metadata(self) -> None:
        memory = filled()
        memory.take_members([ManagedInstance("vm-a", "1", "RUNNING"), ManagedInstance("vm-b", "2", "STAGING")])
        assert memory.take_new_rows(self.REF, set(), NOW) == {"vm-a"}
        nothing = memory.instances["vm-a"].metadata
        assert memory.instances == {
            "vm-a": Instance("my-gcp-project", "us-central1-c", "vm-a", "1", "RUNNING", NOW, None, nothing)
        }
        assert (dict(nothing), nothing.fingerprint) == ({}, "")

    def test_a_vm_whose_name_has_a_node_or_a_token_is_read(self) -> None:
        memory = filled()
        memory.take_members([ManagedInstance("vm-a", "1", "RUNNING")])
        assert memory.take_new_rows(self.REF, {"vm-a"}, NOW) == set()
        assert memory.changed() == {"vm-a"}

    def test_a_vm_that_is_known_to_run_is_not_taken_again(self) -> None:
        memory = filled()
        memory.take_members([ManagedInstance("vm-a", "1", "RUNNING")])
        memory.take_new_rows(self.REF, set(), NOW)
        assert memory.take_new_rows(self.REF, set(), NOW) == set()
        assert memory.changed() == set()
