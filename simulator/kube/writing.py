"""The verbs that change objects: create, update, patch, delete, deletecollection.

Each is one synchronous step on the store, so it is atomic. What a real server would refuse is refused with its words.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.clock import kube_time
from simulator.kube import admission, errors, media, ownership, patching, selectors, strategic
from simulator.kube.authorization import Allows, reviewed
from simulator.kube.builtins import CRDS
from simulator.kube.calls import Call, Target
from simulator.kube.crds import held_for_cleanup
from simulator.kube.edit import drop
from simulator.kube.errors import Cause
from simulator.kube.history import Stored, encode
from simulator.kube.ownership import Writer
from simulator.kube.resources import Resource
from simulator.kube.store import DeleteOptions, Propagation, Store
from simulator.seams import Json

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
_PROPAGATIONS: dict[str, Propagation] = {item: item for item in ("Background", "Foreground", "Orphan")}


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write: an object, or a Status of its own."""

    code: int
    stored: Stored | None = None
    status: Json | None = None
    items: list[Stored] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Writing:
    """The writing verbs over one store."""

    def __init__(self, store: Store, allows: Allows) -> None:
        self._store = store
        self._allows = allows

    def perform(self, call: Call) -> Written:
        """Do what the call asks. Raises ApiError."""
        verbs: dict[str, Callable[[Call], Written]] = {
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }
        trial: AbstractContextManager[None] = self._store.rehearsal() if call.dry_run else nullcontext()
        with trial:
            return verbs[call.verb](call)

    def _create(self, call: Call) -> Written:
        target, resource = call.target, call.target.resource
        body = admission.identified(target, media.read_body(call.body, call.headers.get("Content-Type", "")))
        if resource.kind == "SelfSubjectAccessReview":
            review = _nameless(reviewed(body, call.user, self._allows))
            return Written(201, stored=Stored(review, self._store.revision))
        warnings = admission.tell_unknown(call, body)
        if body["metadata"].get("resourceVersion"):
            raise errors.ApiError(500, "InternalError", "resourceVersion should not be set on objects to be created")
        return replace(self._insert(call, body, "Update"), warnings=warnings)

    def _insert(self, call: Call, body: Json, operation: str) -> Written:
        resource, time = call.target.resource, self._time()
        if resource.namespaced:
            name = body["metadata"].get("name", "")
            self._store.require_live_namespace(body["metadata"]["namespace"], resource.id, name)
        body = admission.pruned(resource, body)
        if "status" in resource.subresources and not resource.keeps_status:
            body = drop(body, ("status",))
        admission.check(resource, body, None)
        if operation == "Update":
            body = drop(body, ("metadata", "managedFields"))
            body = ownership.after_update(resource, None, body, self._writer(call), time)
        stored = self._store.create(resource.id, _for_storage(self._store, resource, body))
        return Written(201, stored=self._after(resource, stored))

    def _update(self, call: Call) -> Written:
        target = call.target
        previous = self._previous(target)
        body = admission.identified(target, media.read_body(call.body, call.headers.get("Content-Type", "")))
        warnings = admission.tell_unknown(call, body)
        if target.resource.custom and not body["metadata"].get("resourceVersion"):
            why = "Invalid value: 0: must be specified for an update"
            admission.refuse(target.resource, body, [Cause("metadata.resourceVersion", "FieldValueInvalid", why)])
        return replace(self._store_changed(call, previous, body), warnings=warnings)

    def _patch(self, call: Call) -> Written:
        media_type = call.headers.get("Content-Type", "").partition(";")[0].strip()
        if media_type == APPLY:
            return self._apply(call)
        _refuse_force(call)
        target = call.target
        patch = media.read_body(call.body, "application/json")
        previous = self._previous(target)
        live = media.served(target.resource, previous)
        body = admission.identified(target, _patched(target, live, patch, media_type))
        warnings = admission.tell_unknown(call, body, patch=encode(patch).decode())
        return replace(self._store_changed(call, previous, body), warnings=warnings)

    def _apply(self, call: Call) -> Written:
        target, resource = call.target, call.target.resource
        if not call.query.get("fieldManager"):
            cause = Cause("fieldManager", "FieldValueRequired", "Required value: is required for apply patch")
            raise errors.invalid("meta.k8s.io", "PatchOptions", "", [cause])
        applied = admission.identified(target, media.read_body(call.body, APPLY))
        if applied["metadata"].get("managedFields"):
            raise errors.bad_request("metadata.managedFields must be nil")
        warnings = admission.tell_unknown(call, applied)
        applied = _only_known(resource, applied)
        stored = self._store.bucket(resource.id).get(target.namespace or "", target.name or "")
        if stored is None and target.subresource:
            raise errors.not_found(resource.group, resource.plural, target.name or "")
        live = None if stored is None else media.served(resource, stored)
        writer = replace(self._writer(call), operation="Apply")
        body = ownership.after_apply(resource, live, applied, writer, self._time(), force=call.flag("force"))
        if stored is None:
            return replace(self._insert(call, body, "Apply"), warnings=warnings)
        written = self._store_changed(call, stored, body, managed=True)
        return replace(written, warnings=warnings)

    def _store_changed(self, call: Call, previous: Stored, body: Json, *, managed: bool = False) -> Written:
        target, resource = call.target, call.target.resource
        live = media.served(resource, previous)
        body = admission.pruned(resource, _kept_apart(resource, live, body, target.subresource))
        if target.subresource != "finalize":
            admission.check(resource, body, live)
        if not managed:
            body = ownership.after_update(resource, live, body, self._writer(call), self._time())
        if body["metadata"].get("uid") in {None, ""}:
            body = {**body, "metadata": {**body["metadata"], "uid": live["metadata"]["uid"]}}
        body = _for_storage(self._store, resource, body)
        subresource = "status" if target.subresource == "status" else None
        stored = self._store.update(resource.id, body, subresource=subresource)
        return Written(200, stored=self._after(resource, stored))

    def _delete(self, call: Call) -> Written:
        target, resource = call.target, call.target.resource
        options, dry_run = _delete_options(call)
        with self._store.rehearsal() if dry_run and not call.dry_run else nullcontext():
            return self._delete_one(resource, target.namespace, target.name or "", options)

    def _delete_one(self, resource: Resource, namespace: str | None, name: str, options: DeleteOptions) -> Written:
        if resource.id == "namespaces" and name in _IMMORTAL:
            raise errors.forbidden("", "namespaces", name, "this namespace may not be deleted")
        if resource.id == CRDS:
            held_for_cleanup(self._store, name)
        body, gone = self._store.delete(resource.id, namespace, name, options)
        if not gone:
            return Written(200, stored=self._after(resource, body))
        details = {"name": name, "group": resource.group, "kind": resource.plural, "uid": body["metadata"]["uid"]}
        details = {key: value for key, value in details.items() if value}
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Written(200, status=status)

    def _delete_collection(self, call: Call) -> Written:
        target, resource = call.target, call.target.resource
        options, _ = _delete_options(call)
        labels, fields = call.query.get("labelSelector", ""), call.query.get("fieldSelector", "")
        selects = selectors.parse(resource.id, labels, fields)
        found = [item for item in self._store.bucket(resource.id).items(target.namespace) if selects(item.body)]
        for item in found:
            self._delete_one(resource, item.namespace, item.name, options)
        return Written(200, items=found)

    def _previous(self, target: Target) -> Stored:
        try:
            return self._store.stored(target.resource.id, target.namespace, target.name or "")
        except errors.ApiError as missing:
            raise errors.not_found(target.resource.group, target.resource.plural, target.name or "") from missing

    def _after(self, resource: Resource, body: Json) -> Stored:
        """The stored version with its encoded form, if this body was stored."""
        metadata = body["metadata"]
        found = self._store.bucket(resource.id).get(metadata.get("namespace", ""), metadata["name"])
        return found if found is not None and found.body is body else Stored(body, self._store.revision)

    def _writer(self, call: Call) -> Writer:
        target = call.target
        return Writer(admission.manager_of(call), "Update", target.resource.api_version, target.subresource or "")

    def _time(self) -> str:
        return kube_time(self._store.now())


