"""What both APIs hold."""

from typing import Any

from controller.demo.leftovers import things_in


def thing(kind: str, name: str, namespace: str = "", **rest: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **rest}


def test_resources_objects_and_signatures_are_named_and_history_is_not() -> None:
    world = {
        "compute": {"projects/p/zones/z/instances/vm-a": {"kind": "compute#instance", "id": "1"}},
        "kubernetes": {
            "nodes": [thing("Node", "vm-a")],
            "configmaps": {
                "cluster-info": thing(
                    "ConfigMap", "cluster-info", "kube-public", data={"kubeconfig": "", "jws-kubeconfig-abcdef": ""}
                )
            },
        },
        "history": {"leases": [thing("Lease", "l", "n")]},
    }
    assert things_in(world) == {
        "projects/p/zones/z/instances/vm-a",
        "Node vm-a",
        "ConfigMap kube-public/cluster-info",
        "signature of abcdef in cluster-info",
    }


def test_an_empty_world_holds_nothing() -> None:
    assert things_in({"compute": {}, "kubernetes": {}, "history": {}}) == frozenset()
