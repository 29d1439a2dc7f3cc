"""The four acts on tokens: minted once, injected into exactly one incarnation, taken back whenever in doubt."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.core.actions import InjectToken, MintToken, RevokeToken, ScrubMetadata
from controller.core.failures import Conflict, Rejected, Retry
from controller.core.model import Cause
from controller.core.observed import Instance, Metadata
from controller.runtime.group_memory import Injection
from controller.runtime.token_work import TokenWork
from tests.core.builders import GROUP_KEY, PROJECT, ZONE, make_instance, vm
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World, make_pass

VM = make_instance()
INJECT = InjectToken(VM, "10.0.0.1", "10.0.0.1:6443")
STALE = Conflict("Supplied fingerprint does not match", "412")


class Working(World):
    """Token work in a world whose one VM runs."""

    def __init__(self, instance: Instance = VM) -> None:
        super().__init__()
        self.cloud.instances[instance.name] = instance
        self.memory = self.env.knowledge.memory(GROUP_KEY)
        self.memory.fill([instance], (), 0)
        self.work = TokenWork(self.env, signature_wait=2.0)

    async def mint(self) -> str:
        """Mint a token for the VM; returns its id."""
        await self.work.mint(MintToken(VM), make_pass())
        (token,) = self.vault.of_group(GROUP_KEY)
        return token.id

    def metric(self, name: str, **labels: str) -> float | None:
        """A metric's value."""
        return self.env.metrics.registry.get_sample_value(name, labels)


class TestMinting:
    async def test_a_secret_is_made_and_seen_signed(self) -> None:
        world = Working()
        token_id = await world.mint()
        assert world.cluster.calls == [
            ("create_token_secret", token_id, "1001"),
            ("await_signature", token_id, 2.0),
        ]
        assert world.vault.injectable(GROUP_KEY) == {"1001": token_id}
        assert world.metric("tpu_tokens_live") == 1

    async def test_one_that_is_not_signed_in_time_is_injected_all_the_same(self) -> None:
        world = Working()
        world.cluster.signed = False
        token_id = await world.mint()
        assert world.vault.injectable(GROUP_KEY) == {"1001": token_id}

    @pytest.mark.parametrize("failure", [Retry("timeout"), Rejected("no permission")], ids=["unknown", "refused"])
    async def test_one_whose_secret_may_not_exist_is_taken_back(self, failure: Exception) -> None:
        world = Working()
        world.cluster.fail("create_token_secret", failure)
        with pytest.raises(type(failure)):
            await world.work.mint(MintToken(VM), make_pass())
        token_id = world.cluster.calls[0][1]
        assert world.cluster.calls[1:] == [("delete_token_secret", token_id)]
        assert (world.vault.live, world.vault.injectable(GROUP_KEY)) == (0, {})

    async def test_one_that_cannot_be_taken_back_stays_known_and_is_never_injected(self) -> None:
        world = Working()
        world.cluster.fail("create_token_secret", Retry("timeout"))
        world.cluster.fail("delete_token_secret", Retry("another"))
        with pytest.raises(Retry, match="timeout"):
            await world.work.mint(MintToken(VM), make_pass())
        token_id = world.cluster.calls[0][1]
        assert [token.id for token in world.vault.of_group(GROUP_KEY)] == [token_id]
        assert world.vault.injectable(GROUP_KEY) == {}


