"""A multi-host slice is one unit: when one host is lost, the others are cordoned until the whole slice is back."""

from collections.abc import Sequence

from controller.core.actions import Action, Cordon, Uncordon
from controller.core.join import HostState, Phase


def cordon_actions(
    states: Sequence[HostState], *, mark: str, is_slice: bool, was_ready: bool, whole: bool
) -> tuple[Action, ...]:
    """Cordons and the lifting of our own ones.

    `mark`: the group's namespaced name; `is_slice`: the hosts form one multi-host slice; `was_ready`: the group was
    Ready at its last status; `whole`: every host of the current incarnation is Ready now.
    """
    if whole:
        return tuple(
            Uncordon(state.host.node.name, state.host.node.uid)
            for state in states
            if state.host.node is not None and state.host.node.cordoned_by == mark
        )
    if not is_slice:
        return ()
    # A cordon of ours on any host is the memory of a loss that is not mended yet.
    broken = (
        any(state.lost for state in states)
        or (was_ready and any(state.phase not in {Phase.JOINED, Phase.READY} for state in states))
        or any(state.host.node is not None and state.host.node.cordoned_by == mark for state in states)
    )
    return cordon_all(states, mark=mark) if broken else ()


def cordon_all(states: Sequence[HostState], *, mark: str) -> tuple[Action, ...]:
    """A cordon for every Node of the group that is still schedulable."""
    return tuple(
        Cordon(state.host.node.name, state.host.node.uid, mark)
        for state in states
        if state.host.node is not None and not state.host.node.unschedulable
    )
