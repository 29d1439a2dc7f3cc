"""What kube-controller-manager does in a real cluster, as far as the operator leans on it."""

from simulator.kube.controllers.authority import Authority
from simulator.kube.controllers.manager import Controllers, ControllerSettings, start_controllers

__all__ = ["Authority", "ControllerSettings", "Controllers", "start_controllers"]
