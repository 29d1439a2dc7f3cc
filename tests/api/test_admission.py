"""What is refused at admission, with which words, and what is not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.bad_crs import BAD_CRS, BadCr
from tests.api.good_crs import GOOD_CRS
from tests.api.manifests import changed, make_group
from tests.api.schemas import openapi, refusals

Json = dict[str, Any]

SAMPLES = Path(__file__).parent.parent / "data" / "cr"
KINDS = ("TPUNodeGroup", "WorkloadPolicy", "InstanceTemplate", "ManagedInstanceGroup")


@pytest.mark.parametrize("bad", BAD_CRS, ids=lambda bad: bad.about)
def test_a_bad_manifest_is_refused_with_these_words(bad: BadCr) -> None:
    assert refusals(bad.manifest, bad.stored) == list(bad.refusals)


@pytest.mark.parametrize("about", GOOD_CRS)
def test_a_good_manifest_is_accepted_and_may_be_applied_again(about: str) -> None:
    assert (refusals(GOOD_CRS[about]), refusals(GOOD_CRS[about], GOOD_CRS[about])) == ([], [])


def _sample_manifests() -> Iterator[Any]:
    for path in sorted(SAMPLES.glob("*.yaml")):
        for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield pytest.param(manifest, id=f"{path.stem}:{manifest['kind']}")


@pytest.mark.parametrize("manifest", list(_sample_manifests()))
def test_manifests_of_the_reference_apply_unchanged(manifest: Json) -> None:
    assert refusals(manifest) == []


def _rules(schema: Json, path: str) -> Iterator[tuple[str, Json]]:
    """(path that is blamed, rule) of every rule below a schema."""
    for rule in schema.get("x-kubernetes-validations", []):
        yield (path + rule.get("fieldPath", "")).lstrip(".") or "<nil>", rule
    for name, child in schema.get("properties", {}).items():
        yield from _rules(child, f"{path}.{name}")


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_about_values_refuses_something_in_the_table(kind: str) -> None:
    refused = {text for bad in BAD_CRS if bad.manifest["kind"] == kind for text in bad.refusals}
    # A rule on a field that several kinds share is shown to work by any of them.
    shared = {text.partition(": ")[2] for bad in BAD_CRS for text in bad.refusals}

    def is_refused(path: str, rule: Json) -> bool:
        start = rule["message"].partition(":")[0] if "messageExpression" in rule else rule["message"]
        said = [text for text in refused if text.startswith(f"{path}: ")]
        return any(start in text for text in [*said, *shared]) or any("nodeCount must be" in text for text in said)

    silent = [
        (path, rule["rule"])
        for path, rule in _rules(openapi(kind), "")
        if "cannot be changed" not in rule["message"] and not is_refused(path, rule)
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("path", "value"),
    [("spec.recoveryPolicy", "RecreateSlice"), ("spec.bootstrapKubernetes.taint", False)],
)
def test_what_may_change_after_creation(path: str, value: object) -> None:
    assert refusals(changed(make_group(), {path: value}), make_group()) == []


def test_a_longer_name_from_before_the_rule_still_takes_finalizers_and_status() -> None:
    stored = changed(make_group(), {"metadata.name": "a" * 60})
    finalizing = changed(stored, {"metadata.finalizers": ["tpu.google.com/teardown"]})
    reporting = changed(stored, {"status.nodesReady": "0/2"})
    assert (refusals(finalizing, stored), refusals(reporting, stored)) == ([], [])


def test_a_spec_from_before_a_rule_still_takes_status() -> None:
    stored = make_group(topology="8x4x4", nodeCount=3)
    assert refusals(changed(stored, {"status.nodesReady": "0/3"}), stored) == []


def test_a_status_with_more_than_fifty_hosts_is_refused() -> None:
    hosts = [{"name": f"host-{i}", "phase": "Running"} for i in range(51)]
    said = refusals(changed(make_group(), {"status.nodes": hosts}), make_group())
    assert said[0] == "status.nodes: Too many: 51: must have at most 50 items"
