"""Who may do what: RBAC over the Roles and bindings that are in the store, as a kube-apiserver's authorizer.

Only allows, never denies: what no rule grants is refused (kubernetes.io/docs/reference/access-authn-authz/rbac). Rules
are compiled for each user once, and again when a role or a binding changes.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from simulator.kube import errors
from simulator.kube.calls import Call
from simulator.kube.errors import ApiError
from simulator.kube.history import Change
from simulator.kube.store import Store
from simulator.seams import Json

__all__ = ["Action", "Allows", "Rbac", "action_of", "refusal", "reviewed"]

_GROUP = "rbac.authorization.k8s.io"
_ROLES, _BINDINGS = f"roles.{_GROUP}", f"rolebindings.{_GROUP}"
_CLUSTER_ROLES, _CLUSTER_BINDINGS = f"clusterroles.{_GROUP}", f"clusterrolebindings.{_GROUP}"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_NAMED = "metadata.name="


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do. `resource` has its subresource behind a slash; `namespace` "" is the whole cluster."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


#: Whether this user may do this.
Allows = Callable[[str, Action], bool]


class Rbac:
    """The authorizer. Users in `superusers` may do everything."""

    def __init__(self, store: Store, superusers: Collection[str] = ()) -> None:
        self._store = store
        self._superusers = frozenset(superusers)
        #: user -> (namespace, or "" for everywhere; rule)
        self._rules: dict[str, list[tuple[str, Json]]] = {}
        for resource in (_ROLES, _BINDINGS, _CLUSTER_ROLES, _CLUSTER_BINDINGS):
            store.subscribe(self._forget, resource)

    def __call__(self, user: str, action: Action) -> bool:
        """Whether a rule grants it."""
        if user in self._superusers:
            return True
        if user not in self._rules:
            self._rules[user] = list(self._compiled(user))
        return any(where in {"", action.namespace} and _grants(rule, action) for where, rule in self._rules[user])

    def _forget(self, _change: Change) -> None:
        self._rules.clear()

    def _compiled(self, user: str) -> Iterator[tuple[str, Json]]:
        for binding in self._store.list(_CLUSTER_BINDINGS):
            yield from self._bound(user, binding, "")
        for binding in self._store.list(_BINDINGS):
            yield from self._bound(user, binding, binding["metadata"]["namespace"])

    def _bound(self, user: str, binding: Json, namespace: str) -> Iterator[tuple[str, Json]]:
        if not any(_is(subject, user) for subject in binding.get("subjects") or ()):
            return
        name, of_cluster = binding["roleRef"]["name"], binding["roleRef"]["kind"] == "ClusterRole"
        role = self._store.find(_CLUSTER_ROLES if of_cluster else _ROLES, None if of_cluster else namespace, name)
        for rule in (role or {}).get("rules") or ():
            yield namespace, rule


def _is(subject: Json, user: str) -> bool:
    if subject["kind"] == "ServiceAccount":
        return user == f"{_SERVICE_ACCOUNT}{subject.get('namespace', '')}:{subject['name']}"
    return bool(subject["name"] in (_groups(user) if subject["kind"] == "Group" else (user,)))


def _groups(user: str) -> tuple[str, ...]:
    if not user.startswith(_SERVICE_ACCOUNT):
        return ("system:authenticated",)
    namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ("system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def _grants(rule: Json, action: Action) -> bool:
    names = rule.get("resourceNames")
    # "*/status" grants a subresource of every resource.
    _, slash, below = action.resource.partition("/")
    resources = {action.resource, "*", f"*{slash}{below}"}
    return (
        bool({action.verb, "*"} & set(rule.get("verbs") or ()))
        and bool({action.group, "*"} & set(rule.get("apiGroups") or ()))
        and bool(resources & set(rule.get("resources") or ()))
        and (not names or action.name in names)
    )


def action_of(call: Call) -> Action:
    """What a call is to the authorizer: a list of the one object that a field selector names has its name."""
    target = call.target
    below = f"/{target.subresource}" if target.subresource else ""
    name = target.name or ""
    if call.verb in {"list", "watch", "deletecollection"}:
        selected = [part for part in call.query.get("fieldSelector", "").split(",") if part.startswith(_NAMED)]
        name = selected[0].removeprefix(_NAMED) if selected else ""
    resource = target.resource
    return Action(call.verb, resource.group, f"{resource.plural}{below}", target.namespace or "", name)


def refusal(user: str, action: Action) -> ApiError:
    """403, in the words of a kube-apiserver (k8s.io/apiserver, responsewriters.Forbidden)."""
    place = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    said = f'User "{user}" cannot {action.verb} resource "{action.resource}" in API group "{action.group}" {place}'
    plural = action.resource.partition("/")[0]
    if action.name:
        return errors.forbidden(action.group, plural, action.name, said)
    message = f"{errors.qualified(action.group, plural)} is forbidden: {said}"
    details: Json = {"group": action.group, "kind": plural} if action.group else {"kind": plural}
    return ApiError(403, "Forbidden", message, details=details)


def reviewed(review: Json, user: str, allows: Allows) -> Json:
    """A SelfSubjectAccessReview with its answer. Only of resources: no other path is refused here."""
    asked = (review.get("spec") or {}).get("resourceAttributes") or {}
    below = f"/{asked['subresource']}" if asked.get("subresource") else ""
    resource = f"{asked.get('resource', '')}{below}"
    place = (asked.get("namespace", ""), asked.get("name", ""))
    action = Action(asked.get("verb", ""), asked.get("group", ""), resource, *place)
    return {**review, "status": {"allowed": not asked or allows(user, action)}}
