"""An embedded Kubernetes API: what kopf, kubectl and kubernetes.aio need of a kube-apiserver, and no more."""
