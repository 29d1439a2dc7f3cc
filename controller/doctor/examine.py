"""Runs all checks at once, each with a deadline: one service that hangs holds up its own checks alone."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from controller.doctor import cloud, cluster, events
from controller.doctor.findings import Finding, Verdict, failed, skipped
from controller.doctor.installation import Installation
from controller.doctor.probe import LIMIT
from controller.doctor.probe import probe as probe_of
from controller.doctor.unread import UnreadError
from controller.settings import Settings

Check = Callable[[Installation], Awaitable[Verdict]]

#: In the order in which an installation is made: what stands first is mended first.
CHECKS: Final[tuple[tuple[str, str, Check], ...]] = (
    ("credentials", "Google Cloud credentials", cloud.credentials),
    ("apis", "APIs enabled", cloud.apis),
    ("sink", "Log sink", events.sink),
    ("sink-enabled", "Log sink is on", events.sink_enabled),
    ("sink-filter", "Log sink's filter", events.sink_filter),
    ("sink-destination", "Log sink's topic", events.sink_destination),
    ("sink-writer", "Log sink may publish", events.sink_writer),
    ("subscription", "Subscription", events.subscription),
    ("subscription-topic", "Subscription's topic", events.subscription_topic),
    ("subscription-expiry", "Subscription stays", events.subscription_expiry),
    ("dead-letter-policy", "Dead letters", events.dead_letter_policy),
    ("dead-letter-publisher", "Dead letters are published", events.dead_letter_publisher),
    ("dead-letter-subscriber", "Dead letters are taken", events.dead_letter_subscriber),
    ("compute-permissions", "Permissions on Compute Engine", cloud.compute_permissions),
    ("kubernetes", "Kubernetes API", cluster.kubernetes),
    ("crds", "Custom resources", cluster.crds),
    ("rbac", "Roles in the cluster", cluster.rbac),
    ("operator", "Operator runs", cluster.operator),
    ("events-flow", "Events flow", events.events_flow),
    ("probe", "An entry comes through", probe_of),
    ("control-plane", "Control plane, from here", cluster.control_plane),
    ("control-plane-from-vms", "Control plane, from the VMs", cluster.control_plane_from_vms),
    ("metadata-keys", "VMs' metadata", cloud.metadata_keys),
)


async def examine(settings: Settings, *, timeout: float, probe: str = "") -> tuple[Finding, ...]:
    """All findings, in the order of `CHECKS`. `timeout`: seconds for one call; a check has a little more.

    `probe`: a subscription of doctor's own, to which an entry of its own must come.
    """
    installation = Installation(settings, timeout, probe)
    try:
        verdicts = await asyncio.gather(
            *(_checked(check, installation, _deadline(name, timeout)) for name, _, check in CHECKS)
        )
    finally:
        await installation.close()
    return tuple(Finding(name, title, verdict) for (name, title, _), verdict in zip(CHECKS, verdicts, strict=True))


def _deadline(name: str, timeout: float) -> float:
    return timeout * 1.5 + (LIMIT if name == "probe" else 0)


async def _checked(check: Check, installation: Installation, deadline: float) -> Verdict:
    try:
        async with asyncio.timeout(deadline):
            return await check(installation)
    except UnreadError as unread:
        # What it stands on has a check of its own.
        return skipped(f"{unread.what} could not be read")
    except TimeoutError:
        return failed(f"no answer within {deadline:g} s", "see the checks of credentials, APIs and network")
    except Exception as error:  # noqa: BLE001 - whoever answers is not ours, and what the others found must be said
        # The type alone: a text may quote what was answered.
        return failed(
            f"what was answered cannot be understood ({type(error).__name__})",
            "see that each endpoint of the settings, and each proxy on the way, leads to the API that is meant",
        )