def _nameless(body: Json) -> Json:
    return {**body, "metadata": {**body["metadata"], "name": ""}}


def _patched(target: Target, live: Json, patch: Any, media_type: str) -> Any:
    if media_type == JSON_PATCH:
        return patching.json_patch(live, patch)
    if media_type == MERGE:
        return patching.merge(live, patch)
    if media_type == STRATEGIC and not target.resource.custom:
        return strategic.merge(live, patch)
    accepted = [JSON_PATCH, MERGE, APPLY] if target.resource.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY]
    why = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    raise errors.unsupported_media(why)


def _refuse_force(call: Call) -> None:
    if call.query.get("force") is not None:
        cause = Cause("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")
        raise errors.invalid("meta.k8s.io", "PatchOptions", "", [cause])


def _only_known(resource: Resource, applied: Json) -> Json:
    """The applied object without unknown fields, and without defaults: these are nobody's."""
    pruned = admission.pruned(resource, applied)

    def common(value: Any, stated: Any) -> Any:
        if isinstance(value, dict) and isinstance(stated, dict):
            return {key: common(item, stated[key]) for key, item in value.items() if key in stated}
        if isinstance(value, list) and isinstance(stated, list) and len(value) == len(stated):
            return [common(*pair) for pair in zip(value, stated, strict=True)]
        return value

    known: Json = common(pruned, applied)
    return known


