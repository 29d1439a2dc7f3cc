"""One action of every kind, with the call that it is and the resource that its record names."""

from typing import Any, Final, get_args

from controller.core.actions import (
    Action,
    Cordon,
    CreateChild,
    DeleteChild,
    DeleteResource,
    DeleteStaleNode,
    InjectToken,
    InsertResource,
    LabelNode,
    MintToken,
    RevokeToken,
    ScrubMetadata,
    SetFinalizers,
    TaintNode,
    Uncordon,
)
from controller.core.children import child_key
from controller.core.model import Kind
from controller.core.node_labels import TPU_TAINT
from tests.core.builders import BASE, GROUP, GROUP_KEY, MARK, make_instance, make_ref, vm

VM: Final = make_instance()
REF: Final = make_ref(Kind.MIG)
CHILD_KEY: Final = child_key(GROUP, Kind.MIG)
MANIFEST: Final[dict[str, Any]] = {
    "apiVersion": "tpu.google.com/v1alpha1",
    "kind": "ManagedInstanceGroup",
    "metadata": {"name": CHILD_KEY.name, "namespace": "default"},
    "spec": {"project": "p", "location": "z"},
}
VM_PATH: Final = f"projects/my-gcp-project/zones/us-central1-c/instances/{vm()}@1001"
MIG_PATH: Final = f"projects/my-gcp-project/zones/us-central1-c/instanceGroupManagers/{BASE}"
CHILD_PATH: Final = f"namespaces/default/managedinstancegroups/{BASE}"

#: Action -> the port's method that does it, and the resource of its record.
EVERY_ACTION: Final[dict[type[Action], tuple[Action, str, str]]] = {
    SetFinalizers: (
        SetFinalizers(GROUP_KEY, "7", ("f",)),
        "set_finalizers",
        "namespaces/default/tpunodegroups/slice",
    ),
    CreateChild: (CreateChild(CHILD_KEY, MANIFEST), "create_custom_resource", CHILD_PATH),
    DeleteChild: (DeleteChild(CHILD_KEY, "u1"), "delete_custom_resource", CHILD_PATH),
    InsertResource: (InsertResource(REF, {"name": BASE}, "r1"), "insert", MIG_PATH),
    DeleteResource: (DeleteResource(REF, "r2"), "delete", MIG_PATH),
    MintToken: (MintToken(VM), "create_token_secret", VM_PATH),
    InjectToken: (InjectToken(VM, "10.0.0.1", "10.0.0.1:6443"), "set_metadata", VM_PATH),
    RevokeToken: (
        RevokeToken("tok001", vm(), "why"),
        "delete_token_secret",
        "namespaces/kube-system/secrets/bootstrap-token-tok001",
    ),
    ScrubMetadata: (ScrubMetadata(VM), "set_metadata", VM_PATH),
    LabelNode: (LabelNode(vm(), "n1", {"a": "b"}), "label_node", f"nodes/{vm()}"),
    TaintNode: (TaintNode(vm(), "n1", "70", (TPU_TAINT,)), "taint_node", f"nodes/{vm()}"),
    DeleteStaleNode: (DeleteStaleNode(vm(), "n1", "70", "why"), "delete_node", f"nodes/{vm()}"),
    Cordon: (Cordon(vm(), "n1", MARK), "cordon_node", f"nodes/{vm()}"),
    Uncordon: (Uncordon(vm(), "n1"), "cordon_node", f"nodes/{vm()}"),
}
KINDS: Final[tuple[type[Action], ...]] = get_args(Action)
