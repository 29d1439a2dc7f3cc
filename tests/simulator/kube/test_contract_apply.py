"""Server-side apply on any API server: who owns which field, what conflicts, what goes when it is applied no more."""

from typing import Any

from tests.simulator.kube.client import Answer, Api
from tests.simulator.kube.widgets import widget, widgets

Json = dict[str, Any]


def owners(answer: Answer) -> dict[tuple[str, str], Json]:
    """The fields by (manager, operation)."""
    entries = answer.body["metadata"]["managedFields"]
    return {(item["manager"], item["operation"]): item["fieldsV1"] for item in entries}


async def test_an_apply_creates_and_then_updates(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    created = await api.apply(path, widget(spec={"colour": "red"}), "first")
    assert (created.code, created.body["spec"]) == (201, {"colour": "red", "size": 1})
    assert owners(created) == {("first", "Apply"): {"f:spec": {"f:colour": {}}}}
    changed = await api.apply(path, widget(spec={"colour": "blue"}), "first")
    assert (changed.code, changed.body["spec"]["colour"]) == (200, "blue")


async def test_the_same_apply_again_is_no_new_version(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    first = await api.apply(path, widget(spec={"colour": "red"}), "first")
    again = await api.apply(path, widget(spec={"colour": "red"}), "first")
    assert again.body == first.body


async def test_what_another_manager_applied_is_a_conflict_unless_forced(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.apply(path, widget(spec={"colour": "red"}), "first")
    refused = await api.apply(path, widget(spec={"colour": "blue"}), "second")
    assert refused.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "first": .spec.colour',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "first"',
                    "field": ".spec.colour",
                }
            ]
        },
        "code": 409,
    }
    forced = await api.apply(path, widget(spec={"colour": "blue"}), "second", force="true")
    assert forced.body["spec"]["colour"] == "blue"
    assert owners(forced) == {("second", "Apply"): {"f:spec": {"f:colour": {}}}}


async def test_an_update_takes_the_field_and_then_an_apply_conflicts(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.apply(path, widget(spec={"colour": "red"}), "first")
    await api.patch(path, {"spec": {"colour": "blue"}}, fieldManager="editor")
    refused = await api.apply(path, widget(spec={"colour": "red"}), "first")
    assert refused.reason == (409, "Conflict")
    assert 'conflict with "editor" using contract.example.com/v1: .spec.colour' in refused.message


async def test_equal_values_are_owned_together(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    await api.apply(path, widget(spec={"colour": "red"}), "first")
    await api.apply(path, widget(spec={"colour": "red"}), "second")
    kept = await api.apply(path, widget(spec={}), "first")
    assert kept.body["spec"]["colour"] == "red"
    gone = await api.apply(path, widget(spec={}), "second")
    assert "colour" not in gone.body["spec"]


async def test_what_is_applied_no_more_is_removed_and_the_rest_stays(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    body = widget(spec={"tags": {"a": "1", "b": "2"}}, metadata={"labels": {"x": "1", "y": "2"}})
    await api.apply(path, body, "first")
    await api.patch(path, {"spec": {"tags": {"c": "3"}}}, fieldManager="editor")
    less = await api.apply(path, widget(spec={"tags": {"a": "1"}}, metadata={"labels": {"y": "2"}}), "first")
    assert (less.body["spec"]["tags"], less.body["metadata"]["labels"]) == ({"a": "1", "c": "3"}, {"y": "2"})


async def test_items_of_a_keyed_list_have_their_own_owners(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one", "status")
    await api.create(widgets(namespace), widget(spec={}))

    def conditions(*pairs: tuple[str, str]) -> Json:
        return widget(status={"conditions": [{"type": kind, "status": status} for kind, status in pairs]})

    await api.apply(path, conditions(("Ready", "True"), ("Busy", "False")), "first")
    both = await api.apply(path, conditions(("Known", "True")), "second")
    kinds = [item["type"] for item in both.body["status"]["conditions"]]
    assert kinds == ["Ready", "Busy", "Known"]
    less = await api.apply(path, conditions(("Ready", "False")), "first")
    assert less.body["status"]["conditions"] == [
        {"type": "Ready", "status": "False"},
        {"type": "Known", "status": "True"},
    ]
    entries = {item["manager"]: item.get("subresource") for item in less.body["metadata"]["managedFields"]}
    assert {name: entries[name] for name in ("first", "second")} == {"first": "status", "second": "status"}


async def test_an_apply_to_the_status_leaves_the_spec(api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(spec={"size": 2}))
    body = widget(spec={"size": 5}, status={"phase": "Busy"})
    answer = await api.apply(widgets(namespace, "one", "status"), body, "first", force="true")
    assert (answer.body["spec"]["size"], answer.body["status"]) == (2, {"phase": "Busy"})


async def test_an_apply_needs_a_manager_and_no_managed_fields(api: Api, namespace: str) -> None:
    path = widgets(namespace, "one")
    nameless = await api.call("PATCH", path, widget(), kind="application/apply-patch+yaml")
    assert nameless.code in {400, 422}
    managed = widget(metadata={"managedFields": [{"manager": "x", "operation": "Apply"}]})
    assert (await api.apply(path, managed, "first")).code == 400
    assert (await api.patch(path, {}, force="true")).code in {400, 404, 422}
