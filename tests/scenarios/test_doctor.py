"""doctor on an installation in which just one thing is broken: it names that check, and the mend, and nothing else.

Everything is looked at through the real clients, against the simulator's faces; the operator runs meanwhile.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from controller.doctor.examine import CHECKS, examine
from controller.doctor.findings import Status
from controller.settings import ENV_PREFIX, load
from simulator.clock import utc_now
from simulator.kube.certificates import server_context
from simulator.kube.controllers import Authority
from sinks.intake.subscription import client_for
from tests.api.manifests import changed, make_group
from tests.scenarios.faults import compute
from tests.scenarios.harness import Bench, bench, condition_of, until
from tests.scenarios.programs import run

pytestmark = pytest.mark.slow

Json = dict[str, Any]

PROJECT: Final = "projects/my-gcp-project"
TOPIC: Final = f"{PROJECT}/topics/tpu-node-group-events"
SUBSCRIPTION: Final = f"{PROJECT}/subscriptions/tpu-node-group-events"
PLAN: Final = Path(__file__).parents[1] / "data" / "terraform" / "complete.plan.json"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
#: What cannot be looked at here even if all is well.
ALWAYS_SKIPPED: Final = {"credentials", "probe", "control-plane-from-vms"}
PROBE: Final = f"{PROJECT}/subscriptions/tpu-node-group-events-probe"


class Patient:
    """An installation, and what doctor says of it."""

    def __init__(self, stage: Bench) -> None:
        self.stage = stage
        self.api_server = yaml.safe_load(stage.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]["server"]

    async def project(self, **changes: Any) -> Json:
        """Change what was installed in Google Cloud; what there is now."""
        return await self.stage.control("POST", "project", changes)

    async def findings(
        self, *, timeout: float = 10, probe: str = "", settings: Mapping[str, str] | None = None
    ) -> dict[str, Json]:
        """Every check by its id; the simulator's settings, and these by name."""
        given = {name.removeprefix(ENV_PREFIX).lower(): value for name, value in self.stage.ready["env"].items()}
        loaded = load({**given, **(settings or {})}, {})
        return {each.check: each.shown() for each in await examine(loaded, timeout=timeout, probe=probe)}

    async def complaints(self, **settings: str) -> dict[str, tuple[str, str, str]]:
        """Status, message and mend of what is not well."""
        return {
            name: (found["status"], found["message"], found["mend"])
            for name, found in (await self.findings(settings=settings)).items()
            if found["status"] in {Status.WARNING, Status.FAILED}
        }

    async def flows(self, name: str) -> str:
        """The group's word on events."""
        body = await self.stage.cluster.get("TPUNodeGroup", "default", name)
        return str(condition_of(body, "EventsFlowing").get("status"))

    def group(self, name: str, endpoint: str) -> Json:
        bootstrap = {"version": "1.31", "controlPlaneIP": "10.128.0.2", "controlPlaneEndpoint": endpoint}
        return changed(make_group(bootstrapKubernetes=bootstrap), {"metadata.name": name})

    async def make_group(self, name: str, endpoint: str) -> None:
        """A group that has heard of events."""
        await self.stage.cluster.create(self.group(name, endpoint))
        await until("events to flow", lambda: self.flows(name), lambda seen: seen == "True")

    async def delete_group(self, name: str) -> None:
        await self.stage.cluster.delete("TPUNodeGroup", "default", name)
        await until(
            f"{name} to be gone",
            lambda: self.stage.cluster.get("TPUNodeGroup", "default", name),
            lambda seen: seen is None,
        )


@asynccontextmanager
async def installation(folder: Path) -> AsyncIterator[Patient]:
    """All is well: one slice is Ready, and events flow."""
    async with bench(folder, "--timings", "0", "--log-latency", "0") as stage:
        patient = Patient(stage)
        await stage.start_operator()
        await patient.make_group("slice", patient.api_server.removeprefix("https://"))
        await stage.until_ready("default", "slice")
        yield patient


