"""What any API server does with objects, asked through kubernetes.aio. Runs on a simulated and on a real one."""

from typing import Any

import pytest

from tests.simulator.kube.client import JSON_PATCH, STRATEGIC, Api
from tests.simulator.kube.widgets import widget, widgets

Json = dict[str, Any]


async def test_a_created_object_has_identity_defaults_and_no_unknown_fields(api: Api, namespace: str) -> None:
    answer = await api.create(widgets(namespace), widget(spec={"colour": "red", "nonsense": 1}, status={"phase": "x"}))
    metadata = answer.body.pop("metadata")
    assert (answer.code, answer.body) == (
        201,
        {"apiVersion": "contract.example.com/v1", "kind": "Widget", "spec": {"colour": "red", "size": 1}},
    )
    assert answer.warnings == ['299 - "unknown field \\"spec.nonsense\\""']
    assert (metadata["name"], metadata["namespace"], metadata["generation"]) == ("one", namespace, 1)
    assert {"uid", "resourceVersion", "creationTimestamp", "managedFields"} <= metadata.keys()


async def test_a_name_can_be_generated(api: Api, namespace: str) -> None:
    body = {**widget(), "metadata": {"generateName": "made-"}}
    answer = await api.create(widgets(namespace), body)
    name = answer.body["metadata"]["name"]
    assert name.startswith("made-")
    assert len(name) == len("made-") + 5


async def test_refusals_have_their_reasons(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget())
    here = widgets(namespace)
    refusals = [
        (await api.create(here, widget())).reason,
        (await api.get(widgets(namespace, "none"))).reason,
        (await api.create(widgets("no-such-namespace"), widget())).reason,
        (await api.create(here, widget("Bad_Name"))).reason,
        (await api.create(here, widget("two", spec={"size": -1}))).reason,
        (await api.create(here, widget("two", spec={"size": 11}))).reason,
        (await api.create(here, widget("two", spec={"size": "big"}))).reason,
        (await api.create(here, widget("two", spec={"nonsense": 1}), fieldValidation="Strict")).reason,
        (await api.replace(widgets(namespace, "one"), widget())).reason,
        (await api.create(here, widget("two", metadata={"namespace": "default"}))).reason,
        (await api.get("/apis/contract.example.com/v1/nothings")).reason,
    ]
    assert refusals == [
        (409, "AlreadyExists"),
        (404, "NotFound"),
        (404, "NotFound"),
        (422, "Invalid"),
        (422, "Invalid"),
        (422, "Invalid"),
        (422, "Invalid"),
        (400, "BadRequest"),
        (422, "Invalid"),
        (400, "BadRequest"),
        (404, ""),
    ]


@pytest.mark.parametrize(
    ("where", "body"),
    [
        ("secrets", {"metadata": {"name": "x"}, "stringData": ["a"]}),
        ("secrets", {"metadata": {"name": "x", "labels": {"a": 1}}}),
        ("secrets", {"metadata": {"name": "x", "finalizers": "a"}}),
        ("secrets", {"metadata": {"name": ["x"]}}),
        ("configmaps", {"metadata": {"name": "x"}, "data": "a"}),
        ("configmaps", {"metadata": "x"}),
        ("configmaps", []),
    ],
)
async def test_values_of_the_wrong_shape_are_refused(api: Api, namespace: str, where: str, body: Any) -> None:
    answer = await api.create(f"/api/v1/namespaces/{namespace}/{where}", body)
    assert answer.reason == (400, "BadRequest")


async def test_a_binding_needs_a_role_and_keeps_it(api: Api, namespace: str) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    assert (await api.create(path, {"metadata": {"name": "x"}})).reason == (422, "Invalid")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"}
    await api.create(path, {"metadata": {"name": "x"}, "roleRef": role})
    assert (await api.patch(f"{path}/x", {"roleRef": {"name": "two"}})).reason == (422, "Invalid")


async def test_refusals_say_what_is_wrong_with_which_object(api: Api, namespace: str) -> None:
    missing = await api.get(widgets(namespace, "none"))
    assert missing.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'widgets.contract.example.com "none" not found',
        "reason": "NotFound",
        "details": {"name": "none", "group": "contract.example.com", "kind": "widgets"},
        "code": 404,
    }
    strict = await api.create(widgets(namespace), widget(spec={"nonsense": 1}), fieldValidation="Strict")
    assert strict.message.endswith('strict decoding error: unknown field "spec.nonsense"')
    too_big = await api.create(widgets(namespace), widget(spec={"size": 11}))
    assert too_big.message.startswith('Widget.contract.example.com "one" is invalid: spec: Invalid value: ')
    assert too_big.message.endswith("too big")


