"""A Terraform plan, read as the event path that it would make: what is missing in the plan is missing in the world."""

from simulator.plan.installation import Installation, PlannedSink, installation
from simulator.plan.resources import PlanError, read_plan

__all__ = ["Installation", "PlanError", "PlannedSink", "installation", "read_plan"]
