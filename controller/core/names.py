"""Deterministic names and ownership marks: what a crash cannot forget, a restart finds again."""

import hashlib
import re

from controller.core.model import Key, Kind

_CHILD_INFIX = {Kind.POLICY: "policy", Kind.TEMPLATE: "template", Kind.MIG: "mig"}
#: What a MIG appends to its base instance name (facts: GCE 6.1, sample 01).
_MIG_SUFFIX = re.compile(r"^(?P<base>.+)-(?P<suffix>[a-z0-9]{4})$")

_MAX_BASE_NAME = 58


def owner_hash(uid: str) -> str:
    """The first 8 hex digits of sha256(UID), as the reference has it (facts: reference API, names)."""
    return hashlib.sha256(uid.encode()).hexdigest()[:8]


def child_name(kind: Kind, group: str, uid: str) -> str:
    """`<group>-policy-<h>`, `<group>-template-<h>` or `<group>-mig-<h>`; also the GCE resource's name."""
    return f"{group}-{_CHILD_INFIX[kind]}-{owner_hash(uid)}"


def ownership_mark(key: Key, uid: str) -> str:
    """The description that we give a GCE resource: proof that it is ours when a name exists already."""
    return f"tpu-node-group-controller {key.kind} {key.namespace}/{key.name} uid={uid}"


def bears_mark(description: str, key: Key, uid: str) -> bool:
    """Whether a description is the mark of this very object."""
    return description == ownership_mark(key, uid)


def base_instance_name(mig: str) -> str:
    """What the VMs of a MIG are called before their suffix: its name, shortened to GCE's 58 (facts: GCE 6.1)."""
    if len(mig) <= _MAX_BASE_NAME:
        return mig
    return f"{mig[: _MAX_BASE_NAME - 9]}-{hashlib.sha256(mig.encode()).hexdigest()[:8]}"


def region_of(zone: str) -> str:
    """`us-central1` of `us-central1-c`."""
    return zone.rpartition("-")[0]


def base_name_of(instance: str) -> str | None:
    """The MIG's base instance name in a VM's name, None when it has not the form of a MIG-made name."""
    match = _MIG_SUFFIX.match(instance)
    return match["base"] if match else None


def provider_id(project: str, zone: str, instance: str) -> str:
    """What the kubelet of a VM registers with, as Google's cloud provider writes it."""
    return f"gce://{project}/{zone}/{instance}"


def last_segment(url: str) -> str:
    """`n` of `projects/p/zones/z/things/n`, of a full URL, and of `n`."""
    return url.rstrip("/").rpartition("/")[2]