async def test_the_generation_counts_changes_of_the_spec_only(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.create(widgets(namespace), widget())
    steps: list[tuple[str, Json]] = [
        (path, {"metadata": {"labels": {"a": "b"}}}),
        (path, {"spec": {"size": 2}}),
        (f"{path}/status", {"status": {"phase": "Busy"}}),
        (path, {"spec": {"size": 2}}),
        (path, {"spec": {"size": 3}}),
    ]
    generations = [(await api.patch(where, patch)).body["metadata"]["generation"] for where, patch in steps]
    assert generations == [1, 2, 2, 2, 3]


async def test_status_and_the_rest_are_written_apart(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.create(widgets(namespace), widget())
    await api.patch(
        f"{path}/status", {"spec": {"size": 5}, "status": {"phase": "Busy"}, "metadata": {"labels": {"a": "b"}}}
    )
    await api.patch(path, {"spec": {"size": 2}, "status": {"phase": "Idle"}})
    body = (await api.get(path)).body
    assert (body["spec"], body["status"], body["metadata"].get("labels")) == ({"size": 2}, {"phase": "Busy"}, None)


async def test_a_write_that_changes_nothing_is_no_new_version(api: Api, namespace: str) -> None:
    created = await api.create(widgets(namespace), widget(spec={"size": 2}))
    again = await api.patch(widgets(namespace, "one"), {"spec": {"size": 2}})
    assert again.body == created.body


async def test_a_stale_write_is_a_conflict(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    old = (await api.create(widgets(namespace), widget())).body
    await api.patch(path, {"spec": {"size": 2}})
    stale = await api.replace(path, old)
    assert stale.reason == (409, "Conflict")
    assert stale.message == (
        'Operation cannot be fulfilled on widgets.contract.example.com "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    version = old["metadata"]["resourceVersion"]
    assert (await api.patch(path, {"metadata": {"resourceVersion": version}})).reason == (409, "Conflict")
    assert (await api.patch(path, {"metadata": {"uid": "another"}})).code in {409, 422}


async def test_a_json_patch_tests_before_it_acts(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    version = (await api.create(widgets(namespace), widget())).body["metadata"]["resourceVersion"]
    add = {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]}

    def test_of(value: str) -> Json:
        return {"op": "test", "path": "/metadata/resourceVersion", "value": value}

    done = await api.patch(path, [test_of(version), add], JSON_PATCH)
    assert (done.code, done.body["metadata"]["finalizers"]) == (200, ["example.com/hold"])
    stale = await api.patch(path, [test_of(version), {**add, "value": []}], JSON_PATCH)
    assert stale.reason == (422, "Invalid")
    await api.patch(path, [{"op": "remove", "path": "/metadata/finalizers"}], JSON_PATCH)


async def test_strategic_merge_is_for_builtin_kinds_only(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget())
    assert (await api.patch(widgets(namespace, "one"), {}, STRATEGIC)).reason == (415, "UnsupportedMediaType")
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": namespace}
    await api.create(secrets, {"metadata": {"name": "one", "finalizers": ["example.com/a"], "ownerReferences": []}})
    first, second = {**owner, "uid": "1"}, {**owner, "uid": "2"}
    for references in ([first], [second]):
        patch = {"metadata": {"ownerReferences": references, "finalizers": ["example.com/b"]}}
        body = (await api.patch(f"{secrets}/one", patch, STRATEGIC)).body
    assert sorted(body["metadata"]["finalizers"]) == ["example.com/a", "example.com/b"]
    assert sorted(item["uid"] for item in body["metadata"]["ownerReferences"]) == ["1", "2"]
    await api.patch(f"{secrets}/one", {"metadata": {"finalizers": None}})


async def test_a_strategic_merge_replaces_the_taints_of_a_node(api: Api, namespace: str) -> None:
    nodes = "/api/v1/nodes"
    taint = {"key": "a", "effect": "NoSchedule"}
    await api.create(nodes, {"metadata": {"name": namespace}, "spec": {"taints": [taint]}})
    patch = {"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}}
    body = (await api.patch(f"{nodes}/{namespace}", patch, STRATEGIC)).body
    keys = {item["key"] for item in body["spec"]["taints"]}
    await api.delete(f"{nodes}/{namespace}")
    assert "a" not in keys
    assert "b" in keys


async def test_finalizers_hold_a_deleted_object_until_the_last_is_removed(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.create(widgets(namespace), widget(metadata={"finalizers": ["example.com/a", "example.com/b"]}))
    marked = await api.delete(path)
    assert marked.code == 200
    assert marked.body["kind"] == "Widget"
    assert "deletionTimestamp" in marked.body["metadata"]
    added = await api.patch(path, {"metadata": {"finalizers": ["example.com/a", "example.com/b", "example.com/c"]}})
    assert added.reason == (422, "Invalid")
    left = await api.patch(path, {"metadata": {"finalizers": ["example.com/b"]}})
    assert left.body["metadata"]["finalizers"] == ["example.com/b"]
    assert (await api.patch(path, {"metadata": {"finalizers": None}})).code == 200
    assert (await api.get(path)).code == 404


async def test_the_wish_to_be_deleted_counts_as_a_generation(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.create(widgets(namespace), widget(metadata={"finalizers": ["example.com/a"]}))
    marked = await api.delete(path)
    assert marked.body["metadata"]["generation"] == 2
    await api.patch(path, {"metadata": {"finalizers": None}})


async def test_a_deletion_can_have_preconditions(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    uid = (await api.create(widgets(namespace), widget())).body["metadata"]["uid"]
    assert (await api.delete(path, {"preconditions": {"uid": "another"}})).reason == (409, "Conflict")
    assert (await api.delete(path, {"preconditions": {"resourceVersion": "1"}})).reason == (409, "Conflict")
    gone = await api.delete(path, {"preconditions": {"uid": uid}})
    assert (gone.code, gone.body["status"], gone.body["details"]["uid"]) == (200, "Success", uid)


async def test_a_collection_is_deleted_by_its_selector(api: Api, namespace: str) -> None:
    for name, colour in (("one", "red"), ("two", "red"), ("three", "blue")):
        await api.create(widgets(namespace), widget(name, metadata={"labels": {"colour": colour}}))
    await api.delete(widgets(namespace), labelSelector="colour=red")
    assert (await api.get(widgets(namespace))).names == ["three"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["one", "three", "two"]),
        ({"labelSelector": "colour=red"}, ["one"]),
        ({"labelSelector": "colour!=red"}, ["three", "two"]),
        ({"labelSelector": "colour in (red, blue)"}, ["one", "two"]),
        ({"labelSelector": "colour notin (red, blue)"}, ["three"]),
        ({"labelSelector": "colour"}, ["one", "two"]),
        ({"labelSelector": "!colour"}, ["three"]),
        ({"labelSelector": "colour,colour!=red"}, ["two"]),
        ({"fieldSelector": "metadata.name=two"}, ["two"]),
        ({"fieldSelector": "metadata.name!=two"}, ["one", "three"]),
    ],
)
async def test_lists_select(api: Api, namespace: str, query: Json, found: list[str]) -> None:
    await api.create(widgets(namespace), widget("one", metadata={"labels": {"colour": "red"}}))
    await api.create(widgets(namespace), widget("two", metadata={"labels": {"colour": "blue"}}))
    await api.create(widgets(namespace), widget("three"))
    assert (await api.get(widgets(namespace), **query)).names == found


async def test_an_unknown_field_selector_is_refused(api: Api, namespace: str) -> None:
    answer = await api.get(widgets(namespace), fieldSelector="spec.size=1")
    assert answer.reason == (400, "BadRequest")


async def test_pages_show_one_state_of_the_world(api: Api, namespace: str) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await api.create(widgets(namespace), widget(name))
    first = await api.get(widgets(namespace), limit=2)
    await api.delete(widgets(namespace, "c"))
    await api.create(widgets(namespace), widget("bb"))
    second = await api.get(widgets(namespace), limit=2, **{"continue": first.body["metadata"]["continue"]})
    third = await api.get(widgets(namespace), limit=2, **{"continue": second.body["metadata"]["continue"]})
    assert [first.names, second.names, third.names] == [["a", "b"], ["c", "d"], ["e"]]
    assert third.body["metadata"]["continue"] == ""
    assert first.body["metadata"]["resourceVersion"] == third.body["metadata"]["resourceVersion"]


async def test_objects_can_be_read_as_metadata_only(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(metadata={"labels": {"a": "b"}}))
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    answer = await api.get(widgets(namespace), accept=accept)
    assert answer.body["kind"] == "PartialObjectMetadataList"
    item = answer.body["items"][0]
    assert set(item) <= {"kind", "apiVersion", "metadata"}
    assert item["metadata"]["labels"] == {"a": "b"}


async def test_a_table_has_the_columns_of_the_definition(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(spec={"size": 4}))
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await api.patch(widgets(namespace, "one", "status"), status)
    answer = await api.get(widgets(namespace), accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    assert [item["name"] for item in answer.body["columnDefinitions"]] == ["Name", "Size", "Ready", "Age"]
    assert answer.body["rows"][0]["cells"][:3] == ["one", 4, "True"]
    assert answer.body["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_a_dry_run_stores_nothing(api: Api, namespace: str) -> None:
    assert (await api.create(widgets(namespace), widget(), dryRun="All")).code == 201
    assert (await api.get(widgets(namespace, "one"))).code == 404
    await api.create(widgets(namespace), widget(spec={}))
    trial = await api.patch(widgets(namespace, "one"), {"spec": {"size": 5}}, dryRun="All")
    assert trial.body["spec"]["size"] == 5
    assert (await api.get(widgets(namespace, "one"))).body["spec"]["size"] == 1


async def test_a_secret_takes_plain_text_and_shows_base64(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "one"}, "stringData": {"a": "b"}}
    answer = await api.create(f"/api/v1/namespaces/{namespace}/secrets", body)
    assert (answer.body["data"], answer.body["type"], "stringData" in answer.body) == ({"a": "Yg=="}, "Opaque", False)
    other_type = await api.patch(f"/api/v1/namespaces/{namespace}/secrets/one", {"type": "example.com/other"})
    assert other_type.reason == (422, "Invalid")


async def test_one_event_has_two_shapes(api: Api, namespace: str) -> None:
    subject = {"kind": "Widget", "namespace": namespace, "name": "one", "apiVersion": "contract.example.com/v1"}
    event = {
        "metadata": {"name": "one.1"},
        "involvedObject": subject,
        "reason": "Made",
        "message": "it is there",
        "type": "Normal",
    }
    await api.create(f"/api/v1/namespaces/{namespace}/events", event)
    shown = (await api.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/one.1")).body
    assert (shown["note"], shown["regarding"], shown["reason"]) == ("it is there", subject, "Made")
    found = await api.get(f"/api/v1/namespaces/{namespace}/events", fieldSelector="involvedObject.name=one")
    assert found.names == ["one.1"]


async def test_a_terminating_namespace_takes_nothing_new(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(metadata={"finalizers": ["example.com/hold"]}))
    await api.delete(f"/api/v1/namespaces/{namespace}")
    refused = await api.create(widgets(namespace), widget("two"))
    assert refused.reason == (403, "Forbidden")
    assert refused.message.endswith("because it is being terminated")
    await api.patch(widgets(namespace, "one"), {"metadata": {"finalizers": None}})


async def test_a_lease_is_renewed_by_its_holder_and_a_stale_renewal_is_a_conflict(api: Api, namespace: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000001Z"}
    first = await api.create(leases, {"metadata": {"name": "one"}, "spec": spec})
    assert (first.code, first.body["spec"]) == (201, spec)
    renewed = {**first.body, "spec": {**spec, "renewTime": "2026-01-01T00:00:05.000000Z"}}
    answer = await api.replace(f"{leases}/one", renewed)
    assert (answer.code, answer.body["spec"]["renewTime"]) == (200, "2026-01-01T00:00:05.000000Z")
    stolen = await api.replace(f"{leases}/one", {**first.body, "spec": {**spec, "holderIdentity": "b"}})
    assert stolen.reason == (409, "Conflict")
    assert (await api.get(f"{leases}/one")).body["spec"]["holderIdentity"] == "a"


async def test_an_event_stays_in_the_namespace_of_its_subject(api: Api, namespace: str) -> None:
    subject = {"kind": "Widget", "namespace": "default", "name": "one", "apiVersion": "contract.example.com/v1"}
    event = {"metadata": {"name": "one.1"}, "involvedObject": subject, "reason": "Made", "type": "Normal"}
    refused = await api.create(f"/api/v1/namespaces/{namespace}/events", event)
    assert refused.reason == (422, "Invalid")
    assert refused.message == (
        'Event "one.1" is invalid: involvedObject.namespace: Invalid value: "default": does not match event.namespace'
    )


async def test_a_merge_patch_of_an_older_version_is_a_conflict(api: Api, namespace: str) -> None:
    created = await api.create(widgets(namespace), widget(spec={"size": 1}))
    version = created.body["metadata"]["resourceVersion"]
    path = widgets(namespace, "one")
    await api.patch(path, {"spec": {"size": 2}})
    refused = await api.patch(path, {"metadata": {"resourceVersion": version}, "spec": {"size": 3}})
    assert refused.reason == (409, "Conflict")
    assert (await api.get(path)).body["spec"]["size"] == 2


async def test_a_rule_judges_updates_as_well(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(spec={"size": 1}))
    refused = await api.patch(widgets(namespace, "one"), {"spec": {"size": 11}})
    assert refused.reason == (422, "Invalid")
    assert refused.body["details"]["causes"][0]["message"].endswith("too big")
