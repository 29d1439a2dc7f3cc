"""No token value shows, however an object that may hold or have seen one is printed or logged."""

import dataclasses
import io
import logging
import pprint
from typing import Any, Self

import pytest
import structlog

from controller.core.actions import InjectToken, MintToken, Outcome, RevokeToken, ScrubMetadata
from controller.core.failures import Conflict
from controller.core.hosts import match_hosts
from controller.core.observed import Instance, Metadata
from controller.runtime.apply import Applier
from controller.runtime.token_work import TokenWork
from sinks.audit.sink import JsonLines
from tests.core.builders import (
    BASE,
    GROUP_KEY,
    PROJECT,
    ZONE,
    make_host,
    make_instance,
    make_node,
    make_snapshot,
    make_state,
    make_token,
    vm,
)
from tests.runtime.world import World, make_pass

#: The value that `make_instance` puts into metadata.
VALUE = "tok001.0123456789abcdef"
SECRET = VALUE.partition(".")[2]
HOLDER = make_instance(token="tok001")
HOST = make_host("aaaa", HOLDER, make_node(), make_token())


def shown(thing: object) -> str:
    """Every way in which a thing is commonly turned into text."""
    return f"{thing!r} {thing!s} {thing} {[thing]!r} {pprint.pformat(thing, width=1)}"


def test_the_instance_of_these_tests_does_hold_a_value() -> None:
    assert HOLDER.metadata["kubeadm-join-token"] == VALUE


@pytest.mark.parametrize(
    "thing",
    [
        HOLDER.metadata,
        HOLDER,
        HOST,
        make_state(HOST),
        make_snapshot(HOST),
        MintToken(HOLDER),
        InjectToken(HOLDER, "", ""),
        ScrubMetadata(HOLDER),
        RevokeToken("tok001", vm(), "why"),
        Outcome(InjectToken(HOLDER, "", ""), failure=Conflict("x")),
        make_token(),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_what_a_decision_is_made_of_shows_no_value(thing: object) -> None:
    assert SECRET not in shown(thing)


def test_metadata_shows_its_keys() -> None:
    assert repr(Metadata({"b": "1", "a": "2"}, "f1")) == "Metadata(keys=['a', 'b'], fingerprint='f1')"


async def test_the_memory_of_a_group_shows_no_value() -> None:
    world = World()
    memory = world.env.knowledge.memory(GROUP_KEY)
    memory.fill([HOLDER], (), 0)
    inventory = memory.inventory({})
    matched = match_hosts(inventory, [make_node()], [make_token()], project=PROJECT, zone=ZONE, base=BASE)
    for thing in (memory, inventory, matched, world.env, world.env.knowledge):
        assert SECRET not in shown(thing)


class Capture:
    """All that is logged, by structlog and by logging."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def __enter__(self) -> Self:
        self._handler = logging.StreamHandler(self.stream)
        logging.getLogger().addHandler(self._handler)
        self._level = logging.getLogger().level
        logging.getLogger().setLevel(logging.DEBUG)
        self._old = structlog.get_config()
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(self.stream), cache_logger_on_first_use=False)
        return self

    def __exit__(self, *_: object) -> None:
        structlog.configure(**self._old)
        logging.getLogger().removeHandler(self._handler)
        logging.getLogger().setLevel(self._level)


async def a_life_of_tokens(world: World, applier: Applier, vm_: Instance) -> None:
    """Mint, inject with a conflict on the way, fail, renew, scrub, revoke."""
    world.cloud.instances[vm_.name] = vm_
    world.cloud.fail("set_metadata", Conflict(f"Invalid value: {VALUE}"), Conflict("fingerprint"))
    of = make_pass()
    inject = InjectToken(vm_, "10.0.0.1", "10.0.0.1:6443")
    await applier.apply([MintToken(vm_), inject], of)
    world.cluster.signed = False
    world.cloud.target_id = "2002"
    await applier.apply([MintToken(vm_), inject], of)
    await applier.apply([inject, ScrubMetadata(vm_)], of)
    await applier.apply([ScrubMetadata(vm_)], of)
    for token in world.vault.of_group(GROUP_KEY):
        await applier.apply([RevokeToken(token.id, vm_.name, "why")], of)


async def test_a_life_of_tokens_leaves_no_value_in_logs_records_outcomes_or_metrics() -> None:
    world, lines = World(), io.StringIO()
    secrets: set[str] = set()
    create = world.cluster.create_token_secret

    async def spying(token: Any, secret: Any) -> None:
        secrets.add(secret.get_secret_value())
        await create(token, secret)

    world.cluster.create_token_secret = spying  # type: ignore[method-assign]
    auditor = world.auditor
    auditor._sink = JsonLines(lines)
    with Capture() as capture:
        applier = Applier(world.env, TokenWork(world.env, signature_wait=0.1), auditor, print)
        await a_life_of_tokens(world, applier, make_instance())
    assert len(secrets) == 2
    metrics = "".join(str(sample) for metric in world.env.metrics.registry.collect() for sample in metric.samples)
    written = capture.stream.getvalue() + lines.getvalue() + metrics + shown(world.env) + shown(world.records.records)
    assert "token is not signed" in capture.stream.getvalue()
    assert "MintToken" in lines.getvalue()
    for secret in (*secrets, SECRET):
        assert secret not in written


def test_no_field_of_an_action_is_a_plain_value_of_a_token() -> None:
    names = {field.name for action in (MintToken, InjectToken, RevokeToken) for field in dataclasses.fields(action)}
    assert not names & {"token", "secret", "value"}
