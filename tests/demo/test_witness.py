"""What a bystander sees in the cluster."""

from datetime import datetime
from typing import Any

from controller.demo.witness import NOT_SAID, NodeLife, Ready, TokenSecret, Witness
from tests.demo.builders import at


def group(status: str = "True", reason: str = "Ready") -> dict[str, Any]:
    condition = {"type": "Ready", "status": status, "reason": reason, "message": "m", "observedGeneration": 1}
    return {"metadata": {"name": "g"}, "status": {"conditions": [condition]}}


def node(revision: int, *, ready: bool = False, uid: str = "u1", instance_id: str = "1") -> dict[str, Any]:
    meta = {
        "name": "vm-a",
        "uid": uid,
        "resourceVersion": str(revision),
        "labels": {"tpu.google.com/instance-id": instance_id},
    }
    return {"metadata": meta, "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}}


def test_a_node_lives_from_its_registration_to_its_deletion() -> None:
    told: list[str] = []
    witness = Witness(lambda: at(0), on_node=lambda _at, what, name: told.append(f"{name} {what}"))
    witness.see_node("ADDED", node(5))
    witness.see_node("MODIFIED", node(6, ready=True))
    witness.see_node("MODIFIED", node(7, ready=True))
    witness.see_node("MODIFIED", node(8))
    witness.see_node("DELETED", node(9))
    witness.see_node("ADDED", node(12, uid="u2", instance_id="2"))
    assert told == ["vm-a joined", "vm-a Ready", "vm-a not Ready", "vm-a deleted", "vm-a joined"]
    assert list(witness.nodes.values()) == [
        NodeLife("vm-a", "u1", "1", at(0), 5, at(0), 9),
        NodeLife("vm-a", "u2", "2", at(0), 12),
    ]
    assert witness.living() == {"vm-a": witness.nodes["u2"]}


def test_ready_is_told_when_it_changes_and_the_end_once() -> None:
    told: list[Ready] = []
    gone: list[datetime] = []
    witness = Witness(lambda: at(0), on_ready=lambda _at, ready: told.append(ready), on_gone=gone.append)
    assert witness.ready == NOT_SAID
    witness.see_group("ADDED", {"metadata": {"name": "g"}})
    witness.see_group("MODIFIED", group("False", "Stockout"))
    witness.see_group("MODIFIED", group("False", "Stockout"))
    witness.see_group("MODIFIED", group())
    witness.see_group("DELETED", group())
    assert told == [Ready("False", "Stockout", "m", 1), Ready("True", "Ready", "m", 1)]
    assert witness.group_deleted
    assert gone == [at(0)]


def test_of_a_token_secret_only_its_birth_is_kept() -> None:
    witness = Witness(lambda: at(0))
    labelled: dict[str, Any] = {
        "metadata": {
            "name": "bootstrap-token-abcdef",
            "resourceVersion": "7",
            "labels": {"tpu.google.com/instance-id": "1"},
        },
        "data": {"token-secret": "c2VjcmV0"},
    }
    witness.see_secret("ADDED", labelled)
    witness.see_secret("ADDED", {"metadata": {"name": "other", "resourceVersion": "8"}})
    witness.see_secret("DELETED", {**labelled, "metadata": {**labelled["metadata"], "resourceVersion": "9"}})
    assert witness.secrets == {"abcdef": TokenSecret("abcdef", "1", 7)}


async def test_waiting_ends_when_it_is_seen_or_when_the_time_is_over() -> None:
    witness = Witness(lambda: at(0))
    assert not await witness.until(lambda seen: seen.group_deleted, timeout=0.01)
    witness.see_group("DELETED", group())
    assert await witness.until(lambda seen: seen.group_deleted, timeout=0.01)
