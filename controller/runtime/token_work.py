"""Mint, inject, revoke, scrub: the acts on join tokens. Values pass through here as `SecretStr` and go nowhere else."""

from collections.abc import Mapping
from contextlib import suppress

import structlog
from pydantic import SecretStr

from controller.api.constants import (
    KEY_CA_HASH,
    KEY_CONTROL_PLANE_ENDPOINT,
    KEY_CONTROL_PLANE_IP,
    KEY_JOIN_TOKEN,
)
from controller.core.actions import InjectToken, MintToken, RevokeToken, ScrubMetadata
from controller.core.failures import Conflict, Failure
from controller.core.observed import Instance, OperationView
from controller.runtime.auditing import Pass
from controller.runtime.env import Env
from controller.runtime.group_memory import Injection

log = structlog.get_logger(__name__)

#: Fingerprint conflicts come in a row while the platform writes attributes at boot (facts: GCE 6.4).
_TRIES = 5


class TokenWork:
    """The four acts."""

    def __init__(self, env: Env, *, signature_wait: float) -> None:
        self._env = env
        self._signature_wait = signature_wait

    async def mint(self, action: MintToken, of: Pass) -> None:
        """Create the Secret and see it signed: a joiner that comes before the signature waits 5 s for its next try."""
        vault = self._env.knowledge.vault
        token, secret = vault.mint(of.key, action.instance, self._env.clock.now())
        try:
            await self._env.cluster.create_token_secret(token, secret)
        except Failure:
            # It may have been created all the same. Nobody has its value: take it back. Where that fails too, the
            # token stays known, without a value, and the next look revokes it as one that nothing points at.
            vault.injected(token.id)
            with suppress(Failure):
                await self._env.cluster.delete_token_secret(token.id)
                vault.revoked(token.id)
            raise
        finally:
            vault.made(token.id)
        self._env.metrics.tokens_live.set(vault.live)
        if not await self._env.cluster.await_signature(token.id, self._signature_wait):
            log.warning("token is not signed in cluster-info yet", token_id=token.id, instance=action.instance.name)

    async def inject(self, action: InjectToken, of: Pass) -> OperationView | None:
        """Put the minted token into the metadata of exactly this incarnation."""
        vault, instance = self._env.knowledge.vault, action.instance
        token_id = vault.injectable(of.key).get(instance.id, "")
        value = vault.value_of(token_id)
        if value is None:
            raise Conflict(f"No token waits for instance {instance.name} ({instance.id}); it is looked at again.")
        changes: dict[str, SecretStr | str | None] = {
            KEY_JOIN_TOKEN: value,
            KEY_CONTROL_PLANE_IP: action.control_plane_ip,
            KEY_CONTROL_PLANE_ENDPOINT: action.control_plane_endpoint,
            KEY_CA_HASH: ",".join(await self._env.cluster.ca_hashes()),
        }
        operation = await self._set_metadata(instance, changes)
        if operation is not None and operation.target_id not in {"", instance.id}:
            # setMetadata addresses a name. The name is another VM's by now, and it has our token: take it back.
            await self._env.cluster.delete_token_secret(token_id)
            vault.revoked(token_id)
            raise Conflict(f"Instance {instance.name} was replaced by {operation.target_id} during the injection.")
        vault.injected(token_id)
        injection = Injection(token_id, operation.name if operation else "", self._env.clock.now())
        self._env.knowledge.memory(of.key).injected(instance, injection)
        cause = of.cause_of(action)
        seconds = (self._env.clock.now() - cause.at).total_seconds()
        self._env.metrics.event_to_token.labels(cause.kind).observe(max(0.0, seconds))
        return operation

    async def revoke(self, action: RevokeToken) -> None:
        """Delete the Secret."""
        await self._env.cluster.delete_token_secret(action.token_id)
        self._env.knowledge.vault.revoked(action.token_id)
        self._env.metrics.tokens_live.set(self._env.knowledge.vault.live)

    async def scrub(self, action: ScrubMetadata, of: Pass) -> OperationView | None:
        """Remove the token from the metadata."""
        operation = await self._set_metadata(action.instance, {KEY_JOIN_TOKEN: None})
        self._env.knowledge.memory(of.key).scrubbed(action.instance)
        return operation

    async def _set_metadata(
        self, instance: Instance, changes: Mapping[str, SecretStr | str | None]
    ) -> OperationView | None:
        """Read-merge-write under the fingerprint; on a conflict, read again. Never into another incarnation."""
        current = instance if instance.metadata.fingerprint else await self._read_again(instance)
        for _ in range(_TRIES - 1):
            try:
                return await self._env.cloud.set_metadata(current, changes)
            except Conflict:
                current = await self._read_again(instance)
        return await self._env.cloud.set_metadata(current, changes)

    async def _read_again(self, instance: Instance) -> Instance:
        fresh = await self._env.cloud.get_instance(instance.project, instance.zone, instance.name)
        if fresh is None or fresh.id != instance.id or fresh.status != "RUNNING":
            raise Conflict(f"Instance {instance.name} ({instance.id}) is gone or does not run any more.")
        return fresh
