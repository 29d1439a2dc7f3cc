"""How long things take inside a VM. Ranges to draw from; `scale` multiplies what belongs to booting and joining.

No TPU figure was found in public; a real `kubeadm join` took 1.07 s and its Node was Ready 10 s later (facts: control
plane 3). The defaults are shorter, for a demo's sake, and long enough for every state to be seen.
"""

from dataclasses import dataclass, field

from simulator.timing import Span


@dataclass(frozen=True, slots=True)
class GuestSettings:
    """Durations in seconds. Retries and heartbeats keep their real intervals: they are not scaled."""

    scale: float = 1.0
    #: From RUNNING until the startup script runs.
    boot: Span = field(default=Span(0.1, 0.4))
    #: Until packages are there and it waits for the token.
    prepare: Span = field(default=Span(0.1, 0.3))
    #: `kubeadm join`, up to the Node's registration.
    join: Span = field(default=Span(0.3, 0.6))
    #: From registration until the kubelet is Ready.
    ready: Span = field(default=Span(0.2, 0.5))
    #: From Ready until the device plugin has registered its chips.
    device_plugin: Span = field(default=Span(0.2, 0.5))
    #: kubeadm's DiscoveryRetryInterval: between attempts with the same token.
    retry: Span = field(default=Span(5.0, 5.0))
    #: nodeLeaseDurationSeconds / 4, jittered by 4 % as client-go does.
    lease: Span = field(default=Span(9.8, 10.2))
    #: nodeStatusReportFrequency.
    status: Span = field(default=Span(285.0, 315.0))
    #: Of a kubelet whose VM's metadata does not say (`kubeadm-kubernetes-version`).
    kubelet_version: str = "v1.34.1"
