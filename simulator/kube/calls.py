"""One call as the API understands it: what the path, the method and the query ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.kube import errors
from simulator.kube.resources import Registry, Resource

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
#: Sub-paths of a namespace that are not a namespaced resource.
_OF_NAMESPACE = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names. `namespace` is None of cluster-scoped resources and of lists over all namespaces."""

    resource: Resource
    namespace: str | None
    name: str | None
    subresource: str | None

    def described(self, verb: str) -> str:
        """The method as the call log has it: `patch tpunodegroups/status`."""
        below = f"/{self.subresource}" if self.subresource else ""
        return f"{verb} {self.resource.plural}{below}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request for objects. `body` is the raw request body."""

    target: Target
    verb: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""
    user: str = ""

    def flag(self, name: str) -> bool:
        """Whether a boolean parameter is set."""
        return self.query.get(name, "").lower() in {"1", "true", "t"}

    @property
    def dry_run(self) -> bool:
        """Whether nothing may be stored."""
        return self.query.get("dryRun") == "All"


def target_of(registry: Registry, path: str) -> Target:
    """What `/api/v1/...` or `/apis/<group>/<version>/...` names. Raises ApiError 404."""
    parts = path.strip("/").split("/")
    if parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    else:
        group, version, rest = parts[1], parts[2], parts[3:]
    namespace = None
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _OF_NAMESPACE:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, None, None)[:3]
    resource = registry.find(group, version, plural or "")
    if resource is None or len(rest) > 3:
        raise errors.no_such_path()
    # A namespaced resource may be listed over all namespaces, but one object has its namespace in the path.
    misplaced = namespace is None and name is not None if resource.namespaced else namespace is not None
    if misplaced:
        raise errors.no_such_path()
    if subresource is not None and subresource not in resource.subresources:
        raise errors.no_such_path()
    return Target(resource, namespace, name, subresource)


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """The verb of a request. Raises ApiError 405 for what the resource does not offer."""
    if method in {"GET", "HEAD"}:
        watches = query.get("watch", "").lower() in {"1", "true", "t"}
        verb = "watch" if watches and target.name is None else "list" if target.name is None else "get"
    elif method == "DELETE":
        verb = "deletecollection" if target.name is None else "delete"
    else:
        verb = _VERBS.get(method, "")
    if (verb == "create") is (target.name is not None) and verb in {"create", "update", "patch"}:
        raise errors.method_not_allowed()
    if verb not in target.resource.verbs or (target.subresource and verb not in {"get", "update", "patch"}):
        raise errors.method_not_allowed()
    return verb
