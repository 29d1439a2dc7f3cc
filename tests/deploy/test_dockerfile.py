"""The Dockerfile, by the rules of hadolint that matter here. It is parsed, not built: that needs a container engine."""

import re
from pathlib import PurePosixPath
from typing import Final

from tests.deploy.manifests import DEPLOY, ROOT

#: (instruction, its arguments on one line)
Instruction = tuple[str, str]
TEXT: Final = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def instructions() -> list[Instruction]:
    lines = [line for line in TEXT.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines)]


def stages() -> list[list[Instruction]]:
    found: list[list[Instruction]] = []
    for instruction in instructions():
        if instruction[0] == "FROM":
            found.append([])
        found[-1].append(instruction)
    return found


def test_it_has_two_stages_on_one_pinned_base_and_the_last_installs_nothing() -> None:
    build, last = stages()
    images = [stage[0][1].split()[0] for stage in (build, last)]
    assert len(set(images)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", images[0])
    assert [name for name, _ in last if name == "RUN"] == []


def test_it_runs_as_a_user_that_the_kubelet_can_see_is_not_root() -> None:
    _, last = stages()
    (user,) = (rest for name, rest in last if name == "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    assert dict(last)["ENTRYPOINT"] == '["tpu-node-group"]'
    assert dict(last)["CMD"] == '["run"]'


def test_everything_that_it_installs_is_locked_and_checked() -> None:
    installs = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert [re.search(r"pip install (.*)", each)[1] for each in installs] == [  # type: ignore[index]
        "--require-hashes -r deploy/requirements.lock",
        "--no-deps .",
    ]


def test_it_copies_what_is_there_and_what_the_ignore_file_lets_through() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    admitted = {line.removeprefix("!") for line in ignore if line.startswith("!")}
    sources = [
        source
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    ]
    assert "*" in ignore
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert {PurePosixPath(source).parts[0] for source in sources} == admitted


def test_instructions_are_upper_case_and_paths_of_the_workdir_absolute() -> None:
    known = {"FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions()} <= known
    assert [rest for name, rest in instructions() if name == "WORKDIR" and not rest.startswith("/")] == []
    assert [rest for name, rest in instructions() if name == "RUN" and ("sudo" in rest or "apt-get" in rest)] == []


def test_the_images_lock_is_a_part_of_the_lock() -> None:
    def pinned(text: str) -> dict[str, str]:
        blocks = re.split(r"\n(?=\S)", text.strip())
        return {block.split("==")[0]: block.replace("\\\n", "").split(" ; ")[0].split()[0] for block in blocks}

    whole = pinned((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    image = pinned((DEPLOY / "requirements.lock").read_text(encoding="utf-8"))
    assert image.items() <= whole.items()
    assert not {"pytest", "mypy", "ruff", "hatchling"} & image.keys()
