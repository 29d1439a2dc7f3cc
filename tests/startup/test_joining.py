"""The whole script, run by bash with stand-ins for what it calls: from boot to joined, and every way aside."""

import asyncio
import re
from typing import Any

import pytest
import yaml

from tests.simulator.metadata.machines import Machines, make_machine
from tests.startup.conftest import MACHINE
from tests.startup.node import Logging, Node

TOKEN = "abcdef.0123456789abcdef"
FRESH = "fedcba.fedcba9876543210"
#: curl, which knows of the package repository only that it was asked.
_CURL = """#!/bin/bash
if [[ $* == *pkgs.k8s.io* ]]; then
  printf 'curl %s\\n' "${*: -1}" >>"$ROOT/journal"
else
  PATH=${PATH#*:} exec curl "$@"
fi
"""


async def finish(process: asyncio.subprocess.Process) -> str:
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode()


def configuration(node: Node) -> Any:
    return yaml.safe_load((node.root / "configuration").read_text())


@pytest.fixture
def with_token(machines: Machines) -> None:
    machines.set_attributes(MACHINE.id, kubeadm_join_token=TOKEN)


@pytest.mark.usefixtures("with_token")
async def test_it_joins_and_reports_each_step(node: Node, logging: Logging) -> None:
    await finish(await node.boot())
    assert logging.steps() == ["booted", "waiting", "joining", "joined"]
    assert node.journal() == [
        "swapoff -a",
        "modprobe br_netfilter",
        "sysctl --quiet --write net.ipv4.ip_forward=1",
        "sysctl --quiet --write net.ipv6.conf.default.forwarding=1",
        "systemctl enable --now containerd",
        "systemctl enable kubelet",
        "kubeadm version --output short",
        "kubeadm join",
    ]


@pytest.mark.usefixtures("with_token")
async def test_kubeadm_gets_all_that_the_node_must_bear_from_the_first_moment(node: Node) -> None:
    await finish(await node.boot())
    assert configuration(node) == {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "timeouts": {"discovery": "1m"},
        "discovery": {
            "bootstrapToken": {
                "token": TOKEN,
                "apiServerEndpoint": "10.0.0.2:6443",
                "caCertHashes": ["sha256:" + "a" * 64],
            }
        },
        "nodeRegistration": {
            "name": "tpu-1",
            "criSocket": "unix:///run/containerd/containerd.sock",
            "kubeletExtraArgs": [
                {"name": "provider-id", "value": "gce://example-project/us-central1-a/tpu-1"},
                {
                    "name": "node-labels",
                    "value": "cloud.google.com/gke-tpu-accelerator=tpu7x,cloud.google.com/gke-tpu-topology=2x2x1,"
                    f"tpu.google.com/instance-id={MACHINE.id}",
                },
            ],
            "taints": [{"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}],
        },
    }


@pytest.mark.usefixtures("with_token")
async def test_an_older_kubeadm_gets_the_older_form(node: Node, machines: Machines) -> None:
    machines.set_attributes(MACHINE.id, kubeadm_taints="", kube_labels=None)
    text = 'source "$SCRIPT"; WORK=$(mktemp -d "$ROOT/run/x.XXXXXX"); wait_for_token; join_configuration v1.30.9'
    rendered = yaml.safe_load(await node.output(text))
    assert rendered["apiVersion"] == "kubeadm.k8s.io/v1beta3"
    assert rendered["nodeRegistration"]["kubeletExtraArgs"] == {
        "provider-id": "gce:////",
        "node-labels": "tpu.google.com/instance-id=",
    }
    assert rendered["nodeRegistration"]["taints"] == []
    assert (rendered["discovery"]["timeout"], rendered.get("timeouts")) == ("1m", None)


@pytest.mark.parametrize(
    ("attributes", "endpoint"),
    [
        ("[kubeadm-control-plane-ip]=10.0.0.2", "10.0.0.2:6443"),
        ("[kubeadm-control-plane-ip]=2001:db8::1", "[2001:db8::1]:6443"),
        ("[kubeadm-control-plane-ip]=10.0.0.2 [kubeadm-control-plane-endpoint]=api.example:443", "api.example:443"),
    ],
)
async def test_the_endpoint_may_be_an_address_or_host_and_port(node: Node, attributes: str, endpoint: str) -> None:
    assert await node.output(f'source "$SCRIPT"; ATTRIBUTES=({attributes}); endpoint') == endpoint


@pytest.mark.usefixtures("with_token")
async def test_the_entry_is_that_of_this_vm_and_is_sent_as_its_account(node: Node, logging: Logging) -> None:
    await finish(await node.boot())
    by_step = {body["entries"][0]["jsonPayload"]["step"]: (header, body) for header, body in logging.requests}
    header, body = by_step["joined"]
    del body["entries"][0]["timestamp"]
    assert header == f"Bearer simulated-{MACHINE.id}"
    assert body == {
        "logName": "projects/example-project/logs/tpu-node-bootstrap",
        "resource": {
            "type": "gce_instance",
            "labels": {"project_id": "example-project", "zone": "us-central1-a", "instance_id": MACHINE.id},
        },
        "entries": [{"severity": "INFO", "jsonPayload": {"instance": "tpu-1", "step": "joined", "reason": ""}}],
    }


async def test_a_vm_without_an_account_joins_in_silence(node: Node, machines: Machines, logging: Logging) -> None:
    machines.put(make_machine(1, account=None, kubeadm_join_token=TOKEN, **underscored(machines)))
    await finish(await node.boot())
    assert (logging.steps(), node.journal()[-1]) == ([], "kubeadm join")


@pytest.mark.usefixtures("with_token")
async def test_a_dead_logging_api_does_not_keep_it_from_joining(node: Node, logging: Logging) -> None:
    await logging.stop()
    await finish(await node.boot())
    assert node.journal()[-1] == "kubeadm join"
    await logging.start()


@pytest.mark.usefixtures("with_token")
async def test_a_refused_join_is_reported_reset_and_tried_with_the_fresh_token(
    node: Node, machines: Machines, logging: Logging
) -> None:
    (node.root / "refusals").touch()
    process = await node.boot()
    await machines.until_waiting(MACHINE.id, 1)
    while not (node.root / "refused").exists():
        await machines.moved()
    machines.set_attributes(MACHINE.id, kubeadm_join_token=FRESH)
    printed = await finish(process)
    assert logging.steps() == ["booted", "waiting", "joining", "failed", "joining", "joined"]
    failed = next(entry for entry in entries(logging) if entry["jsonPayload"]["step"] == "failed")
    assert (failed["severity"], failed["jsonPayload"]["reason"]) == (
        "ERROR",
        'error execution phase preflight: no signature for token: "abcdef.<redacted>"',
    )
    assert [line for line in node.journal() if line.startswith("kubeadm")] == [
        "kubeadm version --output short",
        "kubeadm join",
        "kubeadm reset --force",
        "kubeadm join",
    ]
    assert [token in (node.root / "configuration").read_text() for token in (TOKEN, FRESH)] == [True, True]
    assert "0123456789abcdef" not in printed


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        pytest.param(
            "\t[ERROR CRI]: no runtime\n\t[ERROR Port-10250]: in use\nerror: error execution phase preflight: failed\n",
            "[ERROR CRI]: no runtime",
            id="what kubeadm checked",
        ),
        pytest.param(
            "[preflight]\nerror: error execution phase x: y\nTo see", "error execution phase x: y", id="an error"
        ),
        pytest.param("E: Could not get lock\nlast\n", "E: Could not get lock", id="an error of apt"),
        pytest.param("one\ntwo\n\n", "two", id="no word of an error"),
        pytest.param("", "no reason was given", id="nothing"),
    ],
)
async def test_the_reason_is_the_line_that_says_most(node: Node, said: str, reason: str) -> None:
    (node.root / "said").write_text(said)
    assert await node.output('source "$SCRIPT"; reason_in <"$ROOT/said"') == reason


