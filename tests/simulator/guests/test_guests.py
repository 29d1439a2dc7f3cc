"""A guest does what the startup script does, and then what a kubelet does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from simulator.guests import GuestSettings
from simulator.metadata.machines import ServiceAccount
from simulator.seams import JoinRequest
from simulator.timing import Span
from tests.simulator.guests.surroundings import AT_ONCE, World
from tests.simulator.metadata.machines import Machines, make_machine

TOKEN = "abcdef.0123456789abcdef"
FRESH = "fedcba.fedcba9876543210"
MACHINE = make_machine(
    1,
    kubeadm_control_plane_ip="10.0.0.2",
    kubeadm_ca_hash="sha256:" + "a" * 64 + ",sha256:" + "b" * 64,
    kubeadm_kubernetes_version="1.33",
    kubeadm_taints="google.com/tpu=present:NoSchedule",
    kube_labels="cloud.google.com/gke-tpu-topology=2x2x1",
)
STARTED = ["status tpu-1 NotReady -", "status tpu-1 Ready 0", "status tpu-1 Ready 4", "lease tpu-1"]
MakeWorld = Callable[..., World]


@pytest.fixture
async def make_world() -> AsyncIterator[MakeWorld]:
    worlds: list[World] = []

    def make(settings: GuestSettings = AT_ONCE, machines: Machines | None = None) -> World:
        worlds.append(World(machines or Machines(MACHINE), settings))
        return worlds[-1]

    yield make
    for world in worlds:
        await world.guests.close()
        assert world.guests.failures == []


def give(world: World, token: str | None) -> None:
    world.machines.set_attributes(MACHINE.id, kubeadm_join_token=token)


async def joined(make_world: MakeWorld, settings: GuestSettings = AT_ONCE) -> World:
    world = make_world(settings)
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.until_beating()
    world.acts.clear()
    world.entries.clear()
    return world


async def test_it_waits_for_its_token_joins_and_becomes_ready(make_world: MakeWorld) -> None:
    world = make_world()
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    assert (world.steps(), world.acts) == (["booted", "waiting"], [])
    give(world, TOKEN)
    await world.until_beating()
    assert world.steps() == ["booted", "waiting", "joining", "joined"]
    assert world.acts == ["join tpu-1", *STARTED]


async def test_it_joins_with_what_its_metadata_says(make_world: MakeWorld) -> None:
    world = await joined(make_world)
    assert world.kubernetes.requests == [
        JoinRequest(
            node_name="tpu-1",
            token=TOKEN,
            ca_hashes=("sha256:" + "a" * 64, "sha256:" + "b" * 64),
            provider_id="gce://example-project/us-central1-a/tpu-1",
            labels={"cloud.google.com/gke-tpu-topology": "2x2x1", "tpu.google.com/instance-id": MACHINE.id},
            taints=(("google.com/tpu", "present", "NoSchedule"),),
            kubelet_version="v1.33.0",
            endpoint="10.0.0.2:6443",
        )
    ]


async def test_another_change_of_its_metadata_is_no_token(make_world: MakeWorld) -> None:
    world = make_world()
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    world.machines.set_attributes(MACHINE.id, ssh_keys="someone")
    await world.machines.moved()
    await world.machines.until_waiting(MACHINE.id, 1)
    assert world.acts == []


async def test_its_entries_are_those_of_the_startup_script(make_world: MakeWorld) -> None:
    world = make_world()
    world.guests.powered_on(MACHINE.id)
    await world.until(lambda: world.steps() == ["booted", "waiting"])
    assert world.entries[0] == {
        "logName": "projects/example-project/logs/tpu-node-bootstrap",
        "resource": {
            "type": "gce_instance",
            "labels": {"project_id": "example-project", "zone": "us-central1-a", "instance_id": MACHINE.id},
        },
        "severity": "INFO",
        "jsonPayload": {"instance": "tpu-1", "step": "booted", "reason": ""},
    }


@pytest.mark.parametrize("account", [None, ServiceAccount("a@b", ("https://www.googleapis.com/auth/compute",))])
async def test_without_an_account_that_may_log_it_is_silent(
    make_world: MakeWorld, account: ServiceAccount | None
) -> None:
    world = make_world(machines=Machines(replace(MACHINE, service_account=account)))
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.until_beating()
    assert (world.steps(), world.acts) == ([], ["join tpu-1", *STARTED])


async def test_a_refusal_is_said_once_and_the_join_tried_again(make_world: MakeWorld) -> None:
    world = make_world(replace(AT_ONCE, retry=Span(0, 0)))
    world.kubernetes.refusals = ["not signed yet", "not signed yet", "not signed yet"]
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.until_beating()
    assert world.acts == ["join tpu-1"] * 4 + STARTED
    assert (world.steps(), world.reasons()) == (
        ["booted", "waiting", "joining", "failed", "joined"],
        ["not signed yet"],
    )


async def test_a_fresh_token_is_tried_at_once(make_world: MakeWorld) -> None:
    world = make_world()
    world.kubernetes.refusals = ["expired"]
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    give(world, FRESH)
    await world.until(lambda: world.steps()[-1] == "joined")
    assert world.steps() == ["booted", "waiting", "joining", "failed", "joining", "joined"]
    assert world.kubernetes.requests[-1].token == FRESH


async def test_a_token_that_is_taken_away_is_waited_for_again(make_world: MakeWorld) -> None:
    world = make_world()
    world.kubernetes.refusals = ["revoked"]
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    give(world, None)
    await world.machines.moved()
    await world.machines.until_waiting(MACHINE.id, 1)
    assert world.acts == ["join tpu-1"]
    give(world, FRESH)
    await world.until(lambda: world.steps()[-1] == "joined")


@pytest.mark.parametrize(
    ("attribute", "value", "named"),
    [
        ("kubeadm_join_token", "nonsense", "kubeadm-join-token"),
        ("kubeadm_ca_hash", "sha256:short", "kubeadm-ca-hash"),
        ("kubeadm_control_plane_ip", None, "kubeadm-control-plane-endpoint"),
        ("kubeadm_taints", "a", "kubeadm-taints"),
        ("kube_labels", "a", "kube-labels"),
    ],
)
async def test_attributes_that_cannot_work_are_named_and_no_call_is_made(
    make_world: MakeWorld, attribute: str, value: str | None, named: str
) -> None:
    world = make_world()
    give(world, TOKEN)
    world.machines.set_attributes(MACHINE.id, **{attribute: value})
    world.guests.powered_on(MACHINE.id)
    await world.until(lambda: "failed" in world.steps())
    assert (named in world.reasons()[0], world.acts) == (True, [])


async def test_no_token_is_in_what_it_reports(make_world: MakeWorld) -> None:
    world = make_world()
    world.kubernetes.refusals = ["expired"]
    give(world, TOKEN)
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    give(world, FRESH)
    await world.until_beating()
    assert "0123456789abcdef" not in f"{world.entries} {world.kubernetes.requests} {world.machines.machine(MACHINE.id)}"


async def test_after_a_stop_its_disk_has_it_joined(make_world: MakeWorld) -> None:
    world = await joined(make_world)
    give(world, None)
    world.guests.powered_off(MACHINE.id)
    world.guests.powered_on(MACHINE.id)
    await world.until_beating()
    assert (world.steps(), world.acts) == (["booted", "joined"], ["register tpu-1", *STARTED])


async def test_a_new_vm_of_the_same_name_has_a_disk_of_its_own(make_world: MakeWorld) -> None:
    world = await joined(make_world)
    world.guests.powered_off(MACHINE.id)
    world.machines.delete(MACHINE.id)
    successor = replace(make_machine(2), name="tpu-1")
    world.machines.put(successor)
    world.guests.powered_on(successor.id)
    await world.machines.until_waiting(successor.id, 1)
    assert (world.steps(), world.acts) == (["booted", "waiting"], [])


async def test_power_off_ends_everything_at_once(make_world: MakeWorld) -> None:
    world = await joined(make_world, replace(AT_ONCE, lease=Span(0, 0)))
    world.guests.powered_off(MACHINE.id)
    acts = len(world.acts)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(world.acts) == acts


async def test_a_vm_that_is_deleted_while_it_waits_ends_in_peace(make_world: MakeWorld) -> None:
    world = make_world()
    world.guests.powered_on(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 1)
    world.machines.delete(MACHINE.id)
    await world.machines.until_waiting(MACHINE.id, 0)
    assert world.acts == []


async def test_a_vm_of_a_brought_template_joins_by_itself(make_world: MakeWorld) -> None:
    world = make_world(machines=Machines(replace(make_machine(1), joins_by_itself=True)))
    world.guests.powered_on(MACHINE.id)
    await world.until_beating()
    assert (world.steps(), world.acts) == ([], ["register tpu-1", *STARTED])
    assert world.kubernetes.requests == [
        JoinRequest(
            node_name="tpu-1",
            token="",
            ca_hashes=(),
            provider_id="gce://example-project/us-central1-a/tpu-1",
            labels={},
            taints=(),
            kubelet_version="v1.34.1",
        )
    ]


async def test_a_kubelet_renews_its_lease_far_more_often_than_its_status(make_world: MakeWorld) -> None:
    world = await joined(make_world, replace(AT_ONCE, lease=Span(0.001, 0.002)))
    await world.until(lambda: len(world.acts) == 20)
    assert set(world.acts) == {"lease tpu-1"}


async def test_a_kubelet_posts_its_whole_status_now_and_then(make_world: MakeWorld) -> None:
    world = await joined(make_world, replace(AT_ONCE, status=Span(0.001, 0.002)))
    await world.until(lambda: len(world.acts) == 5)
    assert set(world.acts) == {"status tpu-1 Ready 4"}


async def test_sixty_four_idle_guests_cost_next_to_nothing(make_world: MakeWorld) -> None:
    machines = [make_machine(number) for number in range(64)]
    attributes = {key.replace("-", "_"): value for key, value in MACHINE.attributes.items()}
    world = make_world(machines=Machines(*machines))
    for machine in machines:
        world.machines.set_attributes(machine.id, **attributes, kubeadm_join_token=TOKEN)
        world.guests.powered_on(machine.id)
    await world.until(lambda: sum(act.startswith("lease") for act in world.acts) == 64)
    # Ready and idle, each has one timer, due when the next heartbeat is; nothing else is scheduled.
    acts = len(world.acts)
    for _ in range(100):
        await asyncio.sleep(0)
    assert len(world.acts) == acts
