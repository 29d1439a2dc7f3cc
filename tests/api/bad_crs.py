"""Manifests that are refused at admission, each with the whole text of the refusal.

`refusals` are what a Kubernetes 1.34 API server answers, word for word (k8s.io/apiextensions-apiserver v0.34), so the
table serves the schema's own tests, those of the embedded Kubernetes API, and those of a real control plane. Other
versions print the refused value in another way: what they all have is in `causes`.
"""

import re
from dataclasses import dataclass
from typing import Any

from tests.api.manifests import changed, make_brought_group, make_group, make_mig, make_policy, make_template

Json = dict[str, Any]


@dataclass(frozen=True)
class BadCr:
    """One refused write. `stored` is what it would replace, None for a creation."""

    about: str
    manifest: Json
    refusals: tuple[str, ...]
    stored: Json | None = None

    @property
    def causes(self) -> tuple[tuple[str, str], ...]:
        """(path, explanation) of each refusal, without the value that some API servers print between them."""
        return tuple((path, _explanation(said)) for path, _, said in (text.partition(": ") for text in self.refusals))


def causes_in(details: Json) -> list[tuple[str, str]]:
    """The same of the `details` of an API server's answer."""
    return [(item["field"], _explanation(item["message"])) for item in details["causes"]]


def _explanation(said: str) -> str:
    return re.sub(r'^Invalid value: (?:("[^"]*"|null|[-0-9.]+): )?', "", said)


def _refused(about: str, manifest: Json, *refusals: str, stored: Json | None = None) -> BadCr:
    return BadCr(about, manifest, refusals, stored)


_NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_INDIVIDUAL_TOPOLOGY = (
    'spec.topology: Invalid value: "object": in mode INDIVIDUAL every host is a slice of its own: set topology to that '
    "of one host (1x1, 2x2, 2x4; 1x1x1, 2x2x1), or targetSizePolicyMode to BULK for one slice of all hosts"
)
_V7_TOPOLOGY = (
    'spec.topology: Invalid value: "object": machineType and topology do not fit: tpu7x-standard-1t takes 1x1x1; '
    "tpu7x-standard-4t takes 2x2x1, 2x2x2, 2x2x4, 2x4x4, or AxBxC of ascending multiples of 4 up to 256 with at most "
    "9216 chips, as 4x4x8"
)
_V6E_TOPOLOGY = (
    'spec.topology: Invalid value: "object": machineType and topology do not fit: ct6e-standard-1t takes 1x1; '
    "ct6e-standard-4t takes 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16; ct6e-standard-8t takes 2x4"
)
_RESERVED_KEYS = (
    'spec.instanceConfig.metadata: Invalid value: "object": instanceConfig.metadata may not have keys that the '
    "operator or the platform writes: remove kubeadm-*, accelerator-type, accelerator_topology_id, created-by, "
    "kube-labels, tpu-env, worker-id, worker-network-endpoints"
)
_SOURCE = (
    'spec: Invalid value: "object": exactly one of instanceConfig and instanceTemplateURI must be set: '
    "the one to have a template made, the other to bring your own"
)


def _fixed(path: str) -> str:
    field = path.rpartition(".")[2]
    return f'{path}: Invalid value: "object": {field} cannot be changed: delete the object and create it anew'


def _node_count(chips: str, per_host: int, topology: str, machine: str) -> str:
    return (
        f'spec.nodeCount: Invalid value: "object": nodeCount must be {chips}/{per_host}: '
        f"the chips of topology {topology} divided by those of one {machine}"
    )


