"""The world as its other parts use it: brought templates, metadata that can be waited for, snapshots, names, dice."""

import asyncio
import random
from datetime import UTC, datetime

import pytest

from simulator.clock import log_time
from simulator.timing import Dice, Span, Timings
from simulator.world import ApiError, UnknownInstanceError
from simulator.world.names import Ids, partial, project_number, region_of, rest_time
from tests.simulator.world.worlds import GROUP, OPERATOR, PROJECT, Lab


async def test_the_state_after_a_life_equals_the_state_before(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    before = lab.world.compute_state()
    lab.add_group(2)
    await lab.all_running(2)
    assert lab.world.compute_state() != before
    lab.world.groups.delete(GROUP, OPERATOR)
    await lab.settled()
    assert lab.world.compute_state() == before
    lives = lab.world.compute_history()["instances"].values()
    assert all(life["createdAt"] < life["runningAt"][0] < life["deletedAt"] for life in lives)


async def test_vms_of_a_brought_template_may_join_by_themselves(lab: Lab) -> None:
    path = lab.world.add_template("template", {"machineType": "tpu7x-standard-4t"}, joins=True)
    assert path == f"projects/{PROJECT}/global/instanceTemplates/template"
    with pytest.raises(ApiError) as caught:
        lab.world.add_template(path, {}, joins=True)
    assert caught.value.code == 409
    lab.add_group(1)
    (host,) = await lab.all_running(1)
    assert host.joins
    assert lab.world.instance(host.id) is host


async def test_the_default_service_account_is_resolved(lab: Lab) -> None:
    scopes = ["https://www.googleapis.com/auth/logging.write"]
    properties = {"machineType": "m", "serviceAccounts": [{"email": "default", "scopes": scopes}]}
    lab.world.add_template("template", properties, joins=False)
    lab.add_group(1)
    (host,) = await lab.all_running(1)
    email = "123456789012-compute@developer.gserviceaccount.com"
    assert host.service_accounts == [{"email": email, "scopes": scopes}]


async def test_who_waits_for_metadata_hears_of_the_vms_end(lab: Lab) -> None:
    lab.add_template(provisioningModel="STANDARD")
    lab.add_group(1, on_failure="DO_NOTHING")
    (host,) = await lab.all_running(1)
    await lab.until(lambda: "tpu-env" in lab.world.instance_metadata(host.id).items)
    etag = lab.world.instance_metadata(host.id).etag
    waiting = asyncio.create_task(lab.world.metadata_changed(host.id, etag))
    lab.world.delete(host.name)
    with pytest.raises(UnknownInstanceError):
        await waiting
    with pytest.raises(UnknownInstanceError):
        lab.world.instance_metadata(host.id)


async def test_neither_metadata_nor_a_view_of_it_shows_values(lab: Lab) -> None:
    lab.world.add_template(
        "template", {"machineType": "m", "metadata": {"items": [{"key": "k", "value": "hidden"}]}}, joins=False
    )
    lab.add_group(1)
    (host,) = await lab.all_running(1)
    assert "hidden" not in repr(host)
    assert "hidden" not in repr(lab.world.instance_metadata(host.id))


def test_names_and_times_are_those_of_compute_engine() -> None:
    at = datetime(2026, 3, 4, 5, 6, 7, 89012, tzinfo=UTC)
    assert rest_time(at) == "2026-03-03T21:06:07.089-08:00"
    assert log_time(at) == "2026-03-04T05:06:07.089012Z"
    assert (
        partial("https://www.googleapis.com/compute/beta/projects/p/global/networks/n")
        == "projects/p/global/networks/n"
    )
    assert region_of("us-central1-c") == "us-central1"
    assert project_number(PROJECT) == "123456789012"
    other = project_number("another-project")
    assert (len(other), other == project_number("another-project"), other.isdigit()) == (12, True, True)


def test_ids_are_unused_decimal_numbers() -> None:
    ids = Ids(random.Random(1))
    drawn = [ids.numeric() for _ in range(1000)]
    assert len(set(drawn)) == 1000
    assert all(0 < int(text) < 2**63 for text in drawn)


def test_equal_seeds_draw_equal_durations_within_their_span_and_scale() -> None:
    one, two, half = Dice(3), Dice(3), Dice(3, scale=0.5)
    span = Span(1.0, 2.0)
    drawn = [one.seconds(span) for _ in range(20)]
    assert drawn == [two.seconds(span) for _ in range(20)]
    assert all(1.0 <= seconds <= 2.0 for seconds in drawn)
    assert [half.seconds(span) for _ in range(20)] == pytest.approx([seconds / 2 for seconds in drawn])


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="a span needs 0 <= low <= high"):
        Span(2.0, 1.0)


def test_by_default_the_vms_of_a_slice_run_within_two_seconds_of_each_other() -> None:
    timings = Timings()
    spans = (timings.pending, timings.provisioning, timings.staging)
    assert sum(span.low for span in spans) == 1.5
    assert sum(span.high for span in spans) - sum(span.low for span in spans) < 2.0
