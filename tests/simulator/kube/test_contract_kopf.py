"""kopf's low-level handlers on any API server: an index, every event, and nothing written by kopf."""

import asyncio
import gc
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import kopf
import pytest

from tests.simulator.kube.client import Api
from tests.simulator.kube.widgets import widget, widgets

Seen = list[tuple[str | None, str, bool]]


class Operator:
    """kopf in a thread and a loop of its own, with `on.event` and an index of the widgets of one namespace."""

    def __init__(self, namespace: str) -> None:
        self.seen: Seen = []
        self.changed = threading.Condition()
        self._namespace = namespace
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kopf")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join(20)
        # kopf leaves TLS connections to be collected with its loop. Here and now, so that no other test is blamed.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()

    def wait_for(self, enough: Callable[[Seen], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: enough(self.seen), 20), self.seen

    def _run(self) -> None:
        registry = kopf.OperatorRegistry()
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.scanning.disabled = True

        @kopf.on.login(registry=registry)
        def login(**kwargs: Any) -> Any:
            return kopf.login_with_kubeconfig(**kwargs)

        @kopf.index("contract.example.com", "v1", "widgets", id="by_name", registry=registry)
        def by_name(name: str, **_kwargs: Any) -> Any:
            return {name: 1}

        @kopf.on.event("contract.example.com", "v1", "widgets", registry=registry)
        def event(name: str, **more: Any) -> None:
            with self.changed:
                self.seen.append((more["type"], name, name in more["by_name"]))
                self.changed.notify_all()

        asyncio.run(
            kopf.operator(
                registry=registry,
                settings=settings,
                namespaces=[self._namespace],
                standalone=True,
                stop_flag=self._stop,
            )
        )


@pytest.fixture
def operator(namespace: str, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    return Operator(namespace)


async def test_kopf_sees_each_event_once_and_writes_nothing(operator: Operator, api: Api, namespace: str) -> None:
    path = widgets(namespace, "a")
    before = (await api.create(widgets(namespace), widget("a", spec={}))).body
    with operator:
        await asyncio.to_thread(operator.wait_for, lambda seen: len(seen) == 1)
        untouched = (await api.get(path)).body
        await api.patch(path, {"spec": {"size": 2}})
        await asyncio.to_thread(operator.wait_for, lambda seen: len(seen) == 2)
        await api.patch(f"{path}/status", {"status": {"phase": "Busy"}})
        await asyncio.to_thread(operator.wait_for, lambda seen: len(seen) == 3)
        await api.delete(path)
        await asyncio.to_thread(operator.wait_for, lambda seen: len(seen) == 4)
    assert untouched == before
    assert operator.seen == [
        (None, "a", True),
        ("MODIFIED", "a", True),
        ("MODIFIED", "a", True),
        ("DELETED", "a", False),
    ]