#: Check -> (what is changed of the installation, status, words of the message, words of the mend)
PATH: Final[Mapping[str, tuple[Json, Status, str, str]]] = {
    "apis": (
        {"services": {"pubsub.googleapis.com": False}},
        Status.FAILED,
        "not enabled in my-gcp-project: pubsub.googleapis.com",
        "gcloud services enable pubsub.googleapis.com --project=my-gcp-project",
    ),
    "sink": ({"sink": None}, Status.FAILED, "a log sink of projects/my-gcp-project: none", "the module event-pipeline"),
    "sink-enabled": (
        {"sink": {"disabled": True}},
        Status.FAILED,
        "tpu-node-group-events is disabled",
        "gcloud logging sinks update tpu-node-group-events --no-disabled",
    ),
    "sink-filter": (
        {"sink": {"filter": 'log_id("tpu-node-group-canary")'}},
        Status.FAILED,
        "not the one of this version",
        "terraform/modules/event-pipeline/filter.tftpl",
    ),
    "sink-destination": (
        {"sink": {"destination": f"pubsub.googleapis.com/{PROJECT}/topics/elsewhere"}},
        Status.FAILED,
        "topics/elsewhere, the subscription is on",
        f"gcloud logging sinks update tpu-node-group-events pubsub.googleapis.com/{TOPIC}",
    ),
    "sink-writer": (
        {"policies": {TOPIC: {}}},
        Status.WARNING,
        "gcp-sa-logging.iam.gserviceaccount.com has no roles/pubsub.publisher",
        f"gcloud pubsub topics add-iam-policy-binding {TOPIC} --member=serviceAccount:service-",
    ),
    "subscription-topic": (
        {"subscription": {"name": SUBSCRIPTION, "topic": "_deleted-topic_"}},
        Status.FAILED,
        "its topic was deleted",
        f"gcloud pubsub subscriptions delete {SUBSCRIPTION}",
    ),
    "subscription-expiry": (
        {"subscription": {"name": SUBSCRIPTION, "expires": 31 * 86400}},
        Status.FAILED,
        "deleted after 31 days",
        "--expiration-period=never",
    ),
    "dead-letter-policy": (
        {"subscription": {"name": SUBSCRIPTION, "deadLetter": None}},
        Status.WARNING,
        "no dead letter topic",
        "the module event-pipeline",
    ),
    # B40, https://github.com/GoogleCloudPlatform/spring-cloud-gcp/issues/4265
    "dead-letter-publisher": (
        {"policies": {f"{TOPIC}-dead-letter": {}}},
        Status.WARNING,
        "has no roles/pubsub.publisher",
        f"gcloud pubsub topics add-iam-policy-binding {TOPIC}-dead-letter --member=serviceAccount:service-",
    ),
    "dead-letter-subscriber": (
        {"policies": {SUBSCRIPTION: {}}},
        Status.WARNING,
        "has no roles/pubsub.subscriber",
        f"gcloud pubsub subscriptions add-iam-policy-binding {SUBSCRIPTION} --member=serviceAccount:service-",
    ),
}


async def test_all_is_well(tmp_path: Path) -> None:
    async with installation(tmp_path) as patient:
        found = await patient.findings()
        assert {name: each["status"] for name, each in found.items()} == {
            name: "skipped" if name in ALWAYS_SKIPPED else "ok" for name, _, _ in CHECKS
        }
        code, out, error = await run("doctor", "--json", environment=patient.stage.ready["env"])
        assert (code, error) == (0, "")
        said = json.loads(out)
        assert said["ok"] is True
        assert [(each["check"], each["status"]) for each in said["checks"]] == [
            (name, each["status"]) for name, each in found.items()
        ]
        # It only read, its question about its own rights aside.
        calls = (await patient.stage.control.calls()).rows
        reads = {row["method"] for row in calls if row["effect"] == "changed"}
        assert not {"IAMPolicy.GetIamPolicy", "ConfigServiceV2.ListSinks", "create selfsubjectaccessreviews"} & reads


#: Everything that `PATH` takes apart, whole.
WHOLE: Final[Json] = {
    "sink": {"destination": f"pubsub.googleapis.com/{TOPIC}", "filter": None, "disabled": None},
    "services": {"pubsub.googleapis.com": True},
    "subscription": {
        "name": SUBSCRIPTION,
        "topic": TOPIC,
        "expires": None,
        "deadLetter": f"{TOPIC}-dead-letter",
    },
}


async def test_each_part_of_the_event_path_that_is_broken_is_named_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as stage:
        patient = Patient(stage)
        whole = WHOLE | {"policies": (await stage.control("GET", "project"))["policies"]}
        found: dict[str, dict[str, tuple[str, str, str]]] = {}
        for check, (change, *_) in PATH.items():
            await patient.project(**change)
            found[check] = await patient.complaints()
            await patient.project(**whole)
        # No operator runs here.
        assert {check: set(said) for check, said in found.items()} == {check: {check, "operator"} for check in PATH}
        for check, (_, status, message, mend) in PATH.items():
            said = found[check][check]
            assert (said[0], message in said[1], mend in said[2]) == (status, True, True), said
        assert set(await patient.complaints()) == {"operator"}