_FORM = (
    _refused(
        "a project ID with capitals",
        make_group(project="My-Project"),
        'spec.project: Invalid value: "string": project must be a project ID: 6 to 30 lower-case letters, digits or '
        "'-', as my-gcp-project",
    ),
    _refused(
        "no project",
        make_group(project=None),
        "spec.project: Required value",
        _NOT_CHECKED,
    ),
    _refused(
        "a region where a zone is needed",
        make_group(nodeLocation="us-central1"),
        'spec.nodeLocation: Invalid value: "string": nodeLocation must be a Google Cloud zone, as us-central1-c',
    ),
    _refused(
        "a number of hosts in words",
        make_group(nodeCount="two"),
        'spec.nodeCount: Invalid value: "string": spec.nodeCount in body must be of type integer: "string"',
        _NOT_CHECKED,
    ),
    _refused(
        "no hosts",
        make_group(nodeCount=0, targetSizePolicyMode="INDIVIDUAL", topology="2x2x1"),
        "spec.nodeCount: Invalid value: 0: spec.nodeCount in body should be greater than or equal to 1",
    ),
    _refused(
        "fewer than no hosts at least",
        make_group(minNodeCount=-1),
        "spec.minNodeCount: Invalid value: -1: spec.minNodeCount in body should be greater than or equal to 0",
    ),
    _refused(
        "an unknown mode",
        make_group(targetSizePolicyMode="SOME"),
        'spec.targetSizePolicyMode: Unsupported value: "SOME": supported values: "BULK", "INDIVIDUAL"',
        _NOT_CHECKED,
    ),
    _refused(
        "flex-start, which needs a run duration that the API has no field for",
        make_group(instanceConfig__provisioningModel="FLEX_START"),
        'spec.instanceConfig.provisioningModel: Unsupported value: "FLEX_START": '
        'supported values: "SPOT", "RESERVATION_BOUND", "STANDARD"',
        _NOT_CHECKED,
    ),
    _refused(
        "a machine type without TPUs",
        make_group(instanceConfig__machineType="n2-standard-4"),
        'spec.instanceConfig.machineType: Invalid value: "string": machineType must be a TPU machine type of v6e or '
        "v7, as ct6e-standard-4t or tpu7x-standard-4t",
    ),
    _refused(
        "two service accounts",
        make_group(instanceConfig__serviceAccounts=[{"email": "a", "scopes": []}, {"email": "b", "scopes": []}]),
        "spec.instanceConfig.serviceAccounts: Too many: 2: must have at most 1 item",
        _NOT_CHECKED,
    ),
    _refused(
        "a version with a patch level",
        make_group(bootstrapKubernetes__version="1.31.4"),
        'spec.bootstrapKubernetes.version: Invalid value: "string": version must be a minor version of Kubernetes in '
        'quotes, as "1.31"',
    ),
    _refused(
        "a version without quotes, which YAML reads as a number",
        make_group(bootstrapKubernetes__version=1.31),
        'spec.bootstrapKubernetes.version: Invalid value: "number": spec.bootstrapKubernetes.version in body must be '
        'of type string: "number"',
        _NOT_CHECKED,
    ),
    _refused(
        "an address of the control plane with a scheme",
        make_group(bootstrapKubernetes__controlPlaneIP="https://10.0.0.2"),
        'spec.bootstrapKubernetes.controlPlaneIP: Invalid value: "string": controlPlaneIP must be an address without '
        "a port, as 10.128.0.2; the port goes to controlPlanePort",
    ),
    _refused(
        "an endpoint of the control plane without its port",
        make_group(bootstrapKubernetes__controlPlaneEndpoint="api.example.com"),
        'spec.bootstrapKubernetes.controlPlaneEndpoint: Invalid value: "string": controlPlaneEndpoint must be '
        "host:port, as api.example.com:6443 or [fd00::1]:6443",
    ),
    _refused(
        "a port that is none",
        make_group(bootstrapKubernetes__controlPlanePort=70000),
        "spec.bootstrapKubernetes.controlPlanePort: Invalid value: 70000: spec.bootstrapKubernetes.controlPlanePort "
        "in body should be less than or equal to 65535",
    ),
    _refused(
        "a name that leaves no room for the names made from it",
        changed(make_group(), {"metadata.name": "a" * 46}),
        "<nil>: Invalid value: \"object\": metadata.name must be at most 45 lower-case letters, digits or '-', begin "
        "with a letter and not end with '-': names in Compute Engine are made from it",
    ),
)

_TOPOLOGY = (
    _refused(
        "a topology in words",
        make_brought_group(topology="big"),
        "spec.topology: Invalid value: \"string\": topology must be two or three numbers above zero joined by 'x', as "
        "2x4 or 2x2x2",
    ),
    _refused(
        "a side of zero",
        make_brought_group(topology="0x2x2"),
        "spec.topology: Invalid value: \"string\": topology must be two or three numbers above zero joined by 'x', as "
        "2x4 or 2x2x2",
    ),
    _refused(
        "a v6e topology that does not exist",
        make_group(instanceConfig__machineType="ct6e-standard-4t", topology="2x8", nodeCount=4),
        _V6E_TOPOLOGY,
    ),
    _refused(
        "several hosts of the machine type that fills a host",
        make_group(instanceConfig__machineType="ct6e-standard-8t", topology="4x4", nodeCount=2),
        _V6E_TOPOLOGY,
    ),
    _refused("sides in descending order", make_group(topology="8x4x4", nodeCount=32), _V7_TOPOLOGY),
    _refused("a side that is no multiple of four", make_group(topology="4x4x6", nodeCount=24), _V7_TOPOLOGY),
    _refused("a slice bigger than a pod", make_group(topology="16x24x28", nodeCount=2688), _V7_TOPOLOGY),
    _refused(
        "a flat topology of a machine that is wired in three dimensions",
        make_group(topology="2x4", nodeCount=2),
        _V7_TOPOLOGY,
    ),
    _refused(
        "a tpu7x machine type that does not exist",
        make_group(instanceConfig__machineType="tpu7x-standard-2t", topology="2x2x2", nodeCount=2),
        _V7_TOPOLOGY,
    ),
    _refused(
        "more hosts than the topology has",
        make_group(nodeCount=4),
        _node_count("2*2*2", 4, "2x2x2", "tpu7x-standard-4t"),
    ),
    _refused(
        "fewer hosts than the topology has, on v6e",
        make_group(instanceConfig__machineType="ct6e-standard-4t", topology="4x4", nodeCount=2),
        _node_count("4*4", 4, "4x4", "ct6e-standard-4t"),
    ),
    _refused(
        "one slice of several hosts in mode INDIVIDUAL",
        make_group(targetSizePolicyMode="INDIVIDUAL"),
        _INDIVIDUAL_TOPOLOGY,
    ),
    _refused(
        "a single host in mode BULK",
        make_group(nodeCount=1, topology="2x2x1"),
        'spec.targetSizePolicyMode: Invalid value: "object": a single host is no BULK group: set targetSizePolicyMode '
        "to INDIVIDUAL",
    ),
)

