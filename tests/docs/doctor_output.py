"""The transcripts of docs/doctor.md: what doctor prints of an installation that is well, and of one that is not.

`python -m tests.docs.doctor_output` (`make docs-doctor`) writes them into the page; tests/docs/test_doctor.py compares.
"""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from tests.api.manifests import make_group
from tests.scenarios.harness import Bench, bench, condition_of, until
from tests.scenarios.programs import run

PAGE: Final = Path(__file__).parents[2] / "docs" / "doctor.md"
BLOCK: Final = re.compile(r"```console\n\$ tpu-node-group doctor\n(.*?)```", re.DOTALL)
_TOPIC: Final = "projects/my-gcp-project/topics/tpu-node-group-events"
_BROKEN: Final[dict[str, Any]] = {
    "policies": {_TOPIC: {}},
    "subscription": {"name": _TOPIC.replace("topics", "subscriptions"), "expires": 31 * 86400},
}


async def transcripts() -> list[str]:
    """The output of an installation that is well, then of the same with three things broken."""
    with tempfile.TemporaryDirectory() as folder:
        async with bench(Path(folder), "--timings", "0", "--log-latency", "0") as stage:
            await stage.start_operator(identity="tpu-node-group-controller-7d9c5b6f4-x2x5k")
            server = yaml.safe_load(stage.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]["server"]
            endpoint = server.removeprefix("https://")
            bootstrap = {"version": "1.31", "controlPlaneIP": "10.128.0.2", "controlPlaneEndpoint": endpoint}
            await stage.cluster.create(make_group(bootstrapKubernetes=bootstrap))
            await stage.until_ready("default", "slice")
            await until("events to flow", lambda: _flows(stage), lambda seen: seen == "True")
            well = await _doctor(stage, 0)
            await stage.control("POST", "project", _BROKEN)
            lost = {"permission": "compute.instances.setMetadata", "granted": False}
            await stage.control("POST", "role", lost)
            return [well, await _doctor(stage, 1)]


async def _flows(stage: Bench) -> str:
    body = await stage.cluster.get("TPUNodeGroup", "default", "slice")
    return str(condition_of(body, "EventsFlowing").get("status"))


async def _doctor(stage: Bench, expected: int) -> str:
    code, out, error = await run("doctor", environment=stage.ready["env"] | {"COLUMNS": "118"})
    assert (code, error) == (expected, ""), out + error
    return "\n".join(line.rstrip() for line in out.splitlines()) + "\n"


def main() -> None:
    """Write the page's blocks anew."""
    outputs = iter(asyncio.run(transcripts()))
    page = PAGE.read_text(encoding="utf-8")
    page = BLOCK.sub(lambda _: f"```console\n$ tpu-node-group doctor\n{next(outputs)}```", page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