@pytest.mark.usefixtures("with_token")
async def test_no_token_is_left_anywhere(node: Node, logging: Logging) -> None:
    printed = await finish(await node.boot())
    said = str(logging.requests)
    assert [TOKEN in text for text in (printed, said, node.texts(), str(node.journal()))] == [False] * 4
    assert list((node.root / "run").iterdir()) == []


@pytest.mark.usefixtures("with_token")
async def test_while_kubeadm_runs_the_token_is_in_no_file_and_no_process_shows_it(node: Node) -> None:
    # The pattern does not match itself.
    searching = r"""#!/bin/bash
case $1 in
  version) printf 'v1.36.3\n' ;;
  join)
    configuration=$(cat "$3")
    grep -c '0123456789abcde[f]' <<<"$configuration" >"$ROOT/read"
    grep -rlsa '0123456789abcde[f]' "$ROOT" /proc/[0-9]*/cmdline /proc/[0-9]*/environ >"$ROOT/found"
    ;;
esac
true
"""
    node.command("kubeadm", searching)
    await finish(await node.boot())
    assert [(node.root / name).read_text() for name in ("read", "found")] == ["1\n", ""]


@pytest.mark.usefixtures("with_token")
async def test_a_vm_that_has_joined_does_not_join_again_when_it_boots(node: Node, logging: Logging) -> None:
    await finish(await node.boot())
    (node.root / "journal").unlink()
    logging.requests.clear()
    await finish(await node.boot())
    assert [line for line in node.journal() if line.startswith("kubeadm")] == []
    assert logging.steps() == ["booted", "joined"]


