"""What cannot work is refused with what to change, and costs no call of Compute Engine."""

import json
import re
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.pubsub_v1 import PublisherAsyncClient, PubsubMessage
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport

from tests.api.bad_crs import BAD_CRS
from tests.scenarios.cluster import Kubectl, RefusedError
from tests.scenarios.groups import sample
from tests.scenarios.harness import Bench, until
from tests.scenarios.programs import run
from tests.scenarios.refusals import FOREIGN, MESSAGES, REJECTED, SETTINGS, Rejected

#: Those that are refused when they are made; the others when they are changed, which tests/api holds.
BAD_NEW_CRS = [bad for bad in BAD_CRS if bad.stored is None]


async def test_a_cr_that_cannot_work_is_refused_without_a_call_of_compute_engine(stage: Bench) -> None:
    assert len(BAD_NEW_CRS) >= 12
    for bad in BAD_NEW_CRS:
        with pytest.raises(RefusedError) as refusal:
            await stage.cluster.create(bad.manifest)
        assert refusal.value.code == 422, bad.about
        for words in bad.refusals:
            assert words in refusal.value.message, bad.about
    for rejected in REJECTED:
        await _is_rejected(stage, rejected)
    calls = await stage.control.calls()
    assert set(calls.of_operator("compute")) == {method for each in REJECTED for method in each.reads}
    assert calls.effective("compute") == {}


async def _is_rejected(stage: Bench, rejected: Rejected) -> None:
    meta = rejected.manifest["metadata"]
    if rejected.template is not None:
        body = {"name": meta["name"], "properties": rejected.template}
        await stage.control("POST", "templates", body)
    await stage.cluster.create(rejected.manifest)
    said = await stage.until_reason(meta["namespace"], meta["name"], "RequestRejected", rejected.manifest["kind"])
    assert said["status"] == "False"
    assert rejected.message in said["message"], rejected.about


@pytest.mark.slow
@pytest.mark.kubectl
async def test_kubectl_shows_the_words_of_the_refusal(kubectl: Kubectl, tmp_path: Path) -> None:
    for number, bad in enumerate(BAD_NEW_CRS):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(bad.manifest))
        answer = await kubectl.ask("create", "--validate=ignore", "-f", str(file))
        assert answer.code == 1, bad.about
        for words in bad.refusals:
            assert words in answer.error, bad.about


@pytest.mark.parametrize(("variables", "said"), SETTINGS, ids=lambda value: "" if isinstance(value, dict) else value)
async def test_a_wrong_setting_is_one_line_and_exit_code_2(variables: dict[str, str], said: str) -> None:
    given = {"TPU_NODE_GROUP_SUBSCRIPTION": "projects/my-gcp-project/subscriptions/events"}
    code, out, error = await run("run", environment=given | variables)
    assert (code, out, error) == (2, "", f"tpu-node-group: {said}\n")


@pytest.mark.slow
async def test_a_message_that_cannot_be_read_is_counted_and_stops_nothing(stage: Bench) -> None:
    before = await stage.control.calls()
    await publish(stage, [data for data, _ in (*MESSAGES, *FOREIGN)])
    reasons = sorted(reason for _, reason in MESSAGES)
    # Five attempts each, then the dead-letter topic has them.
    await until("every bad message to be counted", _counted(stage, "tpu_events_unreadable_total"), _all(reasons, 5))
    ignored = [reason for _, reason in FOREIGN if reason]
    await until("foreign entries to be passed over", _counted(stage, "tpu_events_ignored_total"), _all(ignored, 1))
    await until("nobody's event", _text(stage, "/metrics"), lambda text: "tpu_events_foreign_total 1.0" in text)
    assert (await stage.control.calls()).since(before).of_operator("compute") == {}
    assert (await stage.ask_operator("/readyz"))[0] == 200
    await stage.cluster.create(sample("01-reservation-bulk-2x2x2.yaml"))
    await stage.until_ready("default", "my-tpu-node-group")


async def test_decode_says_why_a_message_cannot_be_read(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(len(MESSAGES))]
    for file, (data, _) in zip(files, MESSAGES, strict=True):
        file.write_bytes(data)
    code, out, error = await run("events", "decode", *map(str, files))
    named = [f"tpu-node-group: {file}: {reason}" for file, (_, reason) in zip(files, MESSAGES, strict=True)]
    assert (code, error.splitlines()) == (0, named)
    said = [json.loads(line) for line in out.splitlines()]
    assert said == [{"outcome": "unreadable", "reason": reason} for _, reason in MESSAGES]


async def publish(stage: Bench, messages: list[bytes]) -> None:
    """Anybody who may publish to the topic."""
    subscription = stage.ready["env"]["TPU_NODE_GROUP_SUBSCRIPTION"]
    topic = subscription.replace("/subscriptions/", "/topics/")
    async with grpc.aio.insecure_channel(stage.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"]) as channel:
        client = PublisherAsyncClient(transport=PublisherGrpcAsyncIOTransport(channel=channel))
        await client.publish(topic=topic, messages=[PubsubMessage(data=data) for data in messages], timeout=10)


def _text(stage: Bench, path: str) -> Any:
    async def look() -> str:
        return (await stage.ask_operator(path))[1]

    return look


def _counted(stage: Bench, metric: str) -> Any:
    """A counter by its one label `reason`."""

    async def look() -> dict[str, float]:
        text = (await stage.ask_operator("/metrics"))[1]
        return {reason: float(n) for reason, n in re.findall(rf'{metric}{{reason="([^"]*)"}} (\S+)', text)}

    return look


def _all(reasons: list[str], times: int) -> Any:
    return lambda seen: seen == dict.fromkeys(reasons, float(times))
