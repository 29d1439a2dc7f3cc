"""Which audit method means what: the whole vocabulary of Compute Engine's audit log that the operator reacts to.

Keyed by (collection, method) without the version prefix. What is not here is ignored by name, never guessed.
Sources: googleapis/google-cloudevents json/audit/service_catalog.json for the calls; for the system events
GoogleCloudPlatform/iap-desktop (Auditing/Events/System), GoogleCloudPlatform/ml-auto-solutions (tpu_observability)
and NVIDIA/NVSentinel (gcp_normalizer.go).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from sinks.intake.events import EventKind, Resource

#: `v1.compute.instances.insert`, `beta.…`, `alpha.…` and, for system events and a few calls, without a prefix.
METHOD: Final = re.compile(r"(?:(?:v\d+|alpha|beta)\.)?(?P<bare>compute\.(?P<collection>[A-Za-z]+)\.(?P<method>.+))")

#: Names that are forged must not fill the memory.
_CACHED: Final = 1024

#: Collection in methodName -> what it holds, and the name of that collection in resourceName.
COLLECTIONS: Final[Mapping[str, tuple[Resource, str]]] = MappingProxyType(
    {
        "instances": (Resource.INSTANCE, "instances"),
        "regionInstances": (Resource.INSTANCE, "instances"),
        "instanceGroupManagers": (Resource.GROUP, "instanceGroupManagers"),
        "regionInstanceGroupManagers": (Resource.GROUP, "instanceGroupManagers"),
        "instanceGroupManagerResizeRequests": (Resource.GROUP, "instanceGroupManagers"),
        "regionInstanceGroupManagerResizeRequests": (Resource.GROUP, "instanceGroupManagers"),
        "instanceTemplates": (Resource.TEMPLATE, "instanceTemplates"),
        "regionInstanceTemplates": (Resource.TEMPLATE, "instanceTemplates"),
        "resourcePolicies": (Resource.POLICY, "resourcePolicies"),
    }
)

_INSTANCE: Final = {
    EventKind.INSERTED: ("insert", "bulkInsert"),
    # deferredDelete and deferredStop: maxRunDuration is over.
    EventKind.DELETED: ("delete", "deferredDelete"),
    EventKind.STARTED: ("start", "startWithEncryptionKey", "resume"),
    EventKind.STOPPED: (
        "stop",
        "suspend",
        "deferredStop",
        "instanceManagerHaltForRestart",
        "stoppedDueToPdDoubleServe",
        "kmsKeyError",
        "shredmillKeyError",
        "invalidVmImage",
        "scratchDiskCreationFailed",
        "localSsdInitializationError",
        "localSsdInitializationKeyError",
        "localSsdVerifyTarError",
        "localSsdRecoveryAttempting",
        "localSsdRecoveryTimeoutError",
        "localSsdRecoveryFailedError",
    ),
    EventKind.RESET: ("reset",),
    EventKind.PREEMPTED: ("preempted", "baremetalCaretakerPreempted"),
    # The names of the calls that ask for a host error or a maintenance are inferred, not seen in an entry.
    EventKind.HOST_ERROR: ("hostError", "reportHostAsFaulty"),
    EventKind.HOST_MAINTENANCE: (
        "terminateOnHostMaintenance",
        "migrateOnHostMaintenance",
        "simulateMaintenanceEvent",
        "performMaintenance",
    ),
    EventKind.RESTARTED: ("automaticRestart",),
    EventKind.REPAIR: ("repair.recreateInstance",),
    EventKind.MAINTENANCE_UPCOMING: ("upcomingMaintenance", "upcomingInfraMaintenance"),
    EventKind.GUEST_TERMINATED: ("guestTerminate",),
    EventKind.METADATA: ("setMetadata",),
}

_GROUP: Final = {
    EventKind.INSERTED: ("insert",),
    EventKind.DELETED: ("delete",),
    EventKind.CHANGED: (
        "patch",
        "update",
        "resize",
        "resizeAdvanced",
        "createInstances",
        "deleteInstances",
        "recreateInstances",
        "applyUpdatesToInstances",
        "abandonInstances",
        "startInstances",
        "stopInstances",
        "resumeInstances",
        "suspendInstances",
        "setInstanceTemplate",
        "setTargetPools",
        "setAutoHealingPolicies",
        "updatePerInstanceConfigs",
        "patchPerInstanceConfigs",
        "deletePerInstanceConfigs",
    ),
}

#: A resize request is a change of its group, whatever is done to the request.
_RESIZE_REQUEST: Final = {EventKind.CHANGED: ("insert", "delete", "cancel")}
_TEMPLATE: Final = {EventKind.INSERTED: ("insert",), EventKind.DELETED: ("delete",)}
_POLICY: Final = {**_TEMPLATE, EventKind.CHANGED: ("patch",)}

_TABLES: Final[Mapping[str, Mapping[EventKind, tuple[str, ...]]]] = {
    "instances": _INSTANCE,
    "regionInstances": {EventKind.INSERTED: ("bulkInsert",)},
    "instanceGroupManagers": _GROUP,
    "regionInstanceGroupManagers": _GROUP,
    "instanceGroupManagerResizeRequests": _RESIZE_REQUEST,
    "regionInstanceGroupManagerResizeRequests": _RESIZE_REQUEST,
    "instanceTemplates": _TEMPLATE,
    "regionInstanceTemplates": _TEMPLATE,
    "resourcePolicies": _POLICY,
}

#: (collection, method) -> what happened.
KINDS: Final[Mapping[tuple[str, str], EventKind]] = MappingProxyType(
    {
        (collection, method): kind
        for collection, kinds in _TABLES.items()
        for kind, methods in kinds.items()
        for method in methods
    }
)


@dataclass(frozen=True, slots=True)
class Method:
    """What a methodName of Compute Engine means."""

    #: Without the version: `compute.instances.insert`.
    bare: str
    resource: Resource
    #: The collection that stands before the resource's name in resourceName; "" where the method is not known.
    holder: str
    #: None where nothing is to be done about it.
    kind: EventKind | None
    #: Whether one call of it makes many resources.
    bulk: bool


@lru_cache(_CACHED)
def method_of(name: str) -> Method | None:
    """The method of that name; None where the name has not the form of Compute Engine's."""
    found = METHOD.fullmatch(name)
    if found is None:
        return None
    resource, holder = COLLECTIONS.get(found["collection"], (Resource.INSTANCE, ""))
    kind = KINDS.get((found["collection"], found["method"]))
    return Method(found["bare"], resource, holder, kind, bulk=found["method"] == "bulkInsert")
