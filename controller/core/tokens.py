"""Which join tokens to mint, inject, renew, revoke and scrub. Never sees a token's value.

One live token per incarnation of a VM; none for a VM that is not ours, not RUNNING, or has joined. A Secret that
nothing points at (a crash between minting and injecting) is revoked before the next one is minted.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from controller.core.actions import Action, InjectToken, MintToken, RevokeToken, ScrubMetadata
from controller.core.join import Host, HostState, Phase, is_current, live_token
from controller.core.model import Scope
from controller.core.observed import TokenView
from controller.core.plan import Policy, Recheck, step_of

_NO_MARGIN = timedelta(0)
#: How soon a host that found no room for its token asks again. Such a look reads nothing.
_SLOT_LOOK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a VM finds the control plane: an address for the reference's key, and host:port."""

    ip: str
    endpoint: str


def token_actions(
    states: Sequence[HostState], endpoint: Endpoint | None, *, slots: int, policy: Policy, now: datetime
) -> tuple[Action, ...]:
    """The token work of all hosts. `endpoint` None: the VMs join by themselves. `slots`: tokens still allowed."""
    actions: list[Action] = []
    for state in states:
        if endpoint is not None and awaits_token(state):
            wanted = _supply(state.host, endpoint, policy, now)
            mints = sum(isinstance(action, MintToken) for action in wanted)
            if mints > slots:
                # Without room only what makes some: tokens that nothing points at.
                wanted, mints = [action for action in wanted if isinstance(action, RevokeToken)], 0
            actions += wanted
            slots -= mints
        else:
            actions += _withdraw(state)
    return tuple(actions)


def awaits_token(state: HostState) -> bool:
    """Whether a VM may be given a token: ours by its id, RUNNING, and no Node of its name is there."""
    return state.host.is_member and state.phase in {Phase.RUNNING, Phase.TOKEN_INJECTED}


def revoke_orphans(tokens: Iterable[TokenView]) -> tuple[Action, ...]:
    """Tokens of ours whose VM is not in the group any more."""
    return tuple(RevokeToken(token.id, token.instance, "its VM is gone") for token in tokens)


def token_rechecks(
    states: Sequence[HostState], actions: Sequence[Action], *, slots: int, policy: Policy, now: datetime
) -> tuple[Recheck, ...]:
    """When unconfirmed injections must be read again, the next token needs renewal, and room for a token is sought.

    `actions`: what is being done now. What that injects is unconfirmed too: no event need come of it, and without a
    look after it nobody would think of the next renewal.
    """
    rechecks: list[Recheck] = []
    injected = {s.host.name: s.host.injected_at for s in states if s.host.injected_at is not None and awaits_token(s)}
    injected |= {action.instance.name: now for action in actions if isinstance(action, InjectToken)}
    if injected:
        due = min(step_of(policy.unconfirmed_looks, at, now) for at in injected.values())
        rechecks.append(Recheck(due, "unconfirmed", Scope.INSTANCES, tuple(sorted(injected))))
    renewals = [
        token.expires - policy.token_renew_margin
        for state in states
        if awaits_token(state) and (token := live_token(state.host, now, policy.token_renew_margin))
    ]
    if renewals:
        rechecks.append(Recheck(min(renewals), "renewal", Scope.NONE))
    if sum(_lacks_token(state, now) for state in states) > slots:
        rechecks.append(Recheck(now + _SLOT_LOOK, "slot", Scope.NONE))
    return tuple(rechecks)


def _lacks_token(state: HostState, now: datetime) -> bool:
    """Whether a token must be minted for a VM (one that joins by itself is never in phase RUNNING for want of it)."""
    wants = state.phase is Phase.RUNNING and awaits_token(state) and not state.host.injectable
    return wants and live_token(state.host, now, _NO_MARGIN) is None


def _supply(host: Host, endpoint: Endpoint, policy: Policy, now: datetime) -> list[Action]:
    assert host.instance is not None
    current = live_token(host, now, _NO_MARGIN)
    # One that will be, or was, renewed stays valid until it expires: the VM may be joining with it right now.
    ending = {t.id for t in host.tokens if t.expires - now <= policy.token_renew_margin} if current else set()
    if current and current.id not in ending:
        return _revoke(host, keep={current.id, *ending})
    inject = InjectToken(host.instance, endpoint.ip, endpoint.endpoint)
    if host.injectable:
        return [*_revoke(host, keep={host.injectable, *ending}), inject]
    return [*_revoke(host, keep=ending), MintToken(host.instance), inject]


def _withdraw(state: HostState) -> list[Action]:
    host = state.host
    actions = _revoke(host, keep=set())
    instance = host.instance
    joined = instance is not None and host.node is not None and is_current(host.node, instance)
    if instance is not None and joined and instance.status == "RUNNING" and instance.metadata.token_id:
        actions.append(ScrubMetadata(instance))
    return actions


def _revoke(host: Host, *, keep: AbstractSet[str]) -> list[Action]:
    instance_id = host.instance.id if host.instance else ""
    why = {True: "not in use any more", False: "made for an earlier VM of this name"}
    return [
        RevokeToken(token.id, host.name, why[token.instance_id == instance_id])
        for token in host.tokens
        if token.id not in keep or token.instance_id != instance_id
    ]
