"""What a simulated world can be told before it begins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from simulator.compute.quota import RateLimits
from simulator.plan import Installation
from simulator.world import WorldSettings

__all__ = ["FACES", "Face", "SimulatorOptions"]

Face: TypeAlias = Literal["compute", "kubernetes", "pubsub", "logging", "metadata", "control"]
FACES: tuple[Face, ...] = ("compute", "kubernetes", "pubsub", "logging", "metadata", "control")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorOptions:
    """All of them have a default; `docs/simulator.md` says what they do."""

    #: Of everything that is drawn: durations, latencies, ids, names.
    seed: int = 1
    #: Multiplies the latency of log entries; 0 is a log that does not wait.
    log_latency: float = 1.0
    #: Multiplies every duration of the world; 0 is a world that does not wait.
    timings: float = 1.0
    #: Whose Kubernetes: the embedded API, a real control plane of its own, or that of an administrator's kubeconfig.
    control_plane: Literal["embedded", "real"] | Path = "embedded"
    #: Whether VMs are real machines (root, Linux) with the real script, kubeadm and kubelet. Not on the embedded API.
    real_join: bool = False
    #: What the embedded API says that it is.
    kubernetes_version: str = "1.34"
    pubsub: Literal["embedded", "emulator"] = "embedded"
    project: str = "my-gcp-project"
    #: What a Terraform plan would make, in place of everything that there should be; `project` is the plan's then.
    installation: Installation | None = None
    #: Whether the operator's CRDs are installed from the start.
    crds: bool = True
    #: The operator's permissions on Compute Engine; None: those of its custom role.
    permissions: tuple[str, ...] | None = None
    #: Rate quotas of the Compute API, None for none.
    quota: RateLimits | None = None
    #: (zone, machine type) -> how many more VMs can start; what is not named is without limit.
    capacity: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: What no fact decides about Compute Engine.
    world: WorldSettings = field(default_factory=WorldSettings)
    #: Where the kubeconfigs are written; None is a temporary folder that goes with the process.
    directory: Path | None = None
    #: Ports of the faces on 127.0.0.1; 0, and what is not named, is any free one.
    ports: Mapping[Face, int] = field(default_factory=dict)
