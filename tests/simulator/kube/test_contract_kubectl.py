"""The flows of kubectl on any API server."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.needs import need
from tests.simulator.kube.client import Api
from tests.simulator.kube.widgets import widget, widgets

pytestmark = pytest.mark.kubectl

Json = dict[str, Any]


class Kubectl:
    """kubectl as a user of the kubeconfig, in one namespace."""

    def __init__(self, command: str, kubeconfig: Path, namespace: str, folder: Path) -> None:
        self._start = [command, f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", f"--cache-dir={folder}/cache"]
        self._folder = folder

    async def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [*self._start, *arguments]

        def start() -> subprocess.CompletedProcess[str]:
            return subprocess.run(  # noqa: S603 - kubectl with our own arguments
                command, input=stdin, capture_output=True, text=True, timeout=30, check=False
            )

        return await asyncio.to_thread(start)

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        done = await self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    async def refused(self, *arguments: str, stdin: str = "") -> str:
        done = await self.run(*arguments, stdin=stdin)
        assert done.returncode != 0, done.stdout
        return done.stderr.strip()


@pytest.fixture
def kubectl(kubeconfig: Path, namespace: str, tmp_path: Path) -> Kubectl:
    return Kubectl(need("kubectl"), kubeconfig, namespace, tmp_path)


def text(body: Json) -> str:
    return yaml.safe_dump(body)


def columns(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


async def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl) -> None:
    said = [
        await kubectl("apply", "-f", "-", stdin=text(widget(spec={"colour": "red"}))),
        await kubectl("apply", "-f", "-", stdin=text(widget(spec={"colour": "red"}))),
        await kubectl("apply", "-f", "-", stdin=text(widget(spec={"size": 2}))),
    ]
    name = "widget.contract.example.com/one"
    assert said == [f"{name} created", f"{name} unchanged", f"{name} configured"]
    assert json.loads(await kubectl("get", "widget", "one", "-o", "json"))["spec"] == {"size": 2}


async def test_apply_names_an_unknown_field(kubectl: Kubectl) -> None:
    said = await kubectl.refused("apply", "-f", "-", stdin=text(widget(spec={"colr": "red"})))
    assert 'unknown field "spec.colr"' in said


async def test_apply_of_builtin_kinds_is_validated_too(kubectl: Kubectl) -> None:
    said = await kubectl.refused("apply", "-f", "-", stdin=text(_deployment(paused=True, nonsense=1)))
    assert 'unknown field "spec.nonsense"' in said


async def test_a_rule_of_the_definition_is_told(kubectl: Kubectl) -> None:
    said = await kubectl.refused("apply", "-f", "-", stdin=text(widget(spec={"size": 11})))
    assert said.startswith('The Widget "one" is invalid: spec: Invalid value: ')
    assert said.endswith("too big")


async def test_server_side_apply_tells_conflicts(kubectl: Kubectl) -> None:
    manifest = text(widget(spec={"colour": "red"}))
    other = text(widget(spec={"colour": "blue"}))
    assert (await kubectl("apply", "--server-side", "-f", "-", stdin=manifest)).endswith("serverside-applied")
    arguments = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    said = await kubectl.refused(*arguments, stdin=other)
    assert 'conflict with "kubectl": .spec.colour' in said
    await kubectl(*arguments, "--force-conflicts", stdin=other)
    assert await kubectl("get", "widget", "one", "-o", "jsonpath={.spec.colour}") == "blue"


async def test_server_side_apply_takes_over_from_client_side_apply(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=text(widget(spec={"colour": "red", "size": 2})))
    await kubectl("apply", "--server-side", "-f", "-", stdin=text(widget(spec={"size": 3})))
    assert json.loads(await kubectl("get", "widget", "one", "-o", "json"))["spec"] == {"size": 3}


async def test_typed_commands_create_namespaces_secrets_and_config_maps(kubectl: Kubectl, namespace: str) -> None:
    assert await kubectl("create", "namespace", f"{namespace}-more") == f"namespace/{namespace}-more created"
    await kubectl("create", "secret", "generic", "one", "--from-literal=a=b")
    await kubectl("create", "configmap", "one", "--from-literal=c=d")
    await kubectl("create", "serviceaccount", "one")
    assert await kubectl("get", "secret", "one", "-o", "jsonpath={.type} {.data.a}") == "Opaque Yg=="
    assert await kubectl("get", "configmap", "one", "-o", "jsonpath={.data.c}") == "d"
    await kubectl("delete", "namespace", f"{namespace}-more")
    assert "not found" in await kubectl.refused("get", "namespace", f"{namespace}-more")


async def test_get_shows_the_columns_of_the_definition(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=text(widget(spec={"size": 4})))
    await kubectl("patch", "wd", "one", "--subresource=status", "--type=merge", "-p", json.dumps(_ready("True")))
    narrow, wide = columns(await kubectl("get", "wd")), columns(await kubectl("get", "wd", "-o", "wide"))
    assert (narrow[0], narrow[1][:2]) == (["NAME", "SIZE", "AGE"], ["one", "4"])
    assert (wide[0], wide[1][:3]) == (["NAME", "SIZE", "READY", "AGE"], ["one", "4", "True"])
    assert await kubectl("get", "wd", "-o", "name") == "widget.contract.example.com/one"


async def test_get_watches(kubectl: Kubectl, api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(spec={"size": 1}))
    command = await asyncio.create_subprocess_exec(
        *kubectl._start, "get", "wd", "-w", "--no-headers", stdout=asyncio.subprocess.PIPE
    )
    assert command.stdout is not None
    try:
        async with asyncio.timeout(20):
            first = (await command.stdout.readline()).split()
            await api.patch(widgets(namespace, "one"), {"spec": {"size": 2}})
            second = (await command.stdout.readline()).split()
    finally:
        command.terminate()
        await command.communicate()
    assert [first[:2], second[:2]] == [[b"one", b"1"], [b"one", b"2"]]


async def test_wait_ends_when_the_condition_comes(kubectl: Kubectl, api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget())
    waiting = asyncio.create_task(kubectl("wait", "--for=condition=Ready", "wd/one", "--timeout=20s"))
    await api.patch(widgets(namespace, "one", "status"), _ready("True"))
    assert await waiting == "widget.contract.example.com/one condition met"


async def test_describe_shows_the_object_and_its_events(kubectl: Kubectl, api: Api, namespace: str) -> None:
    uid = (await api.create(widgets(namespace), widget(spec={"size": 4}))).body["metadata"]["uid"]
    subject = {"kind": "Widget", "namespace": namespace, "name": "one", "uid": uid}
    event = {
        "metadata": {"name": "one.1"},
        "involvedObject": {**subject, "apiVersion": "contract.example.com/v1"},
        "reason": "Made",
        "message": "it is there",
        "type": "Normal",
        "source": {"component": "maker"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    await api.create(f"/api/v1/namespaces/{namespace}/events", event)
    said = await kubectl("describe", "wd", "one")
    assert "Size:  4" in said
    assert "it is there" in said
    listed = columns(await kubectl("get", "events"))
    assert listed[0] == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert listed[1][1:] == ["Normal", "Made", "widget/one", "it", "is", "there"]


async def test_explain_tells_what_the_definition_says(kubectl: Kubectl) -> None:
    assert "How big it is." in await kubectl("explain", "widget.spec.size")
    assert "FIELD: taints <[]Taint>" in await kubectl("explain", "node.spec.taints")


async def test_label_annotate_and_edit_by_patch(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=text(widget(spec={"size": 4})))
    await kubectl("label", "wd", "one", "a=b")
    await kubectl("annotate", "wd", "one", "c=d")
    await kubectl("patch", "wd", "one", "--type=json", "-p", '[{"op": "replace", "path": "/spec/size", "value": 5}]')
    shown = "jsonpath={.metadata.labels.a} {.metadata.annotations.c} {.spec.size}"
    assert await kubectl("get", "wd", "one", "-o", shown) == "b d 5"
    await kubectl("label", "wd", "one", "a-")
    assert await kubectl("get", "wd", "-l", "a=b", "-o", "name") == ""


async def test_replace_needs_the_version_that_it_read(kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=text(widget(spec={"size": 4})))
    read = await kubectl("get", "wd", "one", "-o", "yaml")
    await kubectl("replace", "-f", "-", stdin=read.replace("size: 4", "size: 5"))
    assert "has been modified" in await kubectl.refused("replace", "-f", "-", stdin=read)


async def test_nodes_are_cordoned_tainted_and_shown(kubectl: Kubectl, namespace: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace}}
    await kubectl("apply", "-f", "-", stdin=text(node))
    await kubectl("cordon", namespace)
    await kubectl("taint", "node", namespace, "a=b:NoSchedule")
    rows = columns(await kubectl("get", "node", namespace))
    described = await kubectl("describe", "node", namespace)
    await kubectl("delete", "node", namespace)
    assert (rows[0], rows[1][0]) == (["NAME", "STATUS", "ROLES", "AGE", "VERSION"], namespace)
    assert rows[1][1].endswith(",SchedulingDisabled")
    assert "a=b:NoSchedule" in described


async def test_delete_waits_for_finalizers(kubectl: Kubectl, api: Api, namespace: str) -> None:
    await api.create(widgets(namespace), widget(metadata={"finalizers": ["example.com/hold"]}))
    deleting = asyncio.create_task(kubectl("delete", "wd", "one"))
    async with asyncio.timeout(10):
        async for event in api.watch(widgets(namespace)):
            if "deletionTimestamp" in event["object"]["metadata"]:
                break
    assert not deleting.done()
    await api.patch(widgets(namespace, "one"), {"metadata": {"finalizers": None}})
    assert await deleting == 'widget.contract.example.com "one" deleted'


async def test_foreground_deletion_takes_the_dependents_first(kubectl: Kubectl, api: Api, namespace: str) -> None:
    owner = (await api.create(widgets(namespace), widget("owner"))).body
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    await api.create(widgets(namespace), widget("child", metadata={"ownerReferences": [reference]}))
    await kubectl("delete", "wd", "owner", "--cascade=foreground")
    assert (await api.get(widgets(namespace))).names == []


async def test_builtin_manifests_apply_twice(kubectl: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "one"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "one"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
        "subjects": [{"kind": "ServiceAccount", "name": "one"}],
    }
    manifest = yaml.safe_dump_all([role, binding, _deployment(replicas=2)])
    await kubectl("apply", "-f", "-", stdin=manifest)
    again = await kubectl("apply", "-f", "-", stdin=manifest)
    assert [line.split()[-1] for line in again.splitlines()] == ["unchanged", "unchanged", "unchanged"]
    await kubectl("set", "image", "deployment/one", "main=image:2")
    containers = json.loads(await kubectl("get", "deployment", "one", "-o", "json"))["spec"]["template"]["spec"][
        "containers"
    ]
    assert [(item["name"], item["image"]) for item in containers] == [("main", "image:2")]


async def test_api_resources_lists_what_is_served(kubectl: Kubectl) -> None:
    found = await kubectl("api-resources", "--api-group=contract.example.com", "--no-headers")
    assert found.split() == ["widgets", "wd", "contract.example.com/v1", "true", "Widget"]
    assert await kubectl("auth", "can-i", "create", "widgets") == "yes"


def _ready(status: str) -> Json:
    return {"status": {"conditions": [{"type": "Ready", "status": status}]}}


def _deployment(**spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "one"}}, "spec": {"containers": [{"name": "main", "image": "image:1"}]}}
    more = {"selector": {"matchLabels": {"app": "one"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "one"}, "spec": {**more, **spec}}
