"""Whether a managed instance group's VMs are changing, or about to, by its own word."""

from controller.core.observed import MigView

#: Counts of `currentInstanceStatuses` that stay as they are until somebody acts.
_AT_REST = frozenset({"running", "terminated", "stopped", "suspended"})

#: States of an applied topology that stay as they are until somebody acts.
_SETTLED = frozenset({"ACTIVE", "FAILED"})


def on_their_way(mig: MigView) -> bool:
    """True while a bulk request waits, a VM is in a passing state, or counts are missing and it is not stable."""
    if vanished(mig):
        return False
    if mig.bulk_in_progress or any(count for name, count in mig.counts.items() if name not in _AT_REST):
        return True
    if mig.running == mig.target_size and any(state not in _SETTLED for state in mig.topologies.values()):
        # The VMs run, and the slice's chips are being connected.
        return True
    # Counts may be absent although VMs are coming (facts: GCE 6.1).
    return not mig.counts and mig.target_size > 0 and not mig.is_stable


def vanished(mig: MigView) -> int:
    """How many VMs of a BULK group were deleted for good: it makes none of them anew (facts: GCE 6.2)."""
    changing = any(count for name, count in mig.counts.items() if name not in {*_AT_REST, "nonExistent"})
    given_up = mig.is_bulk and mig.is_stable and not mig.bulk_in_progress and not changing
    return mig.counts.get("nonExistent", 0) if given_up else 0