class TestInjecting:
    async def test_the_vm_is_given_the_token_and_all_that_it_needs_to_join(self) -> None:
        world = Working()
        token_id = await world.mint()
        operation = await world.work.inject(INJECT, make_pass())
        assert world.cloud.written[vm()] == {
            "kubeadm-join-token": f"{token_id}.{world.cluster.secrets[token_id]}",
            "kubeadm-control-plane-ip": "10.0.0.1",
            "kubeadm-control-plane-endpoint": "10.0.0.1:6443",
            "kubeadm-ca-hash": "sha256:aa,sha256:bb",
        }
        assert operation is not None
        assert world.memory.injections == {"1001": Injection(token_id, operation.name, BEGINNING)}
        assert world.memory.instances[vm()].metadata.token_id == token_id

    async def test_the_value_is_forgotten_once_it_is_in_place(self) -> None:
        world = Working()
        token_id = await world.mint()
        await world.work.inject(INJECT, make_pass())
        assert (world.vault.value_of(token_id), world.vault.injectable(GROUP_KEY)) == (None, {})

    async def test_without_a_token_nothing_is_written(self) -> None:
        world = Working()
        with pytest.raises(Conflict, match=r"No token waits for instance .* \(1001\)"):
            await world.work.inject(INJECT, make_pass())
        assert world.cloud.calls == []

    async def test_the_time_since_what_named_the_vm_is_measured(self) -> None:
        world = Working()
        await world.mint()
        cause = Cause("instance.inserted.last", BEGINNING - timedelta(seconds=2), "e1")
        await world.work.inject(INJECT, make_pass({vm(): cause}))
        assert world.metric("tpu_event_to_token_seconds_sum", cause=cause.kind) == 2

    async def test_a_stale_fingerprint_is_read_again_and_the_write_repeated(self) -> None:
        world = Working()
        await world.mint()
        world.cloud.fail("set_metadata", STALE, STALE)
        world.cloud.instances[vm()] = replace(VM, metadata=Metadata({"tpu-env": "x"}, "f2"))
        await world.work.inject(INJECT, make_pass())
        assert [(call[0], call[2]) for call in world.cloud.calls if call[0] == "set_metadata"] == [
            ("set_metadata", "f1"),
            ("set_metadata", "f2"),
            ("set_metadata", "f2"),
        ]
        assert world.cloud.instances[vm()].metadata["tpu-env"] == "x"

    async def test_after_five_conflicts_it_is_left_to_the_next_look(self) -> None:
        world = Working()
        token_id = await world.mint()
        world.cloud.fail("set_metadata", *[STALE] * 5)
        with pytest.raises(Conflict, match="fingerprint"):
            await world.work.inject(INJECT, make_pass())
        assert world.cloud.count("set_metadata") == 5
        assert world.vault.injectable(GROUP_KEY) == {"1001": token_id}

    async def test_a_vm_that_was_written_to_before_is_read_first(self) -> None:
        world = Working()
        await world.mint()
        unknown = replace(VM, metadata=Metadata(dict(VM.metadata), ""))
        await world.work.inject(replace(INJECT, instance=unknown), make_pass())
        assert [call[0] for call in world.cloud.calls] == ["get_instance", "set_metadata"]
        assert world.cloud.calls[0] == ("get_instance", PROJECT, ZONE, vm())
        assert world.cloud.calls[1][2] == "f1"

    @pytest.mark.parametrize(
        "now",
        [
            pytest.param(None, id="is gone"),
            pytest.param(make_instance(id="2002"), id="was replaced"),
            pytest.param(make_instance(status="STOPPING"), id="does not run any more"),
        ],
    )
    async def test_a_conflict_is_not_repeated_into_a_vm_that(self, now: Instance | None) -> None:
        world = Working()
        token_id = await world.mint()
        world.cloud.fail("set_metadata", STALE)
        if now is None:
            del world.cloud.instances[vm()]
        else:
            world.cloud.instances[vm()] = now
        with pytest.raises(Conflict, match="is gone or does not run any more"):
            await world.work.inject(INJECT, make_pass())
        assert world.cloud.count("set_metadata") == 1
        assert world.vault.injectable(GROUP_KEY) == {"1001": token_id}

    async def test_a_token_that_went_to_the_next_vm_of_the_name_is_revoked(self) -> None:
        world = Working()
        token_id = await world.mint()
        world.cloud.target_id = "2002"
        with pytest.raises(Conflict, match="was replaced by 2002 during the injection"):
            await world.work.inject(INJECT, make_pass())
        assert world.cluster.calls[-1] == ("delete_token_secret", token_id)
        assert (world.cluster.secrets, world.vault.live, world.memory.injections) == ({}, 0, {})

    async def test_if_it_cannot_be_revoked_it_is_not_forgotten(self) -> None:
        world = Working()
        token_id = await world.mint()
        world.cloud.target_id = "2002"
        world.cluster.fail("delete_token_secret", Retry("timeout"))
        with pytest.raises(Retry):
            await world.work.inject(INJECT, make_pass())
        assert [token.id for token in world.vault.of_group(GROUP_KEY)] == [token_id]

    @pytest.mark.parametrize("failure", [Retry("timeout"), Rejected("no permission")], ids=["unknown", "refused"])
    async def test_a_failed_write_leaves_the_token_for_the_next_one(self, failure: Any) -> None:
        world = Working()
        token_id = await world.mint()
        world.cloud.fail("set_metadata", failure)
        with pytest.raises(type(failure)):
            await world.work.inject(INJECT, make_pass())
        assert (world.memory.injections, world.vault.injectable(GROUP_KEY)) == ({}, {"1001": token_id})


class TestTakingBack:
    async def test_a_revoked_token_is_deleted_and_forgotten(self) -> None:
        world = Working()
        token_id = await world.mint()
        await world.work.revoke(RevokeToken(token_id, vm(), "why"))
        assert (world.cluster.secrets, world.vault.live, world.metric("tpu_tokens_live")) == ({}, 0, 0)

    async def test_one_that_could_not_be_deleted_is_still_live(self) -> None:
        world = Working()
        token_id = await world.mint()
        world.cluster.fail("delete_token_secret", Retry("timeout"))
        with pytest.raises(Retry):
            await world.work.revoke(RevokeToken(token_id, vm(), "why"))
        assert world.vault.live == 1

    async def test_a_scrub_removes_the_token_and_nothing_else(self) -> None:
        joined = make_instance(token="tok001")
        world = Working(joined)
        await world.work.scrub(ScrubMetadata(joined), make_pass())
        assert world.cloud.written[vm()] == {"kubeadm-join-token": None}
        assert world.cloud.instances[vm()].metadata == Metadata({"kube-labels": "x"}, "next")
        assert world.memory.instances[vm()].metadata.token_id == ""
