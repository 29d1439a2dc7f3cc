"""One connection to the Kubernetes API: raw JSON in and out, a timeout on every call, every error a Failure.

It stands on kubernetes.aio for configuration, credentials, TLS and HTTP, and bypasses its models: parsing a Node into
one costs more than all that we do with it. The content type is always explicit (the library's default for a patch is
a guess), and so is the field manager.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration
from requests.utils import get_environ_proxies, select_proxy

from controller.adapters.causes import cause_of
from controller.adapters.kube_errors import failure_of, failure_of_answer
from controller.api.base import Json
from controller.core.failures import Failure

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
FIELD_MANAGER: Final = "tpu-node-group"

_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
}
_PAGE: Final = "500"

#: (verb and resource as in `patch tpunodegroups/status`, HTTP status or the failure's code, seconds)
Observe = Callable[[str, str, float], None]


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `subject` names the object for messages: `namespace/name`, a name, or "" for all."""

    verb: str
    resource: str
    path: str
    subject: str = ""
    query: tuple[tuple[str, str], ...] = ()
    body: Any = field(default=None, repr=False)
    content_type: str = JSON
    accept: str = JSON

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.subject}".rstrip()


def path_of(base: str, plural: str, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """A resource's path: `base` is `/api/v1` or `/apis/<group>/<version>`."""
    parts = ["namespaces", namespace, plural] if namespace else [plural]
    parts += [part for part in (name, subresource) if part]
    return "/".join([base, *(quote(part, safe=":") for part in parts)])


async def load_configuration(kubeconfig: str = "", context: str = "") -> Configuration:
    """Where the API server is and who we are.

    A kubeconfig that is named (or a context) is used or an error; else the default one (KUBECONFIG, ~/.kube/config),
    else the Pod's service account. Raises Rejected.
    """
    configuration = Configuration()
    configuration.retries = None
    loader: Any = config
    with mapped(f"Reading the kubeconfig {kubeconfig or '(default)'}{f', context {context}' if context else ''}"):
        _must_be_there(kubeconfig)
        if kubeconfig or context:
            await loader.load_kube_config(kubeconfig or None, context or None, client_configuration=configuration)
            return configuration
        try:
            await loader.load_kube_config(client_configuration=configuration)
        except config.ConfigException:
            loader.load_incluster_config(client_configuration=configuration)
    return configuration


def _environment_proxy(url: str) -> str | None:
    """The proxy that the environment (HTTPS_PROXY, NO_PROXY, ...) names for this URL."""
    return select_proxy(url, get_environ_proxies(url, no_proxy=None))


def _must_be_there(kubeconfig: str) -> None:
    """The library takes a file that is not there for an empty one."""
    if kubeconfig and not Path(kubeconfig).exists():
        raise FileNotFoundError("there is no such file")


@contextmanager
def mapped(what: str) -> Iterator[None]:
    """Whatever is raised inside leaves as a Failure that names `what`."""
    try:
        yield
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001 - it leaves as a Failure
        raise failure_of(error, what) from cause_of(error)


def _ignore(_method: str, _code: str, _seconds: float) -> None:
    """No metrics."""


class KubeClient:
    """The connection. Made by `connect` inside the loop that uses it; `close` it there."""

    def __init__(
        self,
        api: ApiClient,
        reload: Callable[[], Awaitable[Configuration]],
        *,
        timeout: float = 15.0,
        observe: Observe = _ignore,
    ) -> None:
        self._api: Any = api
        self._reload = reload
        self._timeout = timeout
        self._observe = observe

    @classmethod
    async def connect(
        cls, kubeconfig: str = "", context: str = "", *, timeout: float = 15.0, observe: Observe = _ignore
    ) -> "KubeClient":
        """Read the configuration; no call is made. Raises Rejected when there is none that can be read."""
        configuration = await load_configuration(kubeconfig, context)
        # Looked up once: the session would with every request, in a thread, which costs more than sending it.
        configuration.proxy = configuration.proxy or _environment_proxy(configuration.host)
        configuration.client_session_kwargs = {"trust_env": False}
        api = ApiClient(configuration)
        api.user_agent = FIELD_MANAGER
        return cls(api, lambda: load_configuration(kubeconfig, context), timeout=timeout, observe=observe)

    async def close(self) -> None:
        """Close all connections."""
        await self._api.close()

    async def call(self, call: Call) -> Json:
        """One request and its JSON answer. Raises a Failure and nothing else."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        code = "cancelled"
        try:
            with mapped(str(call)):
                answer = await self._exchange(call)
        except Failure as failure:
            code = failure.code.partition(" ")[0] or type(failure).__name__
            raise
        else:
            code = "200"
            return answer
        finally:
            self._observe(f"{call.verb} {call.resource}", code, loop.time() - begun)

    async def pages(self, call: Call) -> AsyncGenerator[Json, None]:
        """The pages of a list, 500 objects each. An expired continue token raises the 410 as Conflict."""
        token = ""
        while True:
            query = (*call.query, ("limit", _PAGE), *((("continue", token),) if token else ()))
            page = await self.call(Call(call.verb, call.resource, call.path, call.subject, query, accept=call.accept))
            yield page
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def stream(self, call: Call, inactivity: float, on_open: Callable[[], None]) -> AsyncGenerator[Json, None]:
        """The events of a watch, until the server ends it. Raises a Failure; silence of `inactivity` seconds is one."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout, sock_read=inactivity)
        with mapped(str(call)):
            response = await self._send(call, timeout)
            try:
                await self._refuse(response, call)
                on_open()
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        if line.strip():
                            yield json.loads(line)
            finally:
                response.close()

    async def _exchange(self, call: Call) -> Json:
        response = await self._send(call, aiohttp.ClientTimeout(total=self._timeout))
        try:
            await self._refuse(response, call)
            answer: Json = json.loads(await response.read())
        finally:
            response.release()
        return answer

    async def _send(self, call: Call, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        method = _METHODS[call.verb]
        query = list(call.query)
        if call.verb in {"create", "update", "patch"}:
            query.append(("fieldManager", FIELD_MANAGER))
        request = await self._api.param_serialize(
            method,
            call.path,
            query_params=query,
            header_params={"Accept": call.accept, "Content-Type": call.content_type},
            body=call.body,
            auth_settings=["BearerToken"],
        )
        answer = await self._api.call_api(*request, _request_timeout=timeout)
        response: aiohttp.ClientResponse = answer.response
        return response

    async def _refuse(self, response: aiohttp.ClientResponse, call: Call) -> None:
        """Raise what an answer of 300 or more stands for."""
        if response.status < 300:
            return
        body = await response.read()
        if response.status == 401:
            # A token of a kubeconfig's plug-in may have expired: the next call takes a fresh one.
            fresh = await self._reload()
            self._api.configuration.api_key = fresh.api_key
        raise failure_of_answer(response.status, body, str(call), response.headers.get("Retry-After", ""))
