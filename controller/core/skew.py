"""Which minor versions a node may have beside its control plane: Kubernetes' version skew policy (facts: TPU 4)."""

import re

#: How many minor versions a kubelet may be behind its API server.
OLDEST_BEHIND = 3
_VERSION = re.compile(r"v?1\.([0-9]+)")


def skew_rejection(version: str, control_plane: str) -> str | None:
    """Why kubelets of `version` (`1.31`) cannot join, and what can; None if they can.

    `control_plane`: what its /version says (`v1.36.3`). Where that is not known ("", or a form of its own) nothing is
    refused: kubeadm checks the skew once more, in the VM.
    """
    node, newest = _minor(version), _minor(control_plane)
    if node is None or newest is None or newest - OLDEST_BEHIND <= node <= newest:
        return None
    return (
        f"bootstrapKubernetes.version {version}: the control plane runs Kubernetes {control_plane} and takes nodes of "
        f"1.{max(0, newest - OLDEST_BEHIND)} to 1.{newest}; the field cannot be changed, so delete the group and apply "
        f"it again with one of these (1.{newest} if nothing speaks against it)"
    )


def _minor(version: str) -> int | None:
    found = _VERSION.match(version)
    return int(found[1]) if found else None
