"""A real Kubernetes control plane on loopback, in place of the embedded API: etcd and what kubeadm would start."""