_COMBINATION = (
    _refused(
        "RESERVATION_BOUND without a reservation",
        make_group(instanceConfig__provisioningModel="RESERVATION_BOUND"),
        'spec.instanceConfig.reservation: Invalid value: "object": provisioningModel RESERVATION_BOUND needs a '
        "reservation: name it in reservation, or set provisioningModel to STANDARD or SPOT",
    ),
    _refused(
        "a reservation for Spot VMs",
        make_group(instanceConfig__provisioningModel="SPOT", instanceConfig__reservation="r"),
        'spec.instanceConfig.provisioningModel: Invalid value: "object": a reservation is used by provisioningModel '
        "RESERVATION_BOUND only: set that, leave provisioningModel out, or remove reservation",
    ),
    _refused("neither a template nor what to make one of", make_brought_group(instanceTemplateURI=None), _SOURCE),
    _refused(
        "both a template and what to make one of",
        make_group(instanceTemplateURI="projects/my-gcp-project/global/instanceTemplates/t", bootstrapKubernetes=None),
        _SOURCE,
    ),
    _refused(
        "a brought template that shall also be bootstrapped",
        make_brought_group(bootstrapKubernetes={"version": "1.31", "controlPlaneIP": "10.128.0.2"}),
        'spec.bootstrapKubernetes: Invalid value: "object": bootstrapKubernetes works with instanceConfig only: remove '
        "it, a brought template brings its own way to join",
    ),
    _refused(
        "a template by its bare name",
        make_brought_group(instanceTemplateURI="golden"),
        'spec.instanceTemplateURI: Invalid value: "object": instanceTemplateURI must be written as '
        "projects/PROJECT/global/instanceTemplates/NAME (or with regions/REGION in place of global)",
    ),
    _refused(
        "a template of another project",
        make_brought_group(instanceTemplateURI="projects/my-gcp-project2/global/instanceTemplates/golden"),
        'spec.instanceTemplateURI: Invalid value: "object": instanceTemplateURI must belong to the project that '
        "spec.project names: copy the template there, or change spec.project",
    ),
    _refused(
        "a join token of the user's own",
        make_group(instanceConfig__metadata={"kubeadm-join-token": "x"}),
        _RESERVED_KEYS,
    ),
    _refused("a metadata key of the platform", make_group(instanceConfig__metadata={"tpu-env": "x"}), _RESERVED_KEYS),
    _refused(
        "a metadata key with a dot",
        make_group(instanceConfig__metadata={"a.b": "x"}),
        "spec.instanceConfig.metadata: Invalid value: \"object\": metadata keys must be 1 to 127 letters, digits, '-' "
        "or '_'",
    ),
    _refused(
        "more metadata keys than leave room for the operator's",
        make_group(instanceConfig__metadata={f"key-{i}": "" for i in range(241)}),
        'spec.instanceConfig.metadata: Invalid value: "object": instanceConfig.metadata may have at most 240 keys: '
        "the operator adds its own to the template",
    ),
    _refused(
        "an empty reservation for RESERVATION_BOUND",
        make_group(instanceConfig__provisioningModel="RESERVATION_BOUND", instanceConfig__reservation=""),
        'spec.instanceConfig.reservation: Invalid value: "object": provisioningModel RESERVATION_BOUND needs a '
        "reservation: name it in reservation, or set provisioningModel to STANDARD or SPOT",
    ),
    _refused(
        "a startup script beside ours",
        make_group(instanceConfig__metadata={"startup-script": "#!/bin/bash"}),
        'spec.instanceConfig.metadata: Invalid value: "object": instanceConfig.metadata may not have startup-script '
        "together with bootstrapKubernetes, which needs that key: remove one of them",
    ),
    _refused(
        "a persistent disk on v6e",
        make_group(
            instanceConfig__machineType="ct6e-standard-4t",
            instanceConfig__diskType="pd-balanced",
            topology="4x4",
            nodeCount=4,
        ),
        'spec.instanceConfig.diskType: Invalid value: "object": ct6e machine types take no pd-* disks: set diskType to '
        "hyperdisk-balanced or hyperdisk-ml, or remove it",
    ),
)

