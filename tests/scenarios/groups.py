"""The published sample manifests, and the template that one of them brings."""

from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

SAMPLES: Final = Path(__file__).parents[1] / "data" / "cr"
#: File -> the objects in it, as kind, namespace and name.
OBJECTS: Final = {
    "01-reservation-bulk-2x2x2.yaml": (("TPUNodeGroup", "default", "my-tpu-node-group"),),
    "02-spot-single-host-v6e.yaml": (("TPUNodeGroup", "research", "trillium-spot"),),
    "03-bring-your-own-template.yaml": (("TPUNodeGroup", "default", "own-template"),),
    "04-independent-single-hosts.yaml": (("TPUNodeGroup", "default", "four-hosts"),),
    "05-children.yaml": (
        ("WorkloadPolicy", "default", "standalone-policy"),
        ("InstanceTemplate", "default", "standalone-template"),
        ("ManagedInstanceGroup", "default", "standalone-mig"),
    ),
}
#: How many VMs each file makes.
HOSTS: Final = dict(zip(OBJECTS, (2, 1, 16, 4, 2), strict=True))
#: The template that sample 03 names; its VMs join by themselves.
GOLDEN: Final[Json] = {
    "name": "tpu7x-golden",
    "joins": True,
    "properties": {
        "machineType": "tpu7x-standard-4t",
        "disks": [{"boot": True, "initializeParams": {"sourceImage": "projects/p/global/images/family/golden"}}],
        "networkInterfaces": [{"network": "global/networks/default"}],
        "scheduling": {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"},
    },
}


def sample(file: str) -> Json:
    """The one object of a sample's file."""
    return dict(yaml.safe_load((SAMPLES / file).read_text("utf-8")))
