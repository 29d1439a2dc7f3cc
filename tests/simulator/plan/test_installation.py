"""What is in a plan is in the world, and what is missing there is missing here."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from simulator.event_path import Pieces, planned
from simulator.logging.sink_filter import sink_filter
from simulator.permissions import role_permissions
from simulator.plan import Installation, PlanError, PlannedSink, installation, read_plan
from simulator.plan.resources import Plan
from simulator.pubsub.subscription import DeadLetterPolicy, RetryPolicy, SubscriptionConfig
from tests.terraform.kept import Json, edited, kept, without, written

_PROJECT: Final = "projects/my-gcp-project"
_TOPIC: Final = f"{_PROJECT}/topics/tpu-node-group-events"
_OWN: Final = f"{_PROJECT}/subscriptions/tpu-node-group-events-default"
_PIPELINE: Final = "module.event_pipeline"
_IDENTITY: Final = "module.controller_identity"
_SINK: Final = PlannedSink(
    f"{_PROJECT}/sinks/tpu-node-group-events", "my-gcp-project", sink_filter(), disabled=False, publisher=True
)

COMPLETE: Final = Installation(
    project="my-gcp-project",
    cluster="default",
    topic=_TOPIC,
    subscription=_OWN,
    topics=(f"{_TOPIC}-dead-letter", _TOPIC),
    subscriptions=(
        SubscriptionConfig(
            _OWN,
            _TOPIC,
            60,
            RetryPolicy(1.0, 60.0),
            DeadLetterPolicy(f"{_TOPIC}-dead-letter", 5),
            {"tpu-node-group-cluster": "default"},
            expires=None,
        ),
        SubscriptionConfig(
            f"{_PROJECT}/subscriptions/tpu-node-group-events-dead-letter", f"{_TOPIC}-dead-letter", expires=None
        ),
        SubscriptionConfig(f"{_PROJECT}/subscriptions/tpu-node-group-events-probe", _TOPIC, expires=None),
    ),
    sink=_SINK,
    agent=frozenset({_OWN, f"{_TOPIC}-dead-letter"}),
    subscriber=True,
    logger=True,
    nodes_logger=True,
    node_service_account="tpu-nodes@my-gcp-project.iam.gserviceaccount.com",
    permissions=frozenset(role_permissions()),
    act_as=True,
    services=frozenset(
        f"{api}.googleapis.com" for api in ("cloudresourcemanager", "compute", "iam", "logging", "monitoring", "pubsub")
    ),
)


def read(plan: Json, cluster: str = "") -> Installation:
    return installation(Plan(plan), cluster)


def test_the_complete_example_makes_everything_that_there_should_be() -> None:
    assert read(kept()) == COMPLETE
    assert planned(COMPLETE) == Pieces(filter=sink_filter(), project="my-gcp-project")


MISSING: Final[dict[str, dict[str, Any]]] = {
    f"{_PIPELINE}.google_logging_project_sink.events": {"sink": None},
    f"{_PIPELINE}.google_pubsub_topic_iam_member.writer": {"sink": replace(_SINK, publisher=False)},
    f"{_PIPELINE}.google_pubsub_topic_iam_member.dead_letter_publisher": {"agent": frozenset({_OWN})},
    f"{_PIPELINE}.google_pubsub_subscription_iam_member.dead_letter_subscriber": {
        "agent": frozenset({f"{_TOPIC}-dead-letter"})
    },
    f"{_PIPELINE}.google_pubsub_subscription.dead_letters": {
        "subscriptions": (COMPLETE.subscriptions[0], COMPLETE.subscriptions[2])
    },
    f"{_PIPELINE}.google_pubsub_topic.dead_letters": {
        "topics": (_TOPIC,),
        "subscriptions": (replace(COMPLETE.subscriptions[0], dead_letter=None), COMPLETE.subscriptions[2]),
        "agent": frozenset({_OWN}),
    },
    f"{_PIPELINE}.google_pubsub_topic.events": {
        "topic": "",
        "topics": (f"{_TOPIC}-dead-letter",),
        "subscriptions": (COMPLETE.subscriptions[1],),
        "sink": None,
    },
    f"{_IDENTITY}.google_pubsub_subscription_iam_member.subscriber": {"subscriber": False},
    f"{_IDENTITY}.google_project_iam_member.log_writer": {"logger": False},
    f"{_IDENTITY}.google_project_iam_member.operator": {"permissions": frozenset()},
    f"{_IDENTITY}.google_service_account_iam_member.act_as": {"act_as": False, "node_service_account": ""},
    "module.node_identity.google_project_iam_member.log_writer": {"nodes_logger": False},
}


@pytest.mark.parametrize("address", MISSING)
def test_what_the_plan_has_not_the_world_has_not(address: str) -> None:
    assert read(without(kept(), address)) == replace(COMPLETE, **MISSING[address])


def test_without_a_sink_nothing_is_exported() -> None:
    assert planned(replace(COMPLETE, sink=None)) == Pieces(disabled=True, filter="", publisher=False)


def test_a_policy_of_dead_letters_that_is_not_there_moves_none() -> None:
    plan = edited(kept(), f'{_PIPELINE}.google_pubsub_subscription.cluster["default"]', dead_letter_policy=[])
    made = read(plan)
    assert (made.moves_dead_letters, COMPLETE.moves_dead_letters) == (False, True)
    assert made.subscriptions[0] == replace(COMPLETE.subscriptions[0], dead_letter=None)


def test_without_a_policy_of_expiry_a_subscription_goes_after_31_days() -> None:
    plan = edited(kept(), f'{_PIPELINE}.google_pubsub_subscription.cluster["default"]', expiration_policy=[])
    assert read(plan).subscriptions[0].expires == 31 * 86400


def test_another_role_is_not_the_one_that_is_needed() -> None:
    plan = edited(kept(), f"{_PIPELINE}.google_pubsub_topic_iam_member.writer", role="roles/pubsub.viewer")
    assert read(plan).sink == replace(_SINK, publisher=False)


def test_a_role_on_another_topic_is_none_on_this_one() -> None:
    plan = edited(kept(), f"{_PIPELINE}.google_pubsub_topic_iam_member.writer", topic="another")
    assert read(plan).sink == replace(_SINK, publisher=False)


def test_a_disabled_sink_and_another_filter_are_as_planned() -> None:
    plan = edited(kept(), f"{_PIPELINE}.google_logging_project_sink.events[0]", disabled=True, filter="severity>=ERROR")
    assert read(plan).sink == replace(_SINK, disabled=True, filter="severity>=ERROR")


def test_the_operator_may_be_named_by_its_email() -> None:
    email = "serviceAccount:tpu-node-group@my-gcp-project.iam.gserviceaccount.com"
    member = f"{_IDENTITY}.google_pubsub_subscription_iam_member.subscriber"
    assert read(edited(kept(), member, member=email)) == COMPLETE
    assert read(edited(kept(), member, member="user:jo@example.com")) == replace(COMPLETE, subscriber=False)


def test_of_several_clusters_one_is_chosen_by_name() -> None:
    made = read(kept("shared-project"), "green")
    own = {f"{_PROJECT}/subscriptions/tpu-node-group-events-{name}" for name in ("blue", "green")}
    assert made == replace(
        COMPLETE,
        cluster="green",
        subscription=f"{_PROJECT}/subscriptions/tpu-node-group-events-green",
        subscriptions=made.subscriptions,
        agent=frozenset({f"{_TOPIC}-dead-letter", *own}),
        node_service_account="tpu-nodes-green@my-gcp-project.iam.gserviceaccount.com",
        services=COMPLETE.services | {"iamcredentials.googleapis.com", "sts.googleapis.com"},
    )
    assert [each.name.rpartition("/")[2] for each in made.subscriptions] == [
        "tpu-node-group-events-blue",
        "tpu-node-group-events-green",
        "tpu-node-group-events-dead-letter",
    ]


@pytest.mark.parametrize(
    ("plan", "cluster", "why"),
    [
        (kept("shared-project"), "", "the plan has no one cluster '': say which of blue, green"),
        (kept("shared-project"), "red", "the plan has no one cluster 'red': say which of blue, green"),
        (
            without(kept(), f"{_PIPELINE}.google_pubsub_subscription.cluster"),
            "",
            "which subscription is the operator's? None has the label tpu-node-group-cluster",
        ),
        (
            {"planned_values": {"root_module": {}}, "configuration": {}},
            "",
            "the plan makes no subscription: there is nothing that an operator could take events from",
        ),
    ],
)
def test_a_plan_that_does_not_say_enough_is_refused(plan: Json, cluster: str, why: str) -> None:
    with pytest.raises(PlanError) as refused:
        read(plan, cluster)
    assert str(refused.value) == why


_HOW: Final = ": make one by terraform plan -out=planned && terraform show -json planned > plan.json"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("planned", f"is not JSON{_HOW}"),
        ("[]", f"is no plan{_HOW}"),
        ('{"values": {}, "format_version": "1.0"}', f"is no plan{_HOW}"),
        (
            '{"planned_values": {}, "configuration": {}, "format_version": "2.0"}',
            f"has the format 2.0; 1.x is known here{_HOW}",
        ),
    ],
)
def test_what_is_no_plan_is_refused_with_how_one_is_made(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "p").write_text(text, encoding="utf-8")
    with pytest.raises(PlanError) as refused:
        read_plan(tmp_path / "p")
    assert str(refused.value) == f"{tmp_path / 'p'} {why}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"cannot read .*: No such file or directory"):
        read_plan(tmp_path / "p")


def test_a_plan_is_read_from_its_file(tmp_path: Path) -> None:
    assert installation(read_plan(written(kept(), tmp_path))) == COMPLETE


@pytest.mark.parametrize(
    ("address", "argument"),
    [
        (f"{_PIPELINE}.google_pubsub_topic.events", "name"),
        (f'{_PIPELINE}.google_pubsub_subscription.cluster["default"]', "name"),
        (f"{_PIPELINE}.google_logging_project_sink.events[0]", "name"),
        ("module.node_identity.google_service_account.node", "account_id"),
    ],
)
def test_a_name_that_apply_will_tell_is_asked_for(address: str, argument: str) -> None:
    with pytest.raises(PlanError) as refused:
        read(edited(kept(), address, **{argument: None}))
    assert str(refused.value) == (f"{address}: the plan does not say its {argument}, which must be known before apply")


def test_a_plan_with_anything_in_the_wrong_place_is_read_or_refused(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - to repeat it
    draw = random.Random(seed)
    text = json.dumps({part: kept()[part] for part in ("format_version", "planned_values", "configuration")})
    places = [place for place in _places(json.loads(text)) if len(place) > 1]
    refused = 0
    for place in draw.sample(places, 60):
        plan = json.loads(text)
        _put(plan, place, draw.choice([None, "x", 5, [], {}, ["x"], {"a": 1}, [None]]))
        try:
            installation(read_plan(written(plan, tmp_path)))
        except PlanError:
            refused += 1
    assert refused > 0


def test_a_plan_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(PlanError, match="is not JSON"):
        read_plan(tmp_path / "p")


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from _places(below, (*above, step))


def _put(value: Any, place: tuple[Any, ...], what: Any) -> None:
    *above, last = place
    for step in above:
        value = value[step]
    value[last] = what