def _kept_apart(resource: Resource, live: Json, body: Json, subresource: str | None) -> Json:
    """The whole object that a write of this scope leaves: what it does not cover is as it was."""
    if subresource == "status":
        kept = {key: value for key, value in live.items() if key != "status"}
        managed = body["metadata"].get("managedFields")
        metadata = {**live["metadata"], "resourceVersion": body["metadata"].get("resourceVersion", "")}
        if managed is not None:
            metadata["managedFields"] = managed
        kept["metadata"] = metadata
        return {**kept, "status": body["status"]} if "status" in body else kept
    if subresource is None and "status" in resource.subresources:
        body = {**body, "status": live["status"]} if "status" in live else drop(body, ("status",))
    if resource.id == "namespaces" and subresource is None and "spec" in live:
        body = {**body, "spec": live["spec"]}
    return body


def _for_storage(store: Store, resource: Resource, body: Json) -> Json:
    if resource.from_wire is not None:
        return resource.from_wire(body)
    return {**body, "apiVersion": store.registry.by_id(resource.id).api_version}


def _delete_options(call: Call) -> tuple[DeleteOptions, bool]:
    """How to delete, from the body and the query; and whether it is a dry run."""
    body = media.read_body(call.body, call.headers.get("Content-Type", "")) if call.body.strip() else {}
    if not isinstance(body, dict):
        raise errors.bad_request("the delete options are not an object")
    policy = body.get("propagationPolicy") or call.query.get("propagationPolicy")
    if body.get("orphanDependents") or call.query.get("orphanDependents") == "true":
        policy = policy or "Orphan"
    if policy and policy not in _PROPAGATIONS:
        why = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan"'
        cause = Cause("propagationPolicy", "FieldValueNotSupported", why)
        raise errors.invalid("meta.k8s.io", "DeleteOptions", "", [cause])
    conditions = body.get("preconditions") or {}
    options = DeleteOptions(_PROPAGATIONS.get(policy or ""), conditions.get("uid"), conditions.get("resourceVersion"))
    return options, "All" in (body.get("dryRun") or ())
