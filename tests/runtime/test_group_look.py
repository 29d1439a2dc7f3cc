"""A group's looks over small ports: what is read for which wake, and what a VM goes through from RUNNING to joined."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.api.constants import FINALIZER, LABEL_INSTANCE_ID
from controller.api.resources import NodeSummary, TPUNodeGroup
from controller.core.children import child_key, child_manifest
from controller.core.failures import Gone, Rejected, Retry
from controller.core.model import Cause, Key, Kind, Scope, Wake
from controller.core.observed import MigView, NodeView, OperationError, OperationView, ResourceView
from controller.core.plan import Policy, Recheck
from controller.runtime.apply import Applier
from controller.runtime.dispatch import Dispatch
from controller.runtime.group_look import GroupLook
from controller.runtime.mailbox import Next
from controller.runtime.observe import Observer
from controller.runtime.statuses import StatusWriter
from controller.runtime.token_work import TokenWork
from tests.core.builders import BASE, GROUP, GROUP_KEY, UID, make_instance, make_node, make_ref, make_row, vm
from tests.runtime.virtual_time import BEGINNING
from tests.runtime.world import World

Json = dict[str, Any]
MIG = child_key(GROUP, Kind.MIG)
REF = make_ref(Kind.MIG)
READS = {"get", "get_instance", "list_instances", "list_managed_instances", "get_operation"}


def wake(scope: Scope, *names: str, kind: str = "test") -> Wake:
    """A wake of this scope for these instances."""
    cause = Cause(kind, BEGINNING)
    return Wake(scope, cause, dict.fromkeys(names, cause))


class Life(World):
    """The group with its children Ready, its MIG on GCE, and one look after another."""

    def __init__(self, **spec: Any) -> None:
        super().__init__()
        self.posts: list[tuple[Key, Wake]] = []
        self.node_views: dict[str, NodeView] = {}
        self.env.knowledge.nodes = self.node_views
        self.dispatch = Dispatch(self.env, lambda key, w: self.posts.append((key, w)), lambda _: None)
        manifest = GROUP.to_manifest()
        base = {"uid": UID, "resourceVersion": "1", "generation": 1, "finalizers": [FINALIZER]}
        self.raw: Json = {**manifest, "metadata": {**manifest["metadata"], **base}}
        self.raw["spec"] = {**self.raw["spec"], **spec}
        self.dispatch.custom_resource(Kind.GROUP, "ADDED", self.raw)
        for kind in (Kind.POLICY, Kind.TEMPLATE, Kind.MIG):
            self.dispatch.custom_resource(kind, "ADDED", self._child(kind))
        applier = Applier(self.env, TokenWork(self.env, signature_wait=0.1), self.auditor, self.dispatch.changed)
        self.looks = GroupLook(
            self.env,
            Observer(self.env),
            applier,
            StatusWriter(self.env),
            lambda key, w: self.posts.append((key, w)),
            lambda _: None,
        )
        patch_status = self.cluster.patch_status

        async def patching(key: Key, uid: str, patch: Json) -> Json:
            version = int(self.raw["metadata"]["resourceVersion"]) + 1
            self.raw["metadata"] = {**self.raw["metadata"], "resourceVersion": str(version)}
            self.cluster.answer = self.raw
            return await patch_status(key, uid, patch)

        self.cluster.patch_status = patching  # type: ignore[method-assign]
        self.mig({"running": 2})

    def _child(self, kind: Kind) -> Json:
        manifest = child_manifest(GROUP, kind, Policy())
        base = {"uid": f"uid-{kind}", "resourceVersion": "1", "finalizers": [FINALIZER]}
        ready = {"type": "Ready", "status": "True", "reason": "Created", "message": "", "lastTransitionTime": None}
        link = {"url" if kind is Kind.MIG else "uri": make_ref(kind).path}
        return {
            **manifest,
            "metadata": {**manifest["metadata"], **base},
            "status": {"conditions": [ready], **link},
        }

    @property
    def group(self) -> TPUNodeGroup:
        """The group as known."""
        found = self.env.knowledge.resources.group(GROUP_KEY)
        assert found is not None
        return found

    def mig(self, counts: dict[str, int], **fields: Any) -> None:
        """What the MIG says of itself."""
        view = MigView(2, is_stable=True, counts=counts, topologies={"2x2x2": "ACTIVE"}, **fields)
        self.cloud.resources[REF.path] = ResourceView(REF, "1", mig=view)

    def vm_is(self, suffix: str, id: str, status: str = "RUNNING") -> None:  # noqa: A002
        """A VM of the MIG, and its row."""
        self.cloud.instances[vm(suffix)] = make_instance(suffix, id=id, status=status)
        others = [row for row in self.cloud.rows if row.name != vm(suffix)]
        self.cloud.rows = (*others, make_row(suffix, id=id, status=status))

    def node_is(self, suffix: str, node: NodeView | None) -> None:
        """A Node came, changed or went."""
        old = self.node_views.pop(vm(suffix), None)
        if node is not None:
            self.node_views[vm(suffix)] = node
        self.dispatch.node(old, node)

    async def look(self, wake: Wake) -> Next:
        """One look; calls of earlier ones are forgotten."""
        self.cloud.calls.clear()
        self.cluster.calls.clear()
        return await self.looks.run(GROUP_KEY, self.group, wake)

    @property
    def reads(self) -> list[str]:
        """Reads of the last look."""
        return [call[0] for call in self.cloud.calls if call[0] in READS]

    @property
    def ready(self) -> tuple[str, str]:
        """Status and reason of Ready."""
        (condition,) = [c for c in self.group.status.conditions if c.type == "Ready"]
        return condition.status, condition.reason


async def begun() -> Life:
    """Both VMs run, and the group has been looked at once: both have their tokens."""
    life = Life()
    life.vm_is("aaaa", "1001")
    life.vm_is("bbbb", "1002")
    await life.look(wake(Scope.ALL))
    return life


def joined(suffix: str, id: str) -> NodeView:  # noqa: A002
    """A Node that has just joined and is Ready."""
    return replace(make_node(suffix, instance_id=id), heartbeat=BEGINNING)


async def ready_life() -> Life:
    """The whole slice is Ready."""
    life = await begun()
    life.node_is("aaaa", joined("aaaa", "1001"))
    life.node_is("bbbb", joined("bbbb", "1002"))
    await life.look(wake(Scope.NODES))
    await life.look(wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")))
    return life


async def test_at_first_sight_every_running_member_is_given_its_token() -> None:
    life = await begun()
    tokens = {token.instance_id: token.id for token in life.vault.of_group(GROUP_KEY)}
    assert tokens.keys() == {"1001", "1002"}
    for suffix, instance_id in (("aaaa", "1001"), ("bbbb", "1002")):
        value = life.cloud.written[vm(suffix)]["kubeadm-join-token"]
        token_id = tokens[instance_id]
        assert value == f"{token_id}.{life.cluster.secrets[token_id]}"
    assert life.ready == ("False", "AwaitingNodeJoin")


async def test_a_second_look_gives_no_second_token() -> None:
    life = await begun()
    for again in (wake(Scope.ALL), wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")), wake(Scope.NONE)):
        await life.look(again)
        assert life.cloud.count("set_metadata") + life.cluster.count("create_token_secret") == 0


async def test_a_join_revokes_and_scrubs_and_makes_the_group_ready() -> None:
    life = await ready_life()
    assert (life.vault.live, life.cluster.secrets) == (0, {})
    assert all("kubeadm-join-token" not in instance.metadata for instance in life.cloud.instances.values())
    assert life.ready == ("True", "Ready")


async def test_a_look_at_nodes_reads_nothing_of_gce() -> None:
    life = await ready_life()
    await life.look(wake(Scope.NODES))
    assert (life.cloud.calls, life.cluster.calls) == ([], [])


async def test_an_idle_resync_is_one_read_and_no_write() -> None:
    life = await ready_life()
    following = await life.look(wake(Scope.MIG | Scope.SPEC, kind="resync"))
    assert ([call[0] for call in life.cloud.calls], life.cluster.calls) == (["get"], [])
    assert [recheck.kind for recheck in following.rechecks] == ["resync"]
    drift = life.env.metrics.registry.get_sample_value("tpu_resync_drift_total", {"kind": "instances"})
    assert not drift


async def test_a_resync_that_finds_what_no_event_told_counts_it() -> None:
    life = await ready_life()
    life.mig({"running": 1, "terminated": 1})
    life.vm_is("aaaa", "1001", "TERMINATED")
    await life.look(wake(Scope.MIG | Scope.SPEC, kind="resync"))
    drift = life.env.metrics.registry.get_sample_value("tpu_resync_drift_total", {"kind": "instances"})
    assert (drift, life.ready) == (1, ("False", "InstanceLost"))
    (missed,) = life.env.knowledge.awaited.missed(REF.project, 1e9)
    assert missed.what == f"what became of projects/{REF.project}/zones/{REF.location}/instances/{vm('aaaa')}"


async def test_a_vm_on_its_way_that_a_resync_finds_running_is_no_drift_because_no_entry_says_running() -> None:
    life = Life()
    life.vm_is("aaaa", "1001")
    life.mig({"running": 1, "provisioning": 1})
    await life.look(wake(Scope.ALL))
    life.vm_is("bbbb", "1002")
    life.mig({"running": 2})
    await life.look(wake(Scope.MIG | Scope.SPEC, kind="resync"))
    assert life.env.metrics.registry.get_sample_value("tpu_resync_drift_total", {"kind": "instances"}) is None
    assert life.env.knowledge.awaited.missed(REF.project, 1e9) == ()


async def test_a_resync_finds_a_vm_that_was_made_anew_under_its_name_though_as_many_run_as_before() -> None:
    life = await ready_life()
    life.vm_is("aaaa", "2001")
    anew = replace(life.cloud.instances[vm("aaaa")], created=BEGINNING.replace(minute=1))
    life.cloud.instances[vm("aaaa")] = anew
    resync = wake(Scope.MIG | Scope.SPEC, kind="resync")
    await life.look(resync)
    assert (life.reads, life.cluster.count("delete_node")) == (["get"], 0)
    life.node_is("aaaa", replace(joined("aaaa", "1001"), ready=False))
    await life.look(wake(Scope.NODES))
    await life.look(resync)
    drift = life.env.metrics.registry.get_sample_value("tpu_resync_drift_total", {"kind": "instances"})
    assert (life.reads[:2], life.reads.count("get_instance"), drift) == (["get", "list_managed_instances"], 1, 1)
    assert life.cluster.count("delete_node") == 1


async def test_an_event_that_names_a_vm_reads_this_one() -> None:
    life = await ready_life()
    life.vm_is("aaaa", "1001", "STOPPING")
    await life.look(wake(Scope.INSTANCES, vm("aaaa")))
    assert [call[1:] for call in life.cloud.calls if call[0] in READS] == [("my-gcp-project", "us-central1-c", vm())]
    assert life.ready == ("False", "InstanceLost")


async def test_the_loss_of_a_host_cordons_the_slice_within_one_look() -> None:
    life = await ready_life()
    life.vm_is("aaaa", "1001", "TERMINATED")
    await life.look(wake(Scope.INSTANCES, vm("aaaa")))
    cordoned = [call[1:] for call in life.cluster.calls if call[0] == "cordon_node"]
    assert cordoned == [(vm(s), f"node-uid-{s}", "default/slice") for s in ("aaaa", "bbbb")]


async def test_a_vm_that_was_replaced_gets_its_token_when_its_stale_node_is_gone() -> None:
    life = await ready_life()
    life.vm_is("aaaa", "2001")
    created = BEGINNING.replace(minute=1)
    life.cloud.instances[vm("aaaa")] = replace(life.cloud.instances[vm("aaaa")], created=created)
    await life.look(wake(Scope.INSTANCES, vm("aaaa")))
    assert life.cluster.count("delete_node") == 1
    assert life.cluster.count("create_token_secret") == 0
    life.node_is("aaaa", None)
    await life.look(wake(Scope.NODES))
    assert [call[2] for call in life.cluster.calls if call[0] == "create_token_secret"] == ["2001"]


async def test_a_vm_of_our_name_that_the_mig_does_not_list_gets_nothing() -> None:
    life = await ready_life()
    life.cloud.instances[vm("cccc")] = make_instance("cccc", id="6666")
    for _ in range(2):
        await life.look(wake(Scope.INSTANCES, vm("cccc")))
        assert (life.cluster.count("create_token_secret"), life.cloud.count("set_metadata")) == (0, 0)


async def test_a_vm_whose_row_came_late_is_given_its_token_by_the_look_that_sees_it() -> None:
    life = Life()
    life.cloud.instances[vm()] = make_instance()
    await life.look(wake(Scope.ALL))
    await life.look(wake(Scope.INSTANCES, vm()))
    assert life.vault.live == 0
    life.vm_is("aaaa", "1001")
    await life.look(wake(Scope.INSTANCES, vm()))
    assert life.vault.live == 1


async def test_a_reused_name_is_given_no_token_of_the_earlier_vm() -> None:
    life = await begun()
    (old,) = [t.id for t in life.vault.of_group(GROUP_KEY) if t.instance == vm()]
    life.vm_is("aaaa", "2001")
    await life.look(wake(Scope.INSTANCES, vm()))
    assert ("delete_token_secret", old) in life.cluster.calls
    (new,) = [t for t in life.vault.of_group(GROUP_KEY) if t.instance == vm()]
    assert new.instance_id == "2001"


async def test_after_a_restart_a_secret_that_nothing_points_at_is_revoked_before_the_next_is_made() -> None:
    life = Life()
    life.vm_is("aaaa", "1001")
    lost, _ = life.vault.mint(GROUP_KEY, make_instance(), BEGINNING)
    life.vault.injected(lost.id)
    await life.look(wake(Scope.ALL))
    calls = [call[:2] for call in life.cluster.calls if call[0].endswith("_token_secret")]
    assert calls[0] == ("delete_token_secret", lost.id)
    assert [name for name, _ in calls] == ["delete_token_secret", "create_token_secret"]


async def test_an_injection_that_failed_in_its_operation_is_made_again_when_its_event_comes() -> None:
    life = await begun()
    (first,) = [t.id for t in life.vault.of_group(GROUP_KEY) if t.instance == vm()]
    life.cloud.instances[vm()] = make_instance()
    conflict = OperationError("CONDITION_NOT_MET", "Invalid fingerprint.")
    life.cloud.operations[f"set-{vm()}"] = OperationView(f"set-{vm()}", done=True, error=conflict)
    await life.look(wake(Scope.INSTANCES, vm(), kind="instance.metadata.last"))
    (second,) = [t.id for t in life.vault.of_group(GROUP_KEY) if t.instance == vm()]
    assert (first != second, ("delete_token_secret", first) in life.cluster.calls) == (True, True)
    assert life.cloud.instances[vm()].metadata.token_id == second


async def test_a_failed_action_is_retried_where_it_failed() -> None:
    life = Life()
    life.vm_is("aaaa", "1001")
    life.cloud.fail("set_metadata", Retry("timeout"))
    following = await life.look(wake(Scope.ALL))
    assert following.retry is not None
    assert (following.retry.scope, list(following.retry.instances)) == (Scope.INSTANCES, [vm()])
    assert following.again is None


async def test_a_refusal_is_told_and_waits_for_somebody_to_act() -> None:
    life = Life()
    life.vm_is("aaaa", "1001")
    life.cloud.fail("set_metadata", Rejected("Grant compute.instances.setMetadata.", "403"))
    following = await life.look(wake(Scope.ALL))
    assert (life.ready, following.retry_after) == (("False", "ReconcileError"), 300)


async def test_a_mig_that_is_gone_has_no_vms() -> None:
    life = Life()
    life.cloud.fail("list_managed_instances", Gone("gone", "404"), Gone("gone", "404"))
    del life.cloud.resources[REF.path]
    await life.look(wake(Scope.INSTANCES))
    assert life.ready == ("False", "Provisioning")


async def test_rows_that_are_not_found_though_their_mig_is_are_asked_for_again() -> None:
    life = await ready_life()
    life.cloud.fail("list_managed_instances", Gone("gone", "404"))
    with pytest.raises(Retry):
        await life.look(wake(Scope.INSTANCES))
    assert life.ready == ("True", "Ready")


async def test_a_vm_that_is_not_found_though_its_row_says_that_it_runs_costs_no_node() -> None:
    life = await ready_life()
    lost = life.cloud.instances.pop(vm())
    following = await life.look(wake(Scope.INSTANCES, vm()))
    assert {call[0] for call in life.cluster.calls if "node" in call[0]} == {"cordon_node"}
    assert following.rechecks[0].kind == "follow_up"
    life.cloud.instances[vm()] = lost
    await life.look(following.rechecks[0].wake)
    assert life.ready == ("True", "Ready")


async def test_a_name_that_an_event_made_up_is_not_kept() -> None:
    life = await ready_life()
    await life.look(wake(Scope.INSTANCES, vm("zzzz")))
    assert (life.reads, life.env.knowledge.memory(GROUP_KEY).absent) == (["get_instance"], set())


async def test_a_vm_that_cannot_be_read_holds_up_no_other() -> None:
    life = Life()
    await life.look(wake(Scope.ALL))
    life.vm_is("aaaa", "1001")
    life.vm_is("bbbb", "1002")
    life.cloud.fail("get_instance", Retry("the backend of this VM is away", "503"))
    following = await life.look(wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")))
    assert life.cloud.written.keys() == {vm("bbbb")}
    assert following.retry == wake(Scope.INSTANCES, vm("aaaa"), kind="retry")
    await life.look(following.retry)
    assert life.cloud.written.keys() == {vm("aaaa"), vm("bbbb")}


async def test_a_vm_that_cannot_be_read_again_and_again_is_told_in_the_status() -> None:
    life = await begun()
    told = []
    for _ in range(3):
        life.cloud.fail("get_instance", Retry("the backend of this VM is away", "503"))
        await life.look(wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")))
        told.append(life.ready)
    waiting = ("False", "AwaitingNodeJoin")
    assert told == [waiting, waiting, ("Unknown", "ReconcileError")]
    await life.look(wake(Scope.INSTANCES, vm("aaaa")))
    assert life.ready == waiting


async def test_before_the_first_fill_a_vm_that_cannot_be_read_is_no_vm_that_is_not_there() -> None:
    life = Life()
    life.vm_is("aaaa", "1001")
    life.vm_is("bbbb", "1002")
    life.cloud.fail("get_instance", Retry("the backend of this VM is away", "503"))
    with pytest.raises(Retry, match="away"):
        await life.look(wake(Scope.INSTANCES, vm("aaaa"), vm("bbbb")))


async def test_a_mig_that_was_read_is_told_to_its_child() -> None:
    life = await ready_life()
    life.posts.clear()
    look = wake(Scope.MIG)
    await life.look(look)
    assert [(key, w.scope) for key, w in life.posts] == [(MIG, Scope.SPEC)]
    life.posts.clear()
    await life.look(wake(Scope.NODES))
    assert life.posts == []


async def test_a_node_of_another_id_is_labelled_when_it_was_adopted() -> None:
    life = await begun()
    life.node_is("aaaa", joined("aaaa", "999"))
    await life.look(wake(Scope.INSTANCES, vm()))
    labelled = [call[1:] for call in life.cluster.calls if call[0] == "label_node"]
    assert labelled == [(vm(), "node-uid-aaaa", {LABEL_INSTANCE_ID: "1001"})]


@pytest.mark.parametrize("instance_id", ["", "999"], ids=["none", "another"])
async def test_a_node_without_its_vms_id_is_not_judged_before_that_vm_was_read(instance_id: str) -> None:
    """The VM is known by its row alone at first: a Node that joined just before would seem to be an earlier one's."""
    life = await begun()
    before = BEGINNING - timedelta(seconds=3)
    life.node_is("aaaa", replace(joined("aaaa", instance_id), created=before, heartbeat=before))
    following = await life.look(wake(Scope.NODES))
    assert life.cluster.count("delete_node") == 0
    assert Recheck(BEGINNING, "unknown_node", Scope.INSTANCES, (vm(),)) in following.rechecks
    await life.look(wake(Scope.INSTANCES, vm()))
    assert life.cluster.count("delete_node") == 0
    assert life.group.status.node_summary == NodeSummary(ready=1, reconciling=1, failed=0)


async def test_counts_of_hosts_are_written_a_few_times_a_second_at_most() -> None:
    life = await ready_life()
    life.node_is("aaaa", replace(joined("aaaa", "1001"), ready=False))
    await life.look(wake(Scope.NODES))
    assert life.cluster.count("patch_status") == 1
    life.node_is("bbbb", replace(joined("bbbb", "1002"), ready=False))
    following = await life.look(wake(Scope.NODES))
    assert life.cluster.count("patch_status") == 0
    due = BEGINNING + timedelta(milliseconds=250)
    assert Recheck(due, "details", Scope.NONE) in following.rechecks
    life.clock.advance(0.25)
    await life.look(wake(Scope.NONE))
    assert life.cluster.count("patch_status") == 1
    assert life.group.status.nodes_ready == "0/2"


def test_the_mig_of_these_tests_is_the_groups() -> None:
    assert REF.name == BASE
