"""The fuzzer's invariants hold of what it starts from and of what it found, and its mutator makes what it says."""

import json
import random
from pathlib import Path

import pytest

from tests.fuzz.decode import documents, main, mutated
from tests.fuzz.invariants import check, respaced

DATA = Path(__file__).parents[1] / "data"
SEEDS = {
    **{path.name: path.read_bytes() for path in sorted(DATA.glob("audit-log/*.json"))},
    **{path.name: path.read_bytes() for path in sorted(DATA.glob("fuzz/*"))},
    **{name: document.encode() for name, document in documents().items()},
}


@pytest.mark.parametrize("name", SEEDS)
def test_the_invariants_hold_of_every_seed_and_every_find(name: str) -> None:
    check(SEEDS[name])


def test_other_blanks_are_other_bytes_of_the_same_value() -> None:
    seed = SEEDS["bootstrap"]
    again = respaced(seed)
    assert again is not None
    assert again != seed
    assert json.loads(again) == json.loads(seed)
    assert respaced(b"no JSON") is respaced(b"1e999") is None


def test_a_mutation_is_other_json_or_none() -> None:
    outcomes = [mutated(SEEDS["page"], random.Random(seed)) for seed in range(100)]
    made = [outcome for outcome in outcomes if outcome is not None]
    assert 20 < len(made) < 80
    for outcome in made:
        json.loads(outcome)
    assert len(set(made)) > 20
    assert {mutated(b"no JSON", random.Random(seed)) for seed in range(10)} == {None}


def test_where_there_is_no_atheris_fuzzing_is_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["decode.py", "--seconds", "1"])
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert main() == 0
    said = capsys.readouterr().out
    assert said.startswith("make fuzz: skipped, atheris has no wheel for ")
    assert "riscv64" in said
