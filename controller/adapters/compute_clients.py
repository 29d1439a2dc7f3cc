"""The Compute client library, imported late and opened once: its import takes seconds and 150 MB.

A bundle holds one client per service (each is one HTTP session with a pool of ten connections) and own operations
clients: the library's ExtendedOperation would build one without our endpoint (facts: GCE 1, gotcha A).
"""

import importlib
from dataclasses import dataclass
from typing import Any

import google.auth
from google.auth.credentials import AnonymousCredentials

from controller.core.model import Kind
from controller.core.observed import ResourceRef

_SCOPE = "https://www.googleapis.com/auth/compute"


@dataclass(frozen=True, slots=True)
class Service:
    """One collection of Compute Engine: its client, and what its requests and messages are called.

    `name` is the REST name (`instanceGroupManagers`), `noun` the path parameter, `message` the type's name.
    """

    name: str
    noun: str
    message: str
    client: Any


class ComputeClients:
    """All clients that the operator uses, over one set of credentials.

    `endpoint` is a full URL (`http://127.0.0.1:8080`) for a stand-in, which is reached without credentials; "" is
    Google's own endpoint with Application Default Credentials. The constructor blocks: call it in a thread.
    """

    def __init__(self, endpoint: str) -> None:
        self.types: Any = importlib.import_module("google.cloud.compute_v1")
        if endpoint:
            self._arguments = {
                "credentials": AnonymousCredentials(),  # type: ignore[no-untyped-call]
                "client_options": {"api_endpoint": endpoint},
            }
        else:
            credentials, _ = google.auth.default(scopes=[_SCOPE])
            self._arguments = {"credentials": credentials}
        self._opened: list[Any] = []
        self.policies = self._service("resourcePolicies", "resource_policy", "ResourcePolicy", "ResourcePolicies")
        self.templates = self._service(
            "instanceTemplates", "instance_template", "InstanceTemplate", "InstanceTemplates"
        )
        self.region_templates = self._service(
            "regionInstanceTemplates", "instance_template", "InstanceTemplate", "RegionInstanceTemplates"
        )
        self.migs = self._service(
            "instanceGroupManagers", "instance_group_manager", "InstanceGroupManager", "InstanceGroupManagers"
        )
        self.instances = self._service("instances", "instance", "Instance", "Instances")
        self.zone_operations = self._service("zoneOperations", "operation", "Operation", "ZoneOperations")
        self.region_operations = self._service("regionOperations", "operation", "Operation", "RegionOperations")
        self.global_operations = self._service("globalOperations", "operation", "Operation", "GlobalOperations")

    def _service(self, name: str, noun: str, message: str, client: str) -> Service:
        opened = getattr(self.types, f"{client}Client")(**self._arguments)
        _read_environment_once(opened)
        self._opened.append(opened)
        return Service(name, noun, message, opened)

    def of(self, ref: ResourceRef) -> Service:
        """The service that keeps this resource."""
        if ref.kind is Kind.TEMPLATE:
            return self.templates if ref.location == "global" else self.region_templates
        return self.policies if ref.kind is Kind.POLICY else self.migs

    def operations_of(self, ref: ResourceRef) -> Service:
        """The service that keeps the operations on this resource."""
        if ref.kind is Kind.MIG:
            return self.zone_operations
        return self.global_operations if ref.location == "global" else self.region_operations

    def close(self) -> None:
        """Close all sessions."""
        for client in self._opened:
            client.transport.close()


def _read_environment_once(client: Any) -> None:
    """Look up proxies and certificates of the environment now: the session would with every request, which costs more
    than the rest of sending it.
    """
    session = client.transport._session  # noqa: SLF001 - the client offers no other way to its session
    # The host has its scheme before it (the library puts it there).
    stated = session.merge_environment_settings(f"{client.transport.host}/", {}, None, None, None)
    session.proxies, session.verify, session.cert = stated["proxies"], stated["verify"], stated["cert"]
    session.trust_env = False


def place_of(ref: ResourceRef) -> dict[str, str]:
    """The path parameters that say where a resource is."""
    place = {"project": ref.project}
    if ref.kind is Kind.MIG:
        place["zone"] = ref.location
    elif ref.location != "global":
        place["region"] = ref.location
    return place
