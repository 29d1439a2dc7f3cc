"""The demo from start to report. Whatever ends it, signals too, ends its processes first."""

import asyncio
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
from kubernetes.aio.client import ApiException
from rich.console import Console

from controller.adapters.clock import SystemClock
from controller.demo.cluster import said
from controller.demo.history import History
from controller.demo.leftovers import things_in
from controller.demo.narrator import LAG, Narrator
from controller.demo.options import GROUP_NAME, DemoOptions
from controller.demo.processes import ProcessError
from controller.demo.report import Report, calls_made, compute_calls
from controller.demo.screen import Screen
from controller.demo.stage import Stage, stage
from controller.demo.story import Story, StoryError
from controller.demo.verdict import breaches
from controller.demo.witness import Witness

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: How long what was deleted may take to leave both APIs, in seconds.
_SWEPT: Final = 10.0
#: How long it may take until a process that ended is known to have ended.
_NOTICED: Final = 1.0


def run(options: DemoOptions) -> int:
    """Play the demo; 0 when all was well, 1 when not, 128 + N when signal N ended it."""
    return asyncio.run(_until_signalled(partial(_perform, options)))


async def _until_signalled(work: Callable[[], Coroutine[None, None, int]]) -> int:
    """The work's result; at the first signal it is cancelled, which cleans up. Later signals cannot hurry that."""
    caught: list[int] = []
    loop = asyncio.get_running_loop()
    task = loop.create_task(work())

    def stop(number: int) -> None:
        if not caught:
            caught.append(number)
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        return 128 + caught[0] if caught else 1


async def _perform(options: DemoOptions) -> int:
    folder = Path(tempfile.mkdtemp(prefix="tpu-node-group-demo-"))
    keep_logs = False
    try:
        report = await _report(options, folder)
        keep_logs = not report.ok
    finally:
        if keep_logs:
            print(f"The logs of both processes are in {folder}", file=sys.stderr)  # noqa: T201 - for whoever looks why
        else:
            shutil.rmtree(folder)
    return 0 if report.ok else 1


async def _report(options: DemoOptions, folder: Path) -> Report:
    """Play, and show or print the report; `--keep` then stays until a signal comes."""
    screen = Screen(Console(quiet=options.json, highlight=False))
    try:
        async with stage(options, folder, screen.note) as scene:
            report = await _Performance(options, scene, screen).play()
            _show(report, options, screen)
            if options.keep:
                # Standard output has the JSON object and nothing else.
                await _keep(scene, Screen(Console(stderr=True)) if options.json else screen, folder)
    except ProcessError as error:
        report = Report(options.scenario, None, (), {}, (), (str(error),))
        _show(report, options, screen)
    return report


def _show(report: Report, options: DemoOptions, screen: Screen) -> None:
    screen.end(report)
    if options.json:
        print(json.dumps(report.to_json()), flush=True)  # noqa: T201 - what --json asks for


class _Performance:
    """One story on one stage, watched and told."""

    def __init__(self, options: DemoOptions, scene: Stage, screen: Screen) -> None:
        self._options = options
        self._scene = scene
        self._screen = screen
        self._clock = SystemClock()
        self._narrator = Narrator(scene.control, screen, self._clock.now)
        self._witness = Witness(self._clock.now, self._narrator.ready, self._narrator.node, self._narrator.gone)
        self._story = Story(
            options,
            scene.control_plane,
            scene.cluster,
            scene.control,
            self._witness,
            self._narrator.say,
            self._clock.monotonic,
        )

    async def play(self) -> Report:
        """The whole story, then the report."""
        scene = self._scene
        before, calls_before = things_in(await scene.control.world()), compute_calls(await scene.control.calls())
        self._screen.start(self._clock.now())
        left_behind: list[str] = []
        failures = await self._play_watched()
        if self._options.keep:
            # What the operator did last reaches the log a little later.
            await self._clock.sleep(2 * LAG.total_seconds())
        else:
            left_behind = await self._left_behind(before, patience=0.0 if failures else _SWEPT)
        history = await self._narrator.catch_up()
        nodes = tuple(self._witness.nodes.values())
        failures += breaches(history.lives, nodes, self._witness.secrets, history.announcements)
        failures += history.failures
        calls = calls_made(calls_before, compute_calls(await scene.control.calls()))
        return Report(
            self._options.scenario,
            self._story.ready_seconds,
            history.injections,
            calls,
            left_behind,
            failures,
            self._token_to_join(history),
            self._options.keep,
        )

    async def _play_watched(self) -> list[str]:
        """Play while watching, telling, and seeing that both processes live; what went wrong."""
        scene, witness = self._scene, self._witness
        tasks = [
            asyncio.ensure_future(work)
            for work in (
                scene.simulator.ended(),
                scene.operator.ended(),
                self._act(),
                scene.cluster.watch_group(witness),
                scene.cluster.watch_nodes(witness),
                scene.cluster.watch_tokens(witness),
                self._narrator.follow(),
            )
        ]
        ends, act = tasks[:2], tasks[2]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not act.done() or act.exception():
                # A connection breaks when its server ends; the end itself says more, and is noticed a little later.
                await asyncio.wait(ends, timeout=_NOTICED, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        except (StoryError, ProcessError) as error:
            return [str(error)]
        except ApiException as error:
            return [f"the API server refused: {said(error)}"]
        except (aiohttp.ClientError, OSError) as error:
            return [f"a connection broke: {error}"]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return []

    async def _act(self) -> None:
        await self._story.play()
        if not self._options.keep:
            await self._story.delete()

    async def _left_behind(self, before: frozenset[str], patience: float) -> list[str]:
        """What is there now and was not before, once `patience` seconds of waiting for it to go are over."""
        deadline = self._clock.monotonic() + patience
        while True:
            left = sorted(things_in(await self._scene.control.world()) - before)
            if not left or self._clock.monotonic() >= deadline:
                return left
            await self._clock.sleep(0.2)

    def _token_to_join(self, history: History) -> tuple[float, ...]:
        born = {node.instance_id: node.born for node in self._witness.nodes.values()}
        return tuple(
            (born[each.life.id] - each.token.at).total_seconds() * 1000
            for each in history.injections
            if each.life.id in born
        )


async def _keep(scene: Stage, screen: Screen, folder: Path) -> None:
    """Leave everything up, say how to look at it, and wait for a signal."""
    screen.note(
        f"\nKept up. In another terminal:\n"
        f"  export KUBECONFIG={scene.kubeconfig}\n"
        f"  kubectl get tpunodegroups,nodes\n"
        f"  kubectl get tpunodegroup {GROUP_NAME} -o yaml\n"
        f"  kubectl delete tpunodegroup {GROUP_NAME}\n"
        f"The operator's log is {folder / 'operator.log'}. Ctrl-C ends everything."
    )
    await asyncio.gather(scene.simulator.ended(), scene.operator.ended())
