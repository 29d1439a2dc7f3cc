"""The whole path, walked by an entry of doctor's own: written to Cloud Logging, awaited at a subscription of its own.

The entry is the one thing that doctor writes. It never pulls the operator's subscription: a message goes to one taker
only (facts: GCE 6.5).
"""

import json
import secrets
from typing import Final

from controller.doctor.events import unanswered
from controller.doctor.findings import Verdict, failed, ok, skipped
from controller.doctor.installation import Installation
from controller.doctor.unread import UnreadError
from sinks.audit.canary import canary_entry
from sinks.logs import LOG_CANARY

#: How long the entry may be on its way, in seconds.
LIMIT: Final = 60.0


async def probe(installation: Installation) -> Verdict:
    """An entry comes through the sink to the probe's subscription."""
    name = installation.probe
    if not name:
        return skipped(
            "no subscription of doctor's own is named",
            "set probe = true in the module event-pipeline, then run doctor with --probe and its output "
            "probe_subscription, as projects/PROJECT/subscriptions/NAME",
        )
    settings, clock = installation.settings, installation.clock
    marker, began = f"doctor-{secrets.token_hex(4)}", clock.monotonic()
    try:
        await installation.google.write(canary_entry(settings.project, settings.cluster_name, marker, clock.now()))
        while clock.monotonic() - began < LIMIT:
            if any(_is(marker, data) for data in await installation.google.pull(name)):
                return ok(f"an entry came to {name} after {clock.monotonic() - began:.1f} s")
    except UnreadError as unread:
        return unanswered(unread)
    return failed(
        f"a {LOG_CANARY} entry did not come to {name} within {LIMIT:g} s",
        "mend what the checks of the log sink name; a sink that is new needs some minutes",
    )


def _is(marker: str, data: bytes) -> bool:
    try:
        entry = json.loads(data)
    except ValueError:
        return False
    return bool(isinstance(entry, dict) and (entry.get("jsonPayload") or {}).get("instance") == marker)