_CHANGES = (
    _refused(
        "another number of hosts",
        make_group(nodeCount=4, topology="2x2x4"),
        _fixed("spec.nodeCount"),
        _fixed("spec.topology"),
        stored=make_group(),
    ),
    _refused("an optional field added", make_group(minNodeCount=0), _fixed("spec.minNodeCount"), stored=make_group()),
    _refused("an optional field removed", make_group(), _fixed("spec.minNodeCount"), stored=make_group(minNodeCount=0)),
    _refused(
        "a way to join removed",
        make_group(bootstrapKubernetes=None),
        _fixed("spec.bootstrapKubernetes"),
        stored=make_group(),
    ),
    _refused(
        "another machine type",
        make_group(instanceConfig__machineType="tpu7x-ultranet-4t"),
        _fixed("spec.instanceConfig.machineType"),
        stored=make_group(),
    ),
    _refused(
        "metadata added",
        make_group(instanceConfig__metadata={"team": "a"}),
        _fixed("spec.instanceConfig.metadata"),
        stored=make_group(),
    ),
    _refused(
        "another control plane",
        make_group(bootstrapKubernetes__controlPlaneIP="10.0.0.9"),
        _fixed("spec.bootstrapKubernetes.controlPlaneIP"),
        stored=make_group(),
    ),
    _refused(
        "another policy",
        make_policy(acceleratorTopology="2x2x4"),
        _fixed("spec.acceleratorTopology"),
        stored=make_policy(),
    ),
    _refused("another image", make_template(image="x"), _fixed("spec.image"), stored=make_template()),
    _refused(
        "another boot disk",
        make_template(bootDisk={"autoDelete": False}),
        _fixed("spec.bootDisk"),
        stored=make_template(),
    ),
    _refused(
        "another fate of the boot disk",
        make_template(bootDisk={"autoDelete": False}),
        _fixed("spec.bootDisk.autoDelete"),
        stored=make_template(bootDisk={}),
    ),
    _refused("another size", make_mig(targetSize=3), _fixed("spec.targetSize"), stored=make_mig()),
)

_CHILDREN = (
    _refused(
        "a policy in a zone",
        make_policy(region="us-central1-c"),
        'spec.region: Invalid value: "string": region must be a Google Cloud region, as us-central1',
    ),
    _refused(
        "a policy of an unknown type",
        make_policy(type="HIGH_AVAILABILITY"),
        'spec.type: Unsupported value: "HIGH_AVAILABILITY": supported values: "HIGH_THROUGHPUT"',
        _NOT_CHECKED,
    ),
    _refused(
        "a policy without a sensible topology",
        make_policy(acceleratorTopology="2"),
        'spec.acceleratorTopology: Invalid value: "string": topology must be two or three numbers above zero joined '
        "by 'x', as 2x4 or 2x2x2",
    ),
    _refused(
        "a template with a persistent disk on v6e",
        make_template(machineType="ct6e-standard-8t", diskType="projects/p/zones/z/diskTypes/pd-ssd"),
        'spec.diskType: Invalid value: "object": ct6e machine types take no pd-* disks: set diskType to '
        "hyperdisk-balanced or hyperdisk-ml, or remove it",
    ),
    _refused(
        "a template with a name that Compute Engine refuses",
        changed(make_template(), {"metadata.name": "a.b"}),
        "<nil>: Invalid value: \"object\": metadata.name must be at most 63 lower-case letters, digits or '-', begin "
        "with a letter and not end with '-': it is the name in Compute Engine too",
    ),
    _refused(
        "a group of VMs without a template's URL",
        make_mig(instanceTemplate="golden"),
        'spec.instanceTemplate: Invalid value: "string": instanceTemplate must be the URL of a template, as '
        "projects/PROJECT/global/instanceTemplates/NAME",
    ),
    _refused(
        "a group of VMs with a policy's bare name",
        make_mig(workloadPolicy="policy"),
        'spec.workloadPolicy: Invalid value: "string": workloadPolicy must be the URL of a policy, as '
        "projects/PROJECT/regions/REGION/resourcePolicies/NAME",
    ),
    _refused(
        "a group of VMs in a region",
        make_mig(location="us-central1"),
        'spec.location: Invalid value: "string": location must be a Google Cloud zone, as us-central1-c',
    ),
)

BAD_CRS: tuple[BadCr, ...] = (*_FORM, *_TOPOLOGY, *_COMBINATION, *_CHANGES, *_CHILDREN)
