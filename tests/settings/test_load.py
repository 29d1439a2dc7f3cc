"""Where settings come from, and what people read when one is wrong."""

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.settings import Settings, SettingsError, load

SUBSCRIPTION = "projects/my-project/subscriptions/events"


@pytest.fixture(autouse=True)
def _an_environment_without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {})


def settings(
    monkeypatch: pytest.MonkeyPatch,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Settings:
    environment = dict(environ or {})
    monkeypatch.setattr("os.environ", environment)
    return load({"subscription": SUBSCRIPTION} if flags is None else flags, environment, file)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    return path


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = written(
        tmp_path, f'subscription = "{SUBSCRIPTION}"\nretry_first = "2s"\nretry_max = "20s"\ncall_timeout = 7\n'
    )
    environ = {"TPU_NODE_GROUP_RETRY_FIRST": "3s", "TPU_NODE_GROUP_RETRY_MAX": "30s"}
    found = settings(monkeypatch, {"retry_first": "4s"}, environ, file)
    assert (found.retry_first, found.retry_max, found.call_timeout, found.token_life) == (
        timedelta(seconds=4),
        timedelta(seconds=30),
        timedelta(seconds=7),
        timedelta(hours=1),
    )


def test_the_environment_may_name_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = written(tmp_path, f'subscription = "{SUBSCRIPTION}"\n')
    assert settings(monkeypatch, {}, {"TPU_NODE_GROUP_CONFIG": str(file)}).subscription == SUBSCRIPTION


def test_the_project_is_the_one_of_the_subscription_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings(monkeypatch).project == "my-project"
    assert settings(monkeypatch, environ={"TPU_NODE_GROUP_PROJECT": "other-project"}).project == "other-project"


def test_the_subscription_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, {}, {"TPU_NODE_GROUP_SUBSCRIPTION": SUBSCRIPTION})
    assert (found.subscription, found.project) == (SUBSCRIPTION, "my-project")


def test_a_series_of_durations_is_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch, environ={"TPU_NODE_GROUP_OPERATION_LOOKS": "500ms, 2s,1m"})
    assert found.operation_looks == (timedelta(milliseconds=500), timedelta(seconds=2), timedelta(minutes=1))


def test_what_kubernetes_sets_for_a_service_of_our_name_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    links = {
        "TPU_NODE_GROUP_METRICS_SERVICE_HOST": "10.0.0.1",
        "TPU_NODE_GROUP_METRICS_SERVICE_PORT": "8080",
        "TPU_NODE_GROUP_METRICS_SERVICE_PORT_HTTP": "8080",
        "TPU_NODE_GROUP_METRICS_PORT": "tcp://10.0.0.1:8080",
        "TPU_NODE_GROUP_METRICS_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "TPU_NODE_GROUP_METRICS_PORT_8080_TCP_ADDR": "10.0.0.1",
    }
    assert settings(monkeypatch, environ=links) == settings(monkeypatch)


def test_settings_cannot_be_changed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings(monkeypatch)
    with pytest.raises(ValueError, match="frozen"):
        found.log_level = "debug"  # type: ignore[misc]


WRONG_FLAGS = {
    "subscription": ("events", "is not a subscription: write projects/PROJECT/subscriptions/NAME"),
    "project": ("Mine!", "must match ^([a-z][a-z0-9.:-]{4,61}[a-z0-9])?$"),
    "cluster_name": ("My Cluster", "must match ^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
    "compute_endpoint": (
        "127.0.0.1:80",
        "is not an endpoint: write http://HOST:PORT or https://HOST, or nothing for Google's",
    ),
    "pubsub_endpoint": ("http://127.0.0.1:80", "is not an endpoint: write HOST:PORT, or nothing for Google's"),
    "node_service_account": ("a b", 'is not a service account: write its email, "default", or nothing for none'),
    "boot_image_v6e": (
        "ubuntu",
        "is not an image: write projects/PROJECT/global/images/NAME or .../images/family/NAME",
    ),
    "resync_interval": ("soon", 'is not a duration: write a number with ms, s, m or h, such as "30s" or "5m"'),
    "call_timeout": ("0s", "must be longer than 0s"),
    "token_life": ("9" * 400 + "h", "is longer than any duration can be"),
    "operation_looks": ("5s,3s", 'must be durations that rise, each longer than 0s, such as "5s,15s,30s"'),
    "resync_jitter": ("2", "must be less than 1"),
    "compute_threads": ("many", "is not a whole number"),
    "live_tokens": ("0", "must be at least 1"),
    "max_outstanding_messages": ("1000000", "must be at most 100000"),
    "leader_election": ("perhaps", "must be true or false"),
    "listen": ("8080", "is not an address: write HOST:PORT"),
    "log_format": ("xml", "must be one of 'console' or 'json'"),
}


@pytest.mark.parametrize(("name", "value", "said"), [(name, *rest) for name, rest in WRONG_FLAGS.items()])
def test_a_wrong_flag_is_named_with_its_value_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, {"subscription": SUBSCRIPTION, name: value})
    assert caught.value.problems == [f'--{name.replace("_", "-")}="{value}" {said}']


def test_a_wrong_variable_is_named_as_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, environ={"TPU_NODE_GROUP_LOG_LEVEL": "loud"})
    assert caught.value.problems == [
        "TPU_NODE_GROUP_LOG_LEVEL=\"loud\" must be one of 'debug', 'info', 'warning' or 'error'"
    ]


def test_a_wrong_line_of_the_file_is_named_with_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = written(tmp_path, "live_tokens = 2.5\nidentity = 7\n")
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, file=file)
    assert caught.value.problems == [
        f"{file}: live_tokens = 2.5 is not a whole number",
        f"{file}: identity = 7 must be text",
    ]


