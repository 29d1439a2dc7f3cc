"""What no fact decides about Compute Engine: each unknown is a setting with a careful default."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["WorldSettings"]


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """Choices between behaviours that the facts leave open, or that both occur."""

    #: When `instances.insert` is DONE: before RUNNING for every second VM and after it for the others, or always one.
    #: No document ties the operation to a state (facts: audit logs 4).
    insert_last: Literal["alternate", "before", "after"] = "alternate"
    #: A stale metadata fingerprint is refused with 412, or accepted and failed inside the operation, or in turn one
    #: and the other; both were seen in the field (facts: GCE 2). Staleness that arises between acceptance and effect
    #: always fails the operation.
    stale_fingerprint: Literal["refuse", "fail-operation", "alternate"] = "refuse"
    #: The delete of a template or policy in use is refused, or accepted and failed (facts: GCE 3: both occur).
    in_use: Literal["refuse", "fail-operation", "alternate"] = "refuse"
    #: Whether the platform's attributes are in Instance.metadata, hence in the fingerprint: unknown (facts: GCE 6.4).
    platform_attributes: bool = True
    #: Whether a template for ct6e-standard-8t without threadsPerCore 1 is refused (facts: GCE 6.3).
    require_threads_per_core: bool = True
    #: gRPC code in the audit entry of a creation that found no capacity: in no published entry.
    stockout_grpc_code: int = 8
    #: zone-, region- and globalOperations.wait return at DONE or after this many seconds (facts: GCE 1: near 2 min).
    wait_seconds: float = 110.0
    #: Finished operations that are remembered; older ones answer 404 (retention: unknown).
    operations_kept: int = 20_000
