"""VMs that are real machines for Kubernetes' purposes: the startup script, kubeadm and a kubelet run in namespaces.

Linux and root only. `Image` says what is installed in them, `RealMachines` powers them on and off.
"""

from simulator.machines.machine import Image, MachineError, why_not
from simulator.machines.power import RealMachines

__all__ = ["Image", "MachineError", "RealMachines", "why_not"]
