"""The names that users, other tools and the reference know: groups, kinds, labels, annotations, keys."""

from typing import Final

GROUP: Final = "tpu.google.com"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

#: Our one finalizer, on all four kinds.
FINALIZER: Final = "tpu.google.com/teardown"
#: Finalizers of the reference that a take-over swaps for ours (facts: reference API).
REFERENCE_FINALIZERS: Final = frozenset(
    {
        "tpu.google.com/cleanup-mig",
        "tpu.google.com/cleanup-template",
        "tpu.google.com/cleanup-policy",
        "tpu.google.com/cleanup-nodes",
        "tpu.google.com/cleanup-device-plugin",
        "tpu.google.com/managedinstancegroup-cleanup",
        "tpu.google.com/instancetemplate-cleanup",
        "tpu.google.com/workloadpolicy-cleanup",
    }
)

#: The extended resource that the device plugin advertises, and the taint's key.
TPU_RESOURCE: Final = "google.com/tpu"
TPU_TAINT_VALUE: Final = "present"

# Node labels.
LABEL_ACCELERATOR: Final = "cloud.google.com/gke-tpu-accelerator"
LABEL_TOPOLOGY: Final = "cloud.google.com/gke-tpu-topology"
LABEL_CHIP_COUNT: Final = "cloud.google.com/gke-accelerator-count"
LABEL_NODE_GROUP: Final = "cloud.google.com/tpu-node-group"
LABEL_NODE_GROUP_NAMESPACE: Final = "cloud.google.com/tpu-node-group-namespace"
LABEL_NODE_GROUP_NAME: Final = "cloud.google.com/tpu-node-group-name"
#: Set by the kubelet at registration: tells the incarnations of one name apart.
LABEL_INSTANCE_ID: Final = "tpu.google.com/instance-id"

# Labels and annotations of the bootstrap Secrets that we own.
LABEL_TOKEN_GROUP_NAMESPACE: Final = "tpu.google.com/node-group-namespace"
LABEL_TOKEN_GROUP_NAME: Final = "tpu.google.com/node-group-name"
LABEL_TOKEN_INSTANCE_ID: Final = "tpu.google.com/instance-id"
ANNOTATION_TOKEN_INSTANCE: Final = "tpu.google.com/instance"
ANNOTATION_TOKEN_EXPIRES: Final = "tpu.google.com/expires-at"
#: Marks a cordon as ours; only such a cordon is ever lifted by us. Value: the namespaced name of the group.
ANNOTATION_CORDON: Final = "tpu.google.com/cordoned-by"

# Instance metadata keys (the first three are compatible with the reference).
KEY_JOIN_TOKEN: Final = "kubeadm-join-token"
KEY_CONTROL_PLANE_IP: Final = "kubeadm-control-plane-ip"
KEY_CA_HASH: Final = "kubeadm-ca-hash"
KEY_CONTROL_PLANE_ENDPOINT: Final = "kubeadm-control-plane-endpoint"
KEY_KUBERNETES_VERSION: Final = "kubeadm-kubernetes-version"
KEY_TAINTS: Final = "kubeadm-taints"
KEY_KUBE_LABELS: Final = "kube-labels"
KEY_STARTUP_SCRIPT: Final = "startup-script"
KEY_CREATED_BY: Final = "created-by"
#: Written by the platform; never overwritten, never allowed in a spec (facts: GCE 6.4).
PLATFORM_KEYS: Final = frozenset(
    {"tpu-env", "worker-network-endpoints", "worker-id", "accelerator-type", "accelerator_topology_id"}
)

# Logs (the part after `projects/<project>/logs/`).
LOG_BOOTSTRAP: Final = "tpu-node-bootstrap"
LOG_CANARY: Final = "tpu-node-group-canary"
LOG_ACTIONS: Final = "tpu-node-group-actions"

#: The namespace that the operator runs in.
CONTROLLER_NAMESPACE: Final = "tpu-node-group"

#: Keys of `spec.instanceConfig.metadata` that are written by us or by the platform; `kubeadm-` is a prefix.
RESERVED_KEY_PREFIX: Final = "kubeadm-"
RESERVED_KEYS: Final = PLATFORM_KEYS | {KEY_KUBE_LABELS, KEY_CREATED_BY}
