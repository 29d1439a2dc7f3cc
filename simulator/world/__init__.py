"""The one world of the simulator: Compute Engine's resources, their life, and its records."""

from simulator.world.audit import Caller
from simulator.world.errors import ApiError, UnknownInstanceError
from simulator.world.instance import Instance
from simulator.world.metadata import MetadataView
from simulator.world.settings import WorldSettings
from simulator.world.world import World

__all__ = ["ApiError", "Caller", "Instance", "MetadataView", "UnknownInstanceError", "World", "WorldSettings"]
