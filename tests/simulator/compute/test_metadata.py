"""setMetadata: the fingerprint in both shapes of conflict, the platform's own writes, and what the log tells of it."""

import json
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import compute_v1

from simulator.timing import Span, Timings
from simulator.world import WorldSettings
from tests.simulator.compute.bench import PROJECT, ZONE, Bench, Start, put_ready

TOKEN = "abcdef.0123456789abcdef"
QUIET = WorldSettings(platform_attributes=False)


async def _host(bench: Bench) -> Any:
    await bench.insert_group(target_size=1)
    return (await bench.running(1))[0]


async def _write(bench: Bench, host: Any, fingerprint: str, **items: str) -> Any:
    kept = {item.key: item.value for item in host.metadata.items}
    merged = [{"key": key, "value": value} for key, value in {**kept, **items}.items()]
    body = compute_v1.Metadata({"fingerprint": fingerprint, "items": merged})
    method = bench.instances.set_metadata_unary
    return await bench.call(method, project=PROJECT, zone=ZONE, instance=host.name, metadata_resource=body)


async def test_a_token_takes_effect_wakes_who_waits_and_is_told_by_its_id_only(start: Start) -> None:
    bench = await start(QUIET)
    put_ready(bench)
    host = await _host(bench)
    world, instance_id = bench.world, str(host.id)
    before = world.instance_metadata(instance_id)
    accepted = await _write(bench, host, host.metadata.fingerprint, **{"kubeadm-join-token": TOKEN})
    after = await world.metadata_changed(instance_id, before.etag)
    assert after.items == {**before.items, "kubeadm-join-token": TOKEN}
    assert await world.metadata_changed(instance_id, before.etag) == after
    ended = await bench.done(accepted)
    assert (ended.target_id, ended.operation_type, list(ended.error.errors)) == (host.id, "setMetadata", [])
    life = world.compute_history()["instances"][instance_id]
    assert [token["tokenId"] for token in life["tokens"]] == ["abcdef"]
    assert life["tokens"][0]["effectAt"] > life["runningAt"][0]
    shown = json.dumps([world.compute_state(), world.compute_history(), bench.log.entries])
    assert TOKEN.partition(".")[2] not in shown
    first, last = bench.log.of("instances.setMetadata")
    delta = {"addedMetadataKeys": ["kubeadm-join-token"]}
    assert [entry["protoPayload"]["metadata"]["instanceMetadataDelta"] for entry in (first, last)] == [delta, delta]
    assert last["protoPayload"]["request"]["Metadata Keys Added"] == ["kubeadm-join-token"]


async def test_a_stale_fingerprint_is_refused_with_412(start: Start) -> None:
    bench = await start(QUIET)
    put_ready(bench)
    host = await _host(bench)
    with pytest.raises(exceptions.PreconditionFailed) as caught:
        await _write(bench, host, "stale", key="value")
    assert caught.value.errors[0]["reason"] == "conditionNotMet"
    assert bench.calls.seen[-1] == ("instances.setMetadata", "412", "none")
    (entry,) = bench.log.of("instances.setMetadata")
    assert entry["severity"] == "ERROR"
    assert "operation" not in entry
    assert entry["resource"]["labels"]["instance_id"] == str(host.id)


async def test_a_stale_fingerprint_can_also_fail_inside_the_operation(start: Start) -> None:
    bench = await start(WorldSettings(platform_attributes=False, stale_fingerprint="fail-operation"))
    put_ready(bench)
    host = await _host(bench)
    ended = await bench.done(await _write(bench, host, "stale", key="value"))
    assert [error.code for error in ended.error.errors] == ["CONDITION_NOT_MET"]
    assert ended.http_error_status_code == 412
    assert "key" not in bench.world.instance_metadata(str(host.id)).items
    last = bench.log.of("instances.setMetadata")[-1]
    assert (last["severity"], last["operation"]["last"], last["protoPayload"]["status"]) == (
        "ERROR",
        True,
        {"code": 9, "message": "CONDITION_NOT_MET"},
    )


async def test_of_two_writers_with_the_same_fingerprint_the_second_loses(start: Start) -> None:
    bench = await start(QUIET)
    put_ready(bench)
    host = await _host(bench)
    await _write(bench, host, host.metadata.fingerprint, one="1")
    with pytest.raises(exceptions.PreconditionFailed):
        await _write(bench, host, host.metadata.fingerprint, two="2")


async def test_the_platform_writes_attributes_around_boot_and_so_moves_the_fingerprint(start: Start) -> None:
    bench = await start(timings=Timings(scale=0.05, platform_attributes=Span(4, 4)))
    put_ready(bench)
    host = await _host(bench)
    early = {item.key for item in host.metadata.items}
    assert early >= {"accelerator-type", "worker-id"}
    await bench.until(lambda: "tpu-env" in bench.world.instance_metadata(str(host.id)).items)
    late = bench.world.instance_metadata(str(host.id)).items.keys()
    assert late - early == {"tpu-env", "worker-network-endpoints"}
    with pytest.raises(exceptions.PreconditionFailed):
        await _write(bench, host, host.metadata.fingerprint, key="value")


async def test_writing_the_same_content_changes_nothing(start: Start) -> None:
    bench = await start(QUIET)
    put_ready(bench)
    host = await _host(bench)
    etag = bench.world.instance_metadata(str(host.id)).etag
    await bench.done(await _write(bench, host, host.metadata.fingerprint))
    assert bench.world.instance_metadata(str(host.id)).etag == etag
    assert ("instances.setMetadata", "200", "none") in bench.calls.seen


async def test_an_illegal_key_is_refused_without_showing_values(bench: Bench) -> None:
    host = await _host(bench)
    with pytest.raises(exceptions.BadRequest) as caught:
        await _write(bench, host, host.metadata.fingerprint, **{"cloud.google.com/x": "secret-value"})
    assert "cloud.google.com/x" in str(caught.value)
    assert "secret-value" not in str(caught.value)


def test_setting_metadata_takes_effect_at_once_by_default() -> None:
    assert Timings().metadata_effect.high == 0
