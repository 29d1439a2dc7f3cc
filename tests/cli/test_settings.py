"""`settings --from-terraform`: the file that the kustomization in deploy/ takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.cli import execute

SUBSCRIPTION = "projects/my-project/subscriptions/events"


def outputs(tmp_path: Path, **clusters: dict[str, Any]) -> str:
    path = tmp_path / "terraform.json"
    path.write_text(json.dumps({"operator_settings": {"sensitive": False, "value": clusters}}))
    return str(path)


def test_it_prints_what_terraform_put_out_as_lines_of_an_env_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = outputs(tmp_path, default={"subscription": SUBSCRIPTION, "cluster_name": "default", "project": None})
    assert execute(["settings", "--from-terraform", file]) == 0
    assert (
        capsys.readouterr().out == f"TPU_NODE_GROUP_CLUSTER_NAME=default\nTPU_NODE_GROUP_SUBSCRIPTION={SUBSCRIPTION}\n"
    )


def test_of_several_clusters_one_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = outputs(tmp_path, blue={"subscription": f"{SUBSCRIPTION}-b"}, green={"subscription": f"{SUBSCRIPTION}-g"})
    assert execute(["settings", "--from-terraform", file]) == 2
    assert "say --cluster-name, one of blue, green" in capsys.readouterr().err
    assert execute(["settings", "--from-terraform", file, "--cluster-name", "green"]) == 0
    assert capsys.readouterr().out == f"TPU_NODE_GROUP_SUBSCRIPTION={SUBSCRIPTION}-g\n"


def test_what_the_operator_would_refuse_is_refused_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = outputs(tmp_path, default={"subscription": "events"})
    assert execute(["settings", "--from-terraform", file]) == 2
    assert (
        f'{file}: operator_settings.default.subscription = "events" is not a subscription: write'
        in capsys.readouterr().err
    )


def test_run_takes_the_file_and_names_what_is_wrong_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = outputs(tmp_path, default={"subscription": "events"})
    assert execute(["run", "--from-terraform", file]) == 2
    assert 'operator_settings.default.subscription = "events" is not a subscription' in capsys.readouterr().err
