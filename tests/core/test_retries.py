"""What failed is looked at again, and nothing besides it; when depends on who can mend it."""

from datetime import timedelta

import pytest

from controller.core.actions import (
    Action,
    Cordon,
    CreateChild,
    DeleteChild,
    DeleteResource,
    DeleteStaleNode,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    Outcome,
    RevokeToken,
    ScrubMetadata,
    SetFinalizers,
    TaintNode,
    Uncordon,
)
from controller.core.failures import Bug, Conflict, Failure, Gone, NoCapacity, Rejected, Retry
from controller.core.model import Cause, Scope, Wake
from controller.core.retries import lasts, retry_after, retry_wake
from tests.core.builders import GROUP_KEY, NOW, POLICY, make_instance, make_ref, vm

VM, REF = make_instance(), make_ref()
CAUSE = Cause("retry", NOW)
TIMEOUT = Retry("timeout", after=timedelta(seconds=7))
STOCKOUT, REFUSED = NoCapacity("none left"), Rejected("no permission")
VM_WAKE = Wake(Scope.INSTANCES, CAUSE, {vm(): CAUSE})


@pytest.mark.parametrize(
    ("action", "wake"),
    [
        (MintToken(VM), VM_WAKE),
        (InjectToken(VM, "", ""), VM_WAKE),
        (ScrubMetadata(VM), VM_WAKE),
        (InsertResource(REF, {}, "r"), Wake(Scope.MIG, CAUSE)),
        (DeleteResource(REF, "r"), Wake(Scope.MIG, CAUSE)),
        (LabelNode("n", "u", {}), Wake(Scope.NODES, CAUSE)),
        (TaintNode("n", "u", "1", ()), Wake(Scope.NODES, CAUSE)),
        (DeleteStaleNode("n", "u", "1", ""), Wake(Scope.NODES, CAUSE)),
        (Cordon("n", "u", "g"), Wake(Scope.NODES, CAUSE)),
        (Uncordon("n", "u"), Wake(Scope.NODES, CAUSE)),
        (RevokeToken("t", "n", ""), Wake(Scope.SPEC, CAUSE)),
        (SetFinalizers(GROUP_KEY, "1", ()), Wake(Scope.SPEC, CAUSE)),
        (CreateChild(GROUP_KEY, {}), Wake(Scope.SPEC, CAUSE)),
        (DeleteChild(GROUP_KEY, "u"), Wake(Scope.SPEC, CAUSE)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, Wake) else str(value.scope),
)
def test_a_failed_action_is_looked_at_where_it_shows(action: Action, wake: Wake) -> None:
    assert retry_wake([Outcome(action, failure=TIMEOUT)], (), NOW) == wake


def test_what_did_not_fail_is_not_looked_at_again() -> None:
    outcomes = [Outcome(MintToken(VM)), Outcome(DeleteResource(REF, "r"), failure=TIMEOUT)]
    assert retry_wake(outcomes, (), NOW) == Wake(Scope.MIG, CAUSE)


def test_a_look_without_a_failure_asks_for_no_retry() -> None:
    assert retry_wake([Outcome(MintToken(VM))], (), NOW) is None


def test_a_vm_that_could_not_be_read_is_looked_at_by_its_name() -> None:
    assert retry_wake([Outcome(MintToken(VM))], [VM.name], NOW) == VM_WAKE


@pytest.mark.parametrize(
    ("failures", "attempts", "wait"),
    [
        pytest.param([], 1, timedelta(0), id="nothing failed"),
        pytest.param([TIMEOUT], 1, timedelta(seconds=7), id="a rate limit names its window"),
        pytest.param([Conflict("x")], 5, timedelta(0), id="a conflict has the key's back-off alone"),
        pytest.param([Gone("x")], 5, timedelta(0), id="so has what is gone"),
        pytest.param([Bug("x")], 5, timedelta(0), id="and what nobody knows"),
        pytest.param([STOCKOUT], 1, timedelta(seconds=30), id="a stockout waits"),
        pytest.param([STOCKOUT], 3, timedelta(seconds=120), id="longer each time"),
        pytest.param([STOCKOUT], 99, timedelta(minutes=10), id="up to ten minutes"),
        pytest.param([REFUSED], 1, timedelta(minutes=5), id="a refusal waits for somebody to act"),
        pytest.param([REFUSED, TIMEOUT], 1, timedelta(seconds=7), id="what passes soon does not wait for what lasts"),
    ],
)
def test_a_retry_waits(failures: list[Failure], attempts: int, wait: timedelta) -> None:
    assert retry_after(failures, attempts, POLICY) == wait


@pytest.mark.parametrize(
    ("attempts", "failure", "told"),
    [
        pytest.param(1, TIMEOUT, False, id="not a first passing trouble"),
        pytest.param(2, TIMEOUT, False, id="nor the second"),
        pytest.param(3, TIMEOUT, True, id="the third in a row"),
        pytest.param(1, REFUSED, True, id="a refusal at once"),
        pytest.param(1, STOCKOUT, False, id="not a first stockout of a read"),
    ],
)
def test_what_is_told_in_the_status(attempts: int, failure: Failure, told: bool) -> None:  # noqa: FBT001
    assert lasts(attempts, failure) is told
