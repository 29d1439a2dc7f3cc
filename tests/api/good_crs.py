"""Manifests that must be accepted: what the reference accepts, and the edge of every rule."""

from typing import Any

from tests.api.manifests import changed, make_brought_group, make_group, make_mig, make_policy, make_template

Json = dict[str, Any]

GOOD_CRS: dict[str, Json] = {
    "a slice of two hosts": make_group(),
    "a slice of a whole pod": make_group(topology="16x24x24", nodeCount=2304),
    "a long thin slice": make_group(topology="4x4x256", nodeCount=1024),
    "a single tpu7x host": make_group(topology="2x2x1", nodeCount=1, targetSizePolicyMode="INDIVIDUAL"),
    "a single chip of tpu7x": make_group(
        instanceConfig__machineType="tpu7x-standard-1t",
        topology="1x1x1",
        nodeCount=1,
        targetSizePolicyMode="INDIVIDUAL",
    ),
    "an ultranet slice": make_group(instanceConfig__machineType="tpu7x-ultranet-4t"),
    "a tpu7 slice": make_group(instanceConfig__machineType="tpu7-standard-4t", topology="4x4x4", nodeCount=16),
    "a v6e slice of half hosts": make_group(
        instanceConfig__machineType="ct6e-standard-4t", topology="2x4", nodeCount=2
    ),
    "a whole v6e host": make_group(
        instanceConfig__machineType="ct6e-standard-8t",
        topology="2x4",
        nodeCount=1,
        targetSizePolicyMode="INDIVIDUAL",
    ),
    "one v6e chip": make_group(
        instanceConfig__machineType="ct6e-standard-1t",
        topology="1x1",
        nodeCount=1,
        targetSizePolicyMode="INDIVIDUAL",
    ),
    "the biggest v6e slice": make_group(instanceConfig__machineType="ct6e-standard-4t", topology="16x16", nodeCount=64),
    "independent hosts, none needed": make_group(
        topology="2x2x1", nodeCount=4, minNodeCount=0, targetSizePolicyMode="INDIVIDUAL"
    ),
    "a reservation, its model not stated": make_group(instanceConfig__reservation="r"),
    "a reservation, its model stated": make_group(
        instanceConfig__reservation="r", instanceConfig__provisioningModel="RESERVATION_BOUND"
    ),
    "an empty reservation counts as none": make_group(
        instanceConfig__reservation="", instanceConfig__provisioningModel="SPOT"
    ),
    "Spot": make_group(instanceConfig__provisioningModel="SPOT"),
    "hyperdisk on v6e": make_group(
        instanceConfig__machineType="ct6e-standard-4t",
        instanceConfig__diskType="hyperdisk-ml",
        topology="4x4",
        nodeCount=4,
    ),
    "a persistent disk on tpu7x": make_group(instanceConfig__diskType="pd-balanced"),
    "metadata of the user's own": make_group(instanceConfig__metadata={"team": "a", "kube-env": "b", "tpu_env": "c"}),
    "as many metadata keys as a group may have": make_group(
        instanceConfig__metadata={f"key-{i}": "" for i in range(240)}
    ),
    "a startup script where nothing is bootstrapped": make_group(
        bootstrapKubernetes=None, instanceConfig__metadata={"startup-script": "#!/bin/bash"}
    ),
    "a brought template": make_brought_group(),
    "a brought regional template": make_brought_group(
        instanceTemplateURI="projects/my-gcp-project/regions/us-central1/instanceTemplates/golden"
    ),
    "a brought template in a location": make_brought_group(
        instanceTemplateURI="projects/my-gcp-project/locations/us-central1/instanceTemplates/golden"
    ),
    "a brought template with a topology that only Compute Engine knows": make_brought_group(topology="3x5x7"),
    "a zone of accelerators": make_group(nodeLocation="us-central1-ai1a"),
    "an IPv6 control plane": make_group(bootstrapKubernetes__controlPlaneIP="fd00::1"),
    "an IPv6 control plane in brackets": make_group(bootstrapKubernetes__controlPlaneIP="[fd00::1]"),
    "a control plane with a DNS name": make_group(bootstrapKubernetes__controlPlaneIP="api.internal"),
    "an endpoint with a DNS name": make_group(bootstrapKubernetes__controlPlaneEndpoint="api.example.com:443"),
    "an IPv6 endpoint": make_group(bootstrapKubernetes__controlPlaneEndpoint="[fd00::1]:6443"),
    "another port, no taint, a recovery policy": make_group(
        bootstrapKubernetes__controlPlanePort=443, bootstrapKubernetes__taint=False, recoveryPolicy="RecreateSlice"
    ),
    "a later Kubernetes": make_group(bootstrapKubernetes__version="1.36"),
    "the longest name": changed(make_group(), {"metadata.name": "a" * 45}),
    "a policy": make_policy(),
    "a template": make_template(),
    "a template with the operator's metadata": make_template(metadata={"kube-labels": "a=b", "startup-script": "x"}),
    "a template that keeps its disk": make_template(bootDisk={"autoDelete": False}, maintenancePolicy="TERMINATE"),
    "a template with a bare subnetwork": make_template(subnetwork="other"),
    "a group of VMs": make_mig(),
    "an empty group of VMs": make_mig(targetSize=0, defaultActionOnFailure="REPAIR"),
    "a group of VMs by full URLs": make_mig(
        instanceTemplate="https://www.googleapis.com/compute/v1/projects/p-project/global/instanceTemplates/t",
        workloadPolicy="https://www.googleapis.com/compute/v1/projects/p-project/regions/r-r1/resourcePolicies/p",
    ),
}
