"""`python -m simulator`: serve a simulated Google Cloud and Kubernetes on loopback until interrupted."""

import argparse
import sys
from pathlib import Path

from simulator.app import run
from simulator.options import FACES, Face, SimulatorOptions


def main(arguments: list[str] | None = None) -> int:
    """Parse the options, serve, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m simulator", description=__doc__)
    add = parser.add_argument
    add("--seed", type=int, default=1, help="of everything that is drawn (1)")
    add("--log-latency", type=_scale, default=1.0, metavar="SCALE", help="multiplies the latency of log entries (1)")
    add("--timings", type=_scale, default=1.0, metavar="SCALE", help="multiplies every duration of the world (1)")
    add("--kubernetes-version", default="1.34", metavar="VERSION", help="what the API server reports (1.34)")
    add("--pubsub", choices=("embedded", "emulator"), default="embedded", help="whose Pub/Sub (embedded)")
    add("--project", default="my-gcp-project", help="the Google Cloud project (my-gcp-project)")
    add("--no-crds", action="store_true", help="do not install the operator's CRDs")
    add("--capacity", type=_capacity, action="append", default=[], metavar="ZONE/TYPE=N", help="limits VMs of a type")
    add("--directory", type=Path, help="where the kubeconfigs are written (a temporary folder)")
    add("--port", type=_port, action="append", default=[], metavar="FACE=PORT", help=f"faces: {', '.join(FACES)}")
    given = parser.parse_args(arguments)
    return run(
        SimulatorOptions(
            seed=given.seed,
            log_latency=given.log_latency,
            timings=given.timings,
            kubernetes_version=given.kubernetes_version,
            pubsub=given.pubsub,
            project=given.project,
            crds=not given.no_crds,
            capacity=dict(given.capacity),
            directory=given.directory,
            ports=dict(given.port),
        )
    )


def _scale(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no scale: 0 is not to wait, 1 the default")
    return value


def _capacity(text: str) -> tuple[tuple[str, str], int]:
    place, _, count = text.partition("=")
    zone, _, machine_type = place.partition("/")
    if not (zone and machine_type and count.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is not like us-central1-c/ct6e-standard-1t=4")
    return (zone, machine_type), int(count)


def _port(text: str) -> tuple[Face, int]:
    name, _, number = text.partition("=")
    face = next((face for face in FACES if face == name), None)
    if face is None or not number.isdigit() or int(number) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not like control=8080; faces are {', '.join(FACES)}")
    return face, int(number)


if __name__ == "__main__":
    sys.exit(main())
