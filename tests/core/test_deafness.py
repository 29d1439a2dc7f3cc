"""What is said of a project's path, by what was expected and what came; and that every command in it can be pasted."""

import re
import shlex
from dataclasses import replace
from typing import Any

import pytest

from controller.core import deaf_words as words
from controller.core.deaf_words import Names
from controller.core.deafness import Evidence, Missed, Stream, judge, suspicious
from controller.core.verdicts import Verdict

LIMIT = 120.0
NAMES = Names("p-1", "projects/p-1/subscriptions/s")
UP = Stream(up=True)
MIG = Missed("insert of projects/p-1/zones/z/instanceGroupManagers/m", "gce_instance_group_manager", 130.0)
TEMPLATE = Missed("insert of projects/p-1/global/instanceTemplates/t", "gce_instance_template", 125.0)
VM = Missed("what became of projects/p-1/zones/z/instances/v", "gce_instance", 130.0, 130.0)
WHOLE = Evidence(own=True, stream=UP, proven=True, canary=3.0, answered=9.0, audit=60.0, anything=3.0)
THEIRS = replace(WHOLE, own=False)


def said(evidence: Evidence) -> tuple[str, str]:
    """Status and reason."""
    verdict = judge(evidence, NAMES, LIMIT)
    return verdict.status, str(verdict.reason)


def down(seconds: float, **fields: Any) -> Stream:
    """A stream that is not held."""
    return Stream(up=False, down_for=seconds, error="it broke", **fields)


FLOWING, UNKNOWN, BEHIND = ("True", "Flowing"), ("Unknown", "AwaitingFirstEvent"), ("True", "Behind")


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        pytest.param(WHOLE, FLOWING, id="what is expected comes"),
        pytest.param(replace(WHOLE, proven=False), UNKNOWN, id="nothing came yet, and nothing is late"),
        pytest.param(replace(WHOLE, canary=120.0), FLOWING, id="a canary may take as long as the limit"),
        pytest.param(replace(WHOLE, canary=121.0, outlived=2), ("False", "NoEvents"), id="two may be lost by chance"),
        pytest.param(replace(WHOLE, canary=121.0, outlived=3), ("False", "CanaryMissing"), id="audit entries come"),
        pytest.param(replace(WHOLE, canary=121.0, audit=None), ("False", "NoEvents"), id="nothing comes"),
        pytest.param(replace(WHOLE, canary=121.0, outlived=3, late=True), BEHIND, id="what comes is old"),
        pytest.param(replace(WHOLE, behind=True), BEHIND, id="what waits has been old for long"),
        pytest.param(replace(WHOLE, late=True), FLOWING, id="old entries alone are no news"),
        pytest.param(replace(WHOLE, stream=down(60)), FLOWING, id="a stream may be down for a while"),
        pytest.param(replace(WHOLE, stream=down(121)), ("False", "StreamDown"), id="not for so long"),
        pytest.param(replace(WHOLE, stream=down(1, refused=True)), ("False", "StreamDown"), id="refused"),
        pytest.param(replace(WHOLE, stream=down(30), canary=121.0), ("False", "StreamDown"), id="down, and missed"),
        pytest.param(
            replace(WHOLE, stream=down(2), canary=121.0, audit=70.0),
            ("False", "NoEvents"),
            id="a moment is not to blame",
        ),
        pytest.param(replace(WHOLE, trouble="no", trouble_for=60), FLOWING, id="unwritten for a while"),
        pytest.param(replace(WHOLE, trouble="no", trouble_for=121), ("False", "CanaryNotWritten"), id="unwritten"),
        pytest.param(
            replace(WHOLE, missed=(MIG,), audit=None), ("False", "ActivityMissing"), id="a mutation is missed"
        ),
        pytest.param(replace(WHOLE, missed=(MIG,)), FLOWING, id="others come: its operation may take its time"),
        pytest.param(
            replace(WHOLE, missed=(replace(MIG, ended=121.0),)), ("False", "ActivityMissing"), id="it has ended"
        ),
        pytest.param(replace(WHOLE, missed=(replace(MIG, age=119.0),), audit=None), FLOWING, id="it is not late yet"),
        pytest.param(replace(WHOLE, missed=(MIG,), audit=None, answered=140.0), FLOWING, id="the canary decides first"),
        pytest.param(replace(WHOLE, missed=(VM,)), ("False", "ActivityMissing"), id="what a resync found"),
        pytest.param(replace(THEIRS, missed=(MIG,), audit=None), ("False", "NoEvents"), id="another project is mute"),
        pytest.param(replace(THEIRS, missed=(VM,)), ("False", "ActivityMissing"), id="another lacks a type"),
        pytest.param(replace(THEIRS, canary=121.0, anything=70.0), ("False", "NoEvents"), id="no project is heard"),
        pytest.param(
            replace(THEIRS, canary=999.0, anything=None, trouble="no", trouble_for=999.0), FLOWING, id="unproven"
        ),
        pytest.param(replace(THEIRS, canary=121.0, anything=5.0), FLOWING, id="one is not, the other is"),
    ],
)
def test_the_verdict(evidence: Evidence, expected: tuple[str, str]) -> None:
    assert said(evidence) == expected


def test_what_flows_is_said_in_words_that_never_change() -> None:
    verdicts = {judge(replace(WHOLE, canary=age, audit=age, anything=age), NAMES, LIMIT) for age in range(100)}
    assert verdicts == {Verdict("True", "Flowing", "events arrive")}


def test_every_type_that_is_missed_is_named() -> None:
    message = judge(replace(WHOLE, missed=(MIG, TEMPLATE), audit=None), NAMES, LIMIT).message
    assert "does not admit gce_instance_group_manager and gce_instance_template" in message


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (WHOLE, False),
        (replace(WHOLE, canary=21.0), True),
        (replace(THEIRS, canary=21.0), False),
        (replace(THEIRS, missed=(replace(MIG, age=21.0),)), True),
    ],
)
def test_it_is_asked_again_long_before_the_limit(evidence: Evidence, expected: bool) -> None:  # noqa: FBT001
    assert suspicious(evidence, LIMIT) is expected


@pytest.mark.parametrize(
    "message",
    [
        words.nothing(NAMES, LIMIT),
        words.nothing(NAMES, LIMIT, MIG.what),
        words.canary_missing(NAMES, LIMIT),
        words.not_written(NAMES, "refused"),
        words.activity_missing(NAMES, LIMIT, MIG.what, [MIG.type]),
        *(words.stream_down(NAMES, "it broke", code) for code in ("", "NOT_FOUND", "PERMISSION_DENIED")),
    ],
)
def test_each_message_has_whole_commands_with_the_real_names(message: str) -> None:
    commands = [shlex.split(command) for command in re.findall("`([^`]+)`", message)]
    assert commands
    for command in commands:
        assert command[0] == "gcloud"
        assert "p-1" in " ".join(command) or "--organization=ORGANIZATION_ID" in command
    assert len(message) < 1500
