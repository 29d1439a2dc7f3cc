"""What runs inside the simulated VMs: an operating system that joins as the startup script does, and a kubelet."""

from simulator.guests.host import Guests
from simulator.guests.settings import GuestSettings

__all__ = ["GuestSettings", "Guests"]