def test_all_wrong_settings_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, {"listen": "x"}, {"TPU_NODE_GROUP_RETRY_MAX": "x"})
    assert caught.value.problems == [
        "subscription is not set: give --subscription or TPU_NODE_GROUP_SUBSCRIPTION",
        'TPU_NODE_GROUP_RETRY_MAX="x" is not a duration: write a number with ms, s, m or h, such as "30s" or "5m"',
        '--listen="x" is not an address: write HOST:PORT',
    ]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"LEASE_DURATION": "5s"}, "lease_renew_deadline (10s) must be shorter than lease_duration (5s)"),
        ({"LEASE_RENEW_DEADLINE": "2s"}, "lease_retry (2s) must be shorter than lease_renew_deadline (2s)"),
        ({"TOKEN_LIFE": "10m"}, "token_renew_margin (10m) must be shorter than token_life (10m)"),
        ({"RETRY_FIRST": "90s"}, "retry_first (90s) must not be longer than retry_max (1m)"),
    ],
)
def test_settings_that_do_not_fit_together_are_both_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, environ={f"TPU_NODE_GROUP_{name}": value for name, value in variables.items()})
    assert caught.value.problems == [said]


def test_an_unknown_variable_is_refused_with_the_nearest_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, environ={"TPU_NODE_GROUP_RESYNC_INTERVALL": "5m"})
    assert caught.value.problems == [
        "TPU_NODE_GROUP_RESYNC_INTERVALL is no setting: did you mean TPU_NODE_GROUP_RESYNC_INTERVAL?"
    ]


def test_an_unknown_line_of_the_file_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = written(tmp_path, "zzz = 1\n")
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, file=file)
    assert caught.value.problems == [f"{file}: zzz is no setting; docs/settings.md has them all"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read the settings file: No such file or directory"),
        (b"a = \xff", "the settings file is not UTF-8 text"),
        (b"a = ", "the settings file is not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "settings.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        settings(monkeypatch, file=file)
    assert caught.value.problems == [f"{file}: {said}"]


OUTPUTS = {
    "operator_settings": {
        "sensitive": False,
        "value": {
            "default": {
                "cluster_name": "default",
                "node_service_account": "tpu-nodes@my-project.iam.gserviceaccount.com",
                "project": "my-project",
                "subscription": SUBSCRIPTION,
            }
        },
    }
}


def put_out(tmp_path: Path, outputs: Any) -> Path:
    path = tmp_path / "terraform.json"
    path.write_text(json.dumps(outputs))
    return path


def of_clusters(*names: str, **more: Any) -> Any:
    value = {name: {"cluster_name": name, "subscription": f"{SUBSCRIPTION}-{name}"} | more for name in names}
    return {"operator_settings": {"value": value}}


def test_terraforms_outputs_are_settings_that_everything_else_beats(tmp_path: Path) -> None:
    terraform, file = put_out(tmp_path, OUTPUTS), written(tmp_path, 'project = "from-the-file"\n')
    read = load({"node_service_account": "default"}, {}, file, terraform=terraform)
    assert (read.subscription, read.project, read.node_service_account, read.cluster_name) == (
        SUBSCRIPTION,
        "from-the-file",
        "default",
        "default",
    )


def test_of_several_clusters_the_settings_name_says_whose_outputs_are_meant(tmp_path: Path) -> None:
    terraform = put_out(tmp_path, of_clusters("blue", "green"))
    assert load({"cluster_name": "green"}, {}, terraform=terraform).subscription == f"{SUBSCRIPTION}-green"


def test_what_terraform_left_open_is_not_set(tmp_path: Path) -> None:
    terraform = put_out(tmp_path, of_clusters("blue", node_service_account=None))
    assert load({}, {}, terraform=terraform).node_service_account == ""


@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        ([], "there is no output operator_settings: write the file by terraform output -json > FILE, where"),
        ({"operator_settings": {"value": {}}}, "operator_settings must have the settings of each cluster"),
        ({"operator_settings": {"value": {"blue": 1}}}, "operator_settings must have the settings of each cluster"),
        (
            of_clusters("blue", "green"),
            "operator_settings is of several clusters: say --cluster-name, one of blue, green",
        ),
        (
            of_clusters("blue", subscripton="x"),
            "operator_settings.blue.subscripton is no setting: did you mean subscription?",
        ),
        (
            of_clusters("blue", project="x"),
            'operator_settings.blue.project = "x" must match',
        ),
    ],
)
def test_outputs_that_say_no_settings_are_refused_with_what_would(outputs: Any, why: str, tmp_path: Path) -> None:
    path = put_out(tmp_path, outputs)
    with pytest.raises(SettingsError) as refused:
        load({}, {}, terraform=path)
    (problem,) = refused.value.problems
    assert problem.startswith(f"{path}: {why}")


def test_a_cluster_that_terraform_does_not_know_is_refused_with_those_that_it_does(tmp_path: Path) -> None:
    path = put_out(tmp_path, of_clusters("blue", "green"))
    with pytest.raises(SettingsError, match="operator_settings has no cluster red; it has blue, green"):
        load({"cluster_name": "red"}, {}, terraform=path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot read Terraform's outputs: No such file"),
        ("{", "Terraform's outputs are not JSON: write the file by"),
        ("[" * 100_000, "Terraform's outputs are not JSON: write the file by"),
    ],
)
def test_a_file_of_outputs_that_cannot_be_read_is_named(text: str | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "terraform.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load({}, {}, terraform=path)
    assert refused.value.problems[0].startswith(f"{path}: {why}")


def test_a_settings_file_nested_without_end_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "retry_first = " + "[" * 100_000)
    with pytest.raises(SettingsError) as refused:
        load({}, {}, file)
    assert refused.value.problems == [f"{file}: the settings file is nested too deeply"]
