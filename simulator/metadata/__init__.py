"""The metadata server of the simulated VMs."""
