"""The value of a join token is in its Secret and in its VM's metadata, and in nothing that people read.

Every scenario ends with this very look (`harness.bench`); here it is proved to find what it looks for, and made after a
life with everything in it, told at the most talkative log level.
"""

import json

import pytest

from tests.scenarios.groups import sample
from tests.scenarios.harness import Bench, until
from tests.scenarios.witness import Witness

SECRET = {
    "type": "bootstrap.kubernetes.io/token",
    "metadata": {"name": "bootstrap-token-abcdef", "labels": {"tpu.google.com/instance-id": "42"}},
    "data": {"token-id": "YWJjZGVm", "token-secret": "MDEyMzQ1Njc4OWFiY2RlZg=="},
}


def test_a_leak_is_found_wherever_it_is_and_told_without_the_value() -> None:
    witness = Witness()
    witness.see_secret("ADDED", SECRET)
    witness.see_secret("DELETED", SECRET)
    assert witness.leaks({"a log": "id abcdef", "another log": "token abcdef.0123456789abcdef"}) == [
        "the value of token abcdef is in another log"
    ]
    witness.see_object("MODIFIED", {"status": {"message": "0123456789abcdef"}})
    assert witness.leaks({}) == ["the value of token abcdef is in the Kubernetes API"]


def test_two_tokens_for_one_vm_at_one_time_are_noticed() -> None:
    witness = Witness()
    witness.see_secret("ADDED", SECRET)
    other = json.loads(json.dumps(SECRET).replace("bootstrap-token-abcdef", "bootstrap-token-fedcba"))
    witness.see_secret("ADDED", other)
    assert witness.doubles == ["instance 42 has ['bootstrap-token-abcdef', 'bootstrap-token-fedcba']"]
    assert witness.minted == {"42": ["bootstrap-token-abcdef", "bootstrap-token-fedcba"]}


@pytest.mark.slow
async def test_no_token_is_in_anything_that_people_read(world: Bench) -> None:
    await world.start_operator(log_level="debug", node_service_account="default")
    # Trouble with tokens is what error messages are made of.
    for method, effect, code in (
        ("create secrets", "error-after", 500),
        ("instances.setMetadata", "error-before", 412),
        ("instances.setMetadata", "error-after", 503),
        ("delete secrets", "error-before", 403),
    ):
        await world.control("POST", "faults", {"method": method, "effect": effect, "code": code})
    await world.cluster.create(sample("04-independent-single-hosts.yaml"))
    await world.until_ready("default", "four-hosts")
    lost = min(await world.control.instances())
    await world.control.strike(lost, "delete")
    await until("Ready=False", lambda: world.condition("TPUNodeGroup", "default", "four-hosts"), _is_false)
    await world.until_ready("default", "four-hosts")
    assert world.witness.tokens >= 5
    assert await world.leaks() == []


def _is_false(condition: dict[str, str]) -> bool:
    return condition.get("status") == "False"