async def test_what_the_complete_example_of_terraform_plans_is_well(tmp_path: Path) -> None:
    async with bench(tmp_path, "--plan", str(PLAN)) as stage:
        await stage.start_operator()
        assert await Patient(stage).complaints() == {}


async def _lose_a_permission(patient: Patient) -> None:
    body = {"permission": "compute.instances.setMetadata", "granted": False}
    await patient.stage.control("POST", "role", body)


async def _lose_a_grant(patient: Patient) -> None:
    path = f"{RBAC}/namespaces/kube-system/roles/tpu-node-group-controller"
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "create"]}]
    rules += [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kube-root-ca.crt"], "verbs": ["get"]}]
    await _patch(patient, path, [{"op": "replace", "path": "/rules", "value": rules}])


async def _lose_a_field(patient: Patient) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tpunodegroups.tpu.google.com"
    field = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/lastEventTime"
    await _patch(patient, path, [{"op": "remove", "path": field}])


async def _patch(patient: Patient, path: str, changes: list[Json]) -> None:
    headers = {"Content-Type": "application/json-patch+json"}
    await patient.stage.cluster._call("PATCH", path, changes, headers)


async def _stop_the_operator(patient: Patient) -> None:
    assert await patient.stage.stop_operator() == 0


async def _lose_canaries(patient: Patient) -> None:
    await _stop_the_operator(patient)
    await patient.stage.control("POST", "faults", {"event": "canary.canary", "nth": "every", "effect": "drop"})
    await patient.stage.start_operator(deaf_limit="0.5s", canary_interval="1s")
    await until("the operator to be deaf", lambda: patient.flows("slice"), lambda seen: seen == "False")


async def _lead_astray(patient: Patient) -> None:
    await patient.make_group("astray", "127.0.0.1:1")


async def _replace_metadata(patient: Patient) -> None:
    name, vm = min((await patient.stage.control.instances()).items())
    path = f"zones/us-central1-c/instances/{name}"
    kept = [item for item in vm["metadata"]["items"] if item["key"] != "startup-script"]
    body = {"fingerprint": (await compute(patient.stage, "GET", path))["metadata"]["fingerprint"], "items": kept}
    await compute(patient.stage, "POST", f"{path}/setMetadata", body)
    await until(
        "the metadata to be replaced",
        patient.stage.control.instances,
        lambda seen: all(item["key"] != "startup-script" for item in seen[name]["metadata"]["items"]),
    )


#: Check -> (what happens, words of the message, words of the mend)
REST: Final[Mapping[str, tuple[Callable[[Patient], Awaitable[None]], str, str]]] = {
    "compute-permissions": (
        _lose_a_permission,
        "this account lacks compute.instances.setMetadata on my-gcp-project",
        "the module controller-identity",
    ),
    "rbac": (_lose_a_grant, "this account may not delete secrets in kube-system", "kubectl apply -k deploy/"),
    "crds": (_lose_a_field, "TPUNodeGroup lacks status.lastEventTime", "kubectl apply -k deploy/"),
    "operator": (_stop_the_operator, "nobody holds the Lease in tpu-node-group", "kubectl -n tpu-node-group"),
    "events-flow": (
        _lose_canaries,
        "default/slice says NoEvents: no entry of project my-gcp-project",
        "sink and subscription",
    ),
    "control-plane": (_lead_astray, "127.0.0.1:1 does not answer from here", "controlPlaneEndpoint"),
    "metadata-keys": (_replace_metadata, "lacks startup-script", "add-metadata"),
}


@pytest.mark.parametrize("check", REST)
async def test_what_else_is_broken_is_named(check: str, tmp_path: Path) -> None:
    happen, message, mend = REST[check]
    async with installation(tmp_path) as patient:
        assert await patient.complaints() == {}
        await happen(patient)
        found = await patient.complaints()
        assert set(found) == {check}
        status, said, advice = found[check]
        assert status == Status.FAILED
        assert message in said
        assert mend in advice


async def test_settings_that_lead_nowhere_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as stage:
        patient = Patient(stage)
        await stage.start_operator()
        other = f"{PROJECT}/subscriptions/elsewhere"
        found = await patient.complaints(subscription=other)
        assert [(name, said[:2]) for name, said in found.items()] == [
            ("subscription", (Status.FAILED, f"{other} does not exist"))
        ]
        closed = tmp_path / "closed.kubeconfig"
        server = {"cluster": {"server": "https://127.0.0.1:1"}}
        text = yaml.safe_load(stage.kubeconfig.read_text("utf-8"))
        text["clusters"][0]["cluster"] |= server["cluster"]
        closed.write_text(yaml.safe_dump(text), "utf-8")
        found = await patient.complaints(kubeconfig=str(closed))
        assert set(found) == {"kubernetes"}
        assert "TPU_NODE_GROUP_KUBECONFIG" in found["kubernetes"][2]
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "nowhere.json"))
        google = ("compute_endpoint", "apis_endpoint", "pubsub_endpoint", "logging_endpoint")
        found = await patient.complaints(**dict.fromkeys(google, ""))
        assert set(found) == {"credentials"}
        assert "GOOGLE_APPLICATION_CREDENTIALS" in found["credentials"][2]


