"""Every condition type and every reason that a user can see, each with what it means.

The names that users of the reference know stay as they are (facts: reference API).
"""

from enum import StrEnum
from typing import Final


class ConditionType(StrEnum):
    """Types of condition. On a TPUNodeGroup all of them; on a child only READY."""

    #: Summary: the group (or the child's GCE resource) does what the spec asks for.
    READY = "Ready"
    #: The WorkloadPolicy child is Ready (BULK groups only).
    WORKLOAD_POLICY_READY = "WorkloadPolicyReady"
    #: The InstanceTemplate child is Ready, or the brought template was checked.
    INSTANCE_TEMPLATE_READY = "InstanceTemplateReady"
    #: The ManagedInstanceGroup child is Ready.
    MANAGED_INSTANCE_GROUP_READY = "ManagedInstanceGroupReady"
    #: Every VM of the current incarnation is a Node of the cluster.
    NODES_JOINED = "NodesJoined"
    #: Entries of the audit log reach the operator. Never affects Ready.
    EVENTS_FLOWING = "EventsFlowing"


class Reason(StrEnum):
    """Reasons of all conditions, and of entries in `status.nodes`."""

    # Coming up.
    #: A child or a VM is being created.
    PROVISIONING = "Provisioning"
    #: The VM runs and has no live join token yet.
    AWAITING_TOKEN = "AwaitingToken"
    #: VMs run; not all of them have joined the cluster.
    AWAITING_NODE_JOIN = "AwaitingNodeJoin"
    #: Every VM has joined; a Node is not Ready, or its TPU chips are not allocatable yet.
    NODE_NOT_READY = "NodeNotReady"
    #: The BULK slice's topology is not applied by Compute Engine yet.
    TOPOLOGY_NOT_APPLIED = "TopologyNotApplied"
    #: All is as the spec asks.
    READY = "Ready"
    #: All hosts have joined.
    JOINED = "Joined"
    #: The GCE resource exists (a child's Ready condition).
    CREATED = "Created"
    #: The managed instance group exists and is still changing.
    UNSTABLE = "Unstable"
    #: An instance template was brought: there is no child to create.
    BROUGHT = "Brought"
    #: INDIVIDUAL groups have no workload policy.
    NOT_NEEDED = "NotNeeded"

    # Going down, in this order.
    #: The managed instance group is being deleted.
    DELETING_MIG = "DeletingMIG"
    #: The instance template is being deleted.
    DELETING_TEMPLATE = "DeletingTemplate"
    #: The workload policy is being deleted.
    DELETING_POLICY = "DeletingPolicy"
    #: Node objects and tokens of VMs that are gone are being deleted.
    DELETING_NODES = "DeletingNodes"

    # Not as asked.
    #: Something failed that is retried; the message says what.
    RECONCILE_ERROR = "ReconcileError"
    #: Compute Engine or the operator refuses the spec; the message says what to change.
    REQUEST_REJECTED = "RequestRejected"
    #: A GCE resource of this name exists and is not ours; it is left alone.
    NOT_OURS = "NotOurs"
    #: An accepted operation ended with an error.
    OPERATION_FAILED = "OperationFailed"
    #: The managed instance group could not create its VMs.
    INSTANCES_CREATION_FAILED = "InstancesCreationFailed"
    #: The zone has no such capacity now; Compute Engine keeps trying.
    STOCKOUT = "Stockout"
    #: A quota of the project is used up; it must be raised or freed.
    QUOTA_EXCEEDED = "QuotaExceeded"

    # Why a VM was lost.
    #: Compute Engine took back a Spot VM.
    PREEMPTED = "Preempted"
    #: The host was taken for maintenance.
    HOST_MAINTENANCE = "HostMaintenance"
    #: The host failed.
    HOST_ERROR = "HostError"
    #: The guest shut itself down.
    GUEST_TERMINATED = "GuestTerminated"
    #: The VM is gone or stopped, and no event told why.
    INSTANCE_LOST = "InstanceLost"
    #: The VM's startup script reported that it cannot join.
    BOOTSTRAP_FAILED = "BootstrapFailed"
    #: A Node of an earlier VM of the same name is still there.
    STALE_NODE = "StaleNode"
    #: Two Nodes claim to be the same VM.
    TWO_CLAIMANTS = "TwoClaimants"

    # Of EventsFlowing.
    #: The last canary or own entry arrived in time.
    FLOWING = "Flowing"
    #: Nothing has been expected yet since the start.
    AWAITING_FIRST_EVENT = "AwaitingFirstEvent"
    #: Entries arrive, later than they may: there is a backlog, or looks keep failing.
    BEHIND = "Behind"
    #: No entry comes at all: the sink, its filter or its permission to publish is wrong.
    NO_EVENTS = "NoEvents"
    #: Audit entries come, the operator's own canary does not: the sink's filter.
    CANARY_MISSING = "CanaryMissing"
    #: The operator may not, or cannot, write its canary.
    CANARY_NOT_WRITTEN = "CanaryNotWritten"
    #: The canary comes, the audit entries of what was done or happened do not: the filter, or a sink that intercepts.
    ACTIVITY_MISSING = "ActivityMissing"
    #: The subscription cannot be pulled.
    STREAM_DOWN = "StreamDown"


#: Reasons for not being Ready that are steps of a normal life, and no trouble.
NORMAL: Final = frozenset(
    {
        Reason.PROVISIONING,
        Reason.AWAITING_NODE_JOIN,
        Reason.NODE_NOT_READY,
        Reason.TOPOLOGY_NOT_APPLIED,
        Reason.UNSTABLE,
        Reason.DELETING_MIG,
        Reason.DELETING_TEMPLATE,
        Reason.DELETING_POLICY,
        Reason.DELETING_NODES,
    }
)
