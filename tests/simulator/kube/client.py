"""kubernetes.aio with raw JSON: what a server says, unparsed, so that tests can compare it whole."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client.api_client import ApiClient
from kubernetes.aio.client.configuration import Configuration

Json = dict[str, Any]
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass
class Answer:
    code: int
    body: Json
    warnings: list[str] = field(default_factory=list)

    @property
    def reason(self) -> tuple[int, str]:
        return self.code, self.body.get("reason", "")

    @property
    def message(self) -> str:
        return str(self.body["message"])

    @property
    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.body["items"]]


class Api:
    """Calls by path. Each keyword after the body is a query parameter."""

    def __init__(self, client: Any) -> None:
        self._client = client

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = "application/json",
        accept: str = "",
        **query: Any,
    ) -> Answer:
        response = await self._send(method, path, body, kind, accept or "application/json", query)
        try:
            text = await response.text()
            said = json.loads(text) if response.content_type == "application/json" else {"message": text}
        finally:
            response.release()
        return Answer(response.status, said, list(response.headers.getall("Warning", [])))

    async def get(self, path: str, **query: Any) -> Answer:
        return await self.call("GET", path, **query)

    async def create(self, path: str, body: Json, **query: Any) -> Answer:
        return await self.call("POST", path, body, **query)

    async def replace(self, path: str, body: Json, **query: Any) -> Answer:
        return await self.call("PUT", path, body, **query)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **query: Any) -> Answer:
        return await self.call("PATCH", path, body, kind=kind, **query)

    async def apply(self, path: str, body: Json, manager: str, **query: Any) -> Answer:
        return await self.call("PATCH", path, body, kind=APPLY, fieldManager=manager, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return await self.call("DELETE", path, body, **query)

    async def watch(self, path: str, **query: Any) -> AsyncGenerator[Json, None]:
        accept = query.pop("accept", "application/json")
        response = await self._send("GET", path, None, "application/json", accept, {"watch": "true", **query})
        try:
            assert response.status == 200, await response.text()
            async for line in response.content:
                yield json.loads(line)
        finally:
            response.close()

    async def _send(
        self, method: str, path: str, body: Any, kind: str, accept: str, query: Json
    ) -> aiohttp.ClientResponse:
        request = await self._client.param_serialize(
            method,
            path,
            query_params=[(name, str(value)) for name, value in query.items()],
            header_params={"Accept": accept, "Content-Type": kind},
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = await self._client.call_api(*request, _request_timeout=aiohttp.ClientTimeout(total=20))
        response: aiohttp.ClientResponse = answer.response
        return response


@asynccontextmanager
async def connected(kubeconfig: Path) -> AsyncIterator[Api]:
    configuration = Configuration()
    configuration.retries = None
    loader: Any = config
    await loader.load_kube_config(str(kubeconfig), client_configuration=configuration)
    client: Any = ApiClient(configuration)
    client.user_agent = "contract-test"
    try:
        yield Api(client)
    finally:
        await client.close()