async def test_a_service_that_hangs_or_refuses_holds_up_its_own_checks_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as stage:
        patient = Patient(stage)
        await stage.start_operator()
        slow = {"method": "Subscriber.GetSubscription", "nth": "every", "effect": "latency", "ms": 60_000}
        await stage.control("POST", "faults", slow)
        found = await patient.findings(timeout=2)
        unwell = {name for name, each in found.items() if each["status"] in {Status.WARNING, Status.FAILED}}
        assert unwell == {"subscription"}
        assert found["subscription-expiry"]["status"] == Status.SKIPPED
        assert found["sink"]["status"] == found["apis"]["status"] == Status.OK
        await stage.control("DELETE", "faults")
        denied = {"nth": "every", "effect": "error-before", "code": "PERMISSION_DENIED"}
        for method in ("IAMPolicy.GetIamPolicy", "ConfigServiceV2.ListSinks"):
            await stage.control("POST", "faults", {"method": method, **denied})
        found = await patient.findings()
        warned = {name for name, each in found.items() if each["status"] == Status.WARNING}
        assert warned == {"sink", "dead-letter-publisher", "dead-letter-subscriber"}
        assert {name for name, each in found.items() if each["status"] == Status.FAILED} == set()


async def test_a_control_plane_with_another_clusters_certificate_is_not_taken_for_ours(tmp_path: Path) -> None:
    def ignore(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    stranger = Authority.create(utc_now())
    server = await asyncio.start_server(ignore, "127.0.0.1", 0, ssl=server_context(stranger, utc_now()))
    async with server, installation(tmp_path) as patient:
        port = server.sockets[0].getsockname()[1]
        await patient.make_group("stranger", f"127.0.0.1:{port}")
        found = await patient.complaints()
    assert set(found) == {"control-plane"}
    assert (
        f"127.0.0.1:{port} shows a certificate that the cluster's CA did not make for it" in found["control-plane"][1]
    )


async def test_an_entry_of_its_own_comes_to_a_subscription_of_its_own_or_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, "--log-latency", "0.1") as stage:
        patient = Patient(stage)
        client = await client_for(stage.ready["env"]["TPU_NODE_GROUP_PUBSUB_ENDPOINT"])()
        await client.create_subscription(request={"name": PROBE, "topic": TOPIC}, timeout=10)
        await client.transport.close()
        found = (await patient.findings(probe=PROBE))["probe"]
        assert (found["status"], found["mend"]) == (Status.OK, "")
        assert found["message"].startswith(f"an entry came to {PROBE} after ")
        # The operator's subscription still has its copy: nobody pulled it.
        assert not (await stage.control.calls()).count("Subscriber.StreamingPull")
        monkeypatch.setattr("controller.doctor.probe.LIMIT", 1.0)
        await patient.project(sink={"disabled": True})
        found = (await patient.findings(timeout=2, probe=PROBE))["probe"]
        assert (found["status"], found["message"]) == (
            Status.FAILED,
            f"a tpu-node-group-canary entry did not come to {PROBE} within 1 s",
        )
        environment = stage.ready["env"]
        own = await run("doctor", "--probe", SUBSCRIPTION, environment=environment)
        assert own[0] == 2
        assert "--probe is the operator's own subscription" in own[2]


def test_there_is_a_scenario_for_every_check() -> None:
    alone = {"subscription", "kubernetes", *ALWAYS_SKIPPED}
    assert {*PATH, *REST} | alone == {name for name, _, _ in CHECKS}
