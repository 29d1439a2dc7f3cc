"""Compute Engine's messages as the core sees them. Pure: protobuf in (as the client gives it), frozen views out.

The functions take the raw protobuf of a google-cloud-compute type (`Type.pb(message)`), whose access is several times
cheaper than the wrapper's, and import no SDK: its import takes seconds and is the business of `compute.py`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from controller.core.observed import (
    Instance,
    ManagedInstance,
    Metadata,
    MigView,
    OperationError,
    OperationView,
    ResourceRef,
    ResourceView,
    TemplateView,
)

#: `compute_v1.Operation.Status.DONE`: the one enum of these messages that is a number (facts: GCE 1).
OPERATION_DONE: Final = 2104194


def timestamp(text: str) -> datetime | None:
    """An RFC 3339 time of Compute Engine (any offset) in UTC, None for ""."""
    return datetime.fromisoformat(text).astimezone(UTC) if text else None


def _id(number: int) -> str:
    return str(number) if number else ""


def operation_errors(errors: Sequence[Any]) -> tuple[OperationError, ...]:
    """`error.errors[]` of an operation, of a bulk progress check or of a last attempt."""
    return tuple(OperationError(item.code, item.message) for item in errors)


def operation_view(operation: Any) -> OperationView:
    """A `compute#operation`. Its error is the first of `error.errors`, else the HTTP status that it ended with."""
    errors = operation_errors(operation.error.errors)
    if not errors and operation.http_error_status_code:
        errors = (OperationError(str(operation.http_error_status_code), operation.http_error_message),)
    return OperationView(
        name=operation.name,
        done=operation.status == OPERATION_DONE,
        operation_type=operation.operation_type,
        target_id=_id(operation.target_id),
        error=errors[0] if errors else None,
    )


def policy_view(ref: ResourceRef, policy: Any) -> ResourceView:
    """A resource policy with its status."""
    return ResourceView(ref, _id(policy.id), policy.description, status=policy.status)


def template_view(ref: ResourceRef, template: Any) -> ResourceView:
    """An instance template with what is checked of a brought one."""
    properties = template.properties
    scheduling = properties.scheduling
    view = TemplateView(
        machine_type=properties.machine_type,
        provisioning_model=scheduling.provisioning_model,
        on_host_maintenance=scheduling.on_host_maintenance,
        termination_action=scheduling.instance_termination_action,
        has_scheduling=properties.HasField("scheduling"),
    )
    return ResourceView(ref, _id(template.id), template.description, template=view)


def mig_view(ref: ResourceRef, mig: Any) -> ResourceView:
    """A managed instance group; `status.currentInstanceStatuses` holds its counts (facts: GCE 6.1)."""
    status = mig.status
    bulk = status.bulk_instance_operation
    bulk_errors = operation_errors(bulk.last_progress_check.error.errors)
    topologies = {item.accelerator_topology: item.state for item in status.applied_accelerator_topologies}
    counts = {field.json_name: int(value) for field, value in status.current_instance_statuses.ListFields() if value}
    view = MigView(
        target_size=mig.target_size,
        is_stable=status.is_stable,
        counts=MappingProxyType(counts),
        bulk_in_progress=bulk.in_progress,
        bulk_error=bulk_errors[0] if bulk_errors else None,
        topologies=MappingProxyType(topologies),
        is_bulk=mig.target_size_policy.mode == "BULK",
    )
    return ResourceView(ref, _id(mig.id), mig.description, mig=view)


def managed_instance(row: Any) -> ManagedInstance:
    """A row of listManagedInstances. The name is the last segment of its URL where the row bears none."""
    return ManagedInstance(
        name=row.name or row.instance.rpartition("/")[2],
        id=_id(row.id),
        status=row.instance_status,
        errors=operation_errors(row.last_attempt.errors.errors),
    )


def instance_view(project: str, zone: str, vm: Any) -> Instance:
    """One VM. Its metadata fingerprint is `metadata.fingerprint`, not the instance's own (facts: GCE 2)."""
    items = {item.key: item.value for item in vm.metadata.items}
    created = timestamp(vm.creation_timestamp)
    return Instance(
        project=project,
        zone=zone,
        name=vm.name,
        id=_id(vm.id),
        status=vm.status,
        created=created if created is not None else datetime.fromtimestamp(0, UTC),
        started=timestamp(vm.last_start_timestamp),
        metadata=Metadata(items, vm.metadata.fingerprint),
    )
