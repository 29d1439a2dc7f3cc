"""The Kubernetes API as the scenarios' user has it: plain HTTP with the admin's kubeconfig, or kubectl."""

import asyncio
import base64
import json
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import yaml

from tests.needs import need

Json = dict[str, Any]

_CUSTOM: Final = "/apis/tpu.google.com/v1alpha1"
#: Where the objects of each kind are.
_PLACES: Final = {
    "TPUNodeGroup": (_CUSTOM, "tpunodegroups"),
    "WorkloadPolicy": (_CUSTOM, "workloadpolicies"),
    "InstanceTemplate": (_CUSTOM, "instancetemplates"),
    "ManagedInstanceGroup": (_CUSTOM, "managedinstancegroups"),
    "Namespace": ("/api/v1", "namespaces"),
    "Node": ("/api/v1", "nodes"),
    "Secret": ("/api/v1", "secrets"),
    "Event": ("/api/v1", "events"),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
CUSTOM_KINDS: Final = ("TPUNodeGroup", "WorkloadPolicy", "InstanceTemplate", "ManagedInstanceGroup")


class RefusedError(Exception):
    """The API server said no: `code`, and its message word for word."""

    def __init__(self, code: int, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(f"{code}: {message}")


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """The URL's path of a kind's list, or of one object."""
    base, plural = _PLACES[kind]
    return "/".join(filter(None, (base, namespace and f"namespaces/{namespace}", plural, name)))


class Cluster:
    """One user's connection."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    @property
    def url(self) -> str:
        """The API server's."""
        return self._url

    async def status_with(self, token: str) -> int:
        """The status of an answer to whoever comes with this bearer token."""
        async with self._session.get(f"{self._url}/api", headers={"Authorization": f"Bearer {token}"}) as answer:
            return answer.status

    async def create(self, manifest: Json) -> Json:
        """Create an object; raises RefusedError."""
        meta = manifest["metadata"]
        return await self._call("POST", path_of(manifest["kind"], meta.get("namespace", "")), manifest)

    async def get(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object, None when there is none."""
        try:
            return await self._call("GET", path_of(kind, namespace, name))
        except RefusedError as error:
            if error.code == 404:
                return None
            raise

    async def list(self, kind: str) -> list[Json]:
        """All objects of a kind, in all namespaces."""
        return list((await self._call("GET", path_of(kind)))["items"])

    async def patch(self, kind: str, namespace: str, name: str, body: Json) -> Json:
        """A merge patch; raises RefusedError."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return await self._call("PATCH", path_of(kind, namespace, name), body, headers)

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        """Delete in the background, as kubectl does; raises RefusedError."""
        await self._call("DELETE", path_of(kind, namespace, name), {"propagationPolicy": "Background"})

    async def watch(self, kind: str, see: Callable[[str, Json], None], watching: asyncio.Event) -> None:
        """Show every change from now on, until cancelled. `watching` is set when none can be missed any more."""
        # From "the beginning": objects that are there come first, as ADDED.
        query = {"watch": "true", "resourceVersion": "0"}
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.get(
            self._url + path_of(kind), params=query, timeout=timeout, read_bufsize=2**22
        ) as answer:
            answer.raise_for_status()
            watching.set()
            async for line in answer.content:
                change = json.loads(line)
                see(change["type"], change["object"])

    async def _call(self, method: str, path: str, body: Any = None, headers: Json | None = None) -> Json:
        data = None if body is None else json.dumps(body)
        headers = headers or {"Content-Type": "application/json"}
        async with self._session.request(method, self._url + path, data=data, headers=headers) as answer:
            said: Json = await answer.json()
            if answer.status >= 400:
                raise RefusedError(answer.status, said.get("message", ""))
            return said


@asynccontextmanager
async def connect(kubeconfig: Path) -> AsyncIterator[Cluster]:
    """A connection by this kubeconfig, which has one cluster and one user with a bearer token."""
    config = yaml.safe_load(_text(kubeconfig))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    headers = {"Authorization": f"Bearer {user['token']}"}
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout) as session:
        yield Cluster(session, cluster["server"])


def _text(path: Path) -> str:
    return path.read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Answer:
    """What kubectl said."""

    code: int
    out: str
    error: str


class Kubectl:
    """kubectl as the admin. `home` keeps its cache apart from anybody else's."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._program = need("kubectl")
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}

    async def ask(self, *arguments: str, timeout: float = 60) -> Answer:
        """Run it and report, whatever the outcome."""
        process = await asyncio.create_subprocess_exec(
            *(self._program, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
        )
        try:
            out, error = await asyncio.wait_for(process.communicate(), timeout)
        except TimeoutError:
            process.kill()
            await process.communicate()
            raise AssertionError(f"kubectl {' '.join(arguments)} did not end within {timeout:g} s") from None
        assert process.returncode is not None
        return Answer(process.returncode, out.decode(), error.decode())

    async def __call__(self, *arguments: str, timeout: float = 60) -> str:
        """Run it; it must succeed. Returns its stdout."""
        answer = await self.ask(*arguments, timeout=timeout)
        assert answer.code == 0, f"kubectl {' '.join(arguments)}: {answer.error}"
        return answer.out