@pytest.mark.usefixtures("with_token")
async def test_a_vm_that_lost_its_credentials_says_so_and_takes_a_new_token(
    node: Node, machines: Machines, logging: Logging
) -> None:
    await finish(await node.boot())
    machines.set_attributes(MACHINE.id, kubeadm_join_token=None)
    (node.root / "etc/kubernetes/kubelet.conf").unlink()
    logging.requests.clear()
    process = await node.boot()
    await machines.until_waiting(MACHINE.id, 1)
    machines.set_attributes(MACHINE.id, kubeadm_join_token=FRESH)
    await finish(process)
    assert logging.steps() == ["booted", "failed", "joining", "joined"]


@pytest.mark.usefixtures("with_token")
async def test_a_disk_of_another_vm_is_reset_first(node: Node, logging: Logging) -> None:
    await finish(await node.boot())
    (node.root / "var/lib/tpu-node-bootstrap/joined").write_text("1\n")
    (node.root / "journal").unlink()
    logging.requests.clear()
    await finish(await node.boot())
    assert logging.steps() == ["booted", "waiting", "joining", "joined"]
    assert [line for line in node.journal() if line.startswith("kubeadm")] == [
        "kubeadm version --output short",
        "kubeadm reset --force",
        "kubeadm join",
    ]


@pytest.mark.parametrize(
    ("attribute", "value", "named"),
    [
        ("kubeadm_join_token", "not a token", "kubeadm-join-token"),
        ("kubeadm_ca_hash", None, "kubeadm-ca-hash"),
        ("kubeadm_control_plane_ip", None, "kubeadm-control-plane-endpoint"),
        ("kubeadm_taints", 'a=b:No", x: "', "kubeadm-taints"),
        ("kube_labels", "a=$(id)", "kube-labels"),
    ],
)
@pytest.mark.usefixtures("with_token")
async def test_attributes_that_cannot_work_are_named_and_waited_for(
    node: Node, machines: Machines, attribute: str, value: str | None, named: str
) -> None:
    machines.set_attributes(MACHINE.id, **{attribute: value})
    text = 'source "$SCRIPT"; WORK=$(mktemp -d "$ROOT/run/x.XXXXXX"); wait_for_token; problem_of_attributes'
    assert re.findall(r"kube[a-z-]+", await node.output(text))[0] == named
    assert node.journal() == []


@pytest.mark.usefixtures("with_token")
async def test_packages_are_installed_only_where_they_are_missing(node: Node) -> None:
    (node.root / "bin" / "kubelet").rename(node.root / "kubelet")
    node.command(
        "apt-get",
        '#!/bin/bash\nprintf "apt-get %s\\n" "$*" >>"$ROOT/journal"\n'
        '[[ $* == *kubelet* ]] && mv "$ROOT/kubelet" "$ROOT/bin/kubelet"\ntrue\n',
    )
    node.command("curl", _CURL)
    await finish(await node.boot())
    apt_get = "apt-get -o DPkg::Lock::Timeout=900 -o Acquire::Retries=3 --quiet --yes"
    assert [line for line in node.journal() if line.startswith(("apt", "curl"))] == [
        "curl https://pkgs.k8s.io/core:/stable:/v1.31/deb/Release.key",
        f"{apt_get} update",
        f"{apt_get} --allow-change-held-packages install kubeadm kubelet",
        "apt-mark hold kubeadm kubelet",
    ]
    key = node.root / "etc/apt/keyrings/kubernetes.asc"
    repository = (node.root / "etc/apt/sources.list.d/kubernetes.list").read_text()
    assert repository == f"deb [signed-by={key}] https://pkgs.k8s.io/core:/stable:/v1.31/deb/ /\n"


def underscored(machines: Machines) -> dict[str, str]:
    machine = machines.machine(MACHINE.id)
    assert machine is not None
    return {key.replace("-", "_"): value for key, value in machine.attributes.items()}


def entries(logging: Logging) -> list[dict[str, Any]]:
    return [entry for _, body in logging.requests for entry in body["entries"]]


@pytest.mark.usefixtures("with_token")
async def test_a_failed_installation_is_reported_and_finished_at_the_next_attempt(
    node: Node, machines: Machines, logging: Logging
) -> None:
    # The first apt-get finds its lists locked; the second brings containerd.
    (node.root / "bin" / "containerd").rename(node.root / "containerd")
    node.command(
        "apt-get",
        "#!/bin/bash\n"
        'if [[ ! -e $ROOT/locked ]]; then touch "$ROOT/locked"; echo "E: Could not get lock"; exit 100; fi\n'
        '[[ $* == *containerd* ]] && mv "$ROOT/containerd" "$ROOT/bin/containerd"\ntrue\n',
    )
    process = await node.boot()
    while not (node.root / "locked").exists():
        await machines.moved()
    machines.set_attributes(MACHINE.id, ssh_keys="someone")
    await finish(process)
    assert logging.steps() == ["booted", "failed", "waiting", "joining", "joined"]
    assert [entry["jsonPayload"]["reason"] for entry in entries(logging) if entry["severity"] == "ERROR"] == [
        "packages: E: Could not get lock"
    ]
    assert (node.root / "etc/containerd/config.toml").exists()
