"""At the start all groups' VMs are known by a list for each place, and a look reads only what has changed since."""

from controller.api.constants import FINALIZER
from controller.core.children import child_ref
from controller.core.failures import Retry
from controller.core.model import Kind, Scope
from controller.runtime.first_fill import FirstFill
from tests.core.builders import BASE, GROUP_KEY, PROJECT, ZONE, make_group, make_instance, make_node, vm
from tests.runtime.event_path import OTHER_KEY, EventPath, add_other_group, vm_of
from tests.runtime.test_group_look import joined, wake


def started() -> EventPath:
    """Two groups of one zone as a new process finds them: VMs, their Nodes, and nothing known of them yet."""
    path = EventPath()
    path.vm_is("aaaa", "1001")
    path.vm_is("bbbb", "1002")
    for suffix, instance_id in (("aaaa", "1001"), ("bbbb", "1002")):
        path.node_is(suffix, joined(suffix, instance_id))
    vm_of(path, add_other_group(path), "9001")
    return path


async def test_the_groups_of_a_zone_are_filled_by_one_list_in_which_only_their_own_vms_are() -> None:
    path = started()
    path.cloud.instances["web-1"] = make_instance(id="5")
    await FirstFill(path.env).run()
    other = child_ref(path.env.knowledge.resources.group(OTHER_KEY) or make_group(), Kind.MIG).name
    assert path.cloud.calls == [("list_instances", PROJECT, ZONE, f"{BASE}-", f"{other}-")]
    memories = [path.env.knowledge.memory(key) for key in (GROUP_KEY, OTHER_KEY)]
    assert [sorted(each.instances) for each in memories] == [[vm("aaaa"), vm("bbbb")], [f"{other}-aaaa"]]
    assert [each.filled for each in memories] == [True, True]


async def test_the_first_look_after_it_asks_for_the_rows_and_reads_no_vm_that_is_as_listed() -> None:
    path = started()
    await FirstFill(path.env).run()
    await path.look(wake(Scope.ALL, kind="start"))
    assert path.reads == ["get", "list_managed_instances"]
    assert path.ready == ("True", "Ready")


async def test_the_first_look_reads_a_vm_that_was_replaced_since_it_was_listed() -> None:
    path = started()
    await FirstFill(path.env).run()
    path.vm_is("aaaa", "2001", "STAGING")
    await path.look(wake(Scope.ALL, kind="start"))
    assert path.reads == ["get", "list_managed_instances", "get_instance"]
    assert path.ready[0] == "False"


async def test_a_node_whose_vm_is_not_listed_has_none() -> None:
    path = started()
    path.node_is("cccc", make_node("cccc", instance_id="1003"))
    await FirstFill(path.env).run()
    assert path.env.knowledge.memory(GROUP_KEY).absent == {vm("cccc")}


async def test_a_list_that_fails_leaves_the_reading_to_each_groups_first_look() -> None:
    path = started()
    path.cloud.fail("list_instances", Retry("Not now.", "503"))
    await FirstFill(path.env).run()
    assert not path.env.knowledge.memory(GROUP_KEY).filled
    await path.look(wake(Scope.ALL, kind="start"))
    assert path.reads.count("get_instance") == 2
    assert path.ready == ("True", "Ready")


async def test_a_group_without_a_mig_is_not_asked_for() -> None:
    path = EventPath()
    path.dispatch.custom_resource(Kind.MIG, "DELETED", path._child(Kind.MIG))
    unborn = {**path.raw, "metadata": {**path.raw["metadata"], "name": "unborn", "uid": "u", "finalizers": [FINALIZER]}}
    path.dispatch.custom_resource(Kind.GROUP, "ADDED", unborn)
    await FirstFill(path.env).run()
    assert path.cloud.calls == []
