"""A thin client of a real API server: JSON over HTTPS as one user, errors as they come."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from simulator.seams import Json


class RefusedError(Exception):
    """The API server said no: `code`, its message word for word, and the details that it gives."""

    def __init__(self, code: int, message: str, details: Json | None = None) -> None:
        self.code, self.message, self.details = code, message, details or {}
        super().__init__(f"{code}: {message}")


class Client:
    """One user's connection; `url` without a path."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Json:
        """One call. Raises RefusedError, and aiohttp.ClientError when there is no connection."""
        headers = {"Content-Type": content_type} if body is not None else {}
        async with self._session.request(method, self._url + path, json=body, headers=headers) as answer:
            if answer.status >= 400:
                raise await _refusal(answer)
            said: Json = await answer.json()
            return said

    async def find(self, path: str) -> Json | None:
        """The object, None when there is none."""
        try:
            return await self.call("GET", path)
        except RefusedError as error:
            if error.code == 404:
                return None
            raise

    async def text(self, path: str) -> str:
        """An answer that is no JSON, as of /readyz. Raises as `call`."""
        async with self._session.get(self._url + path) as answer:
            said = await answer.text()
            if answer.status >= 400:
                raise RefusedError(answer.status, said)
            return said


async def _refusal(answer: aiohttp.ClientResponse) -> RefusedError:
    if answer.content_type != "application/json":
        return RefusedError(answer.status, await answer.text())
    said = await answer.json()
    return RefusedError(answer.status, said.get("message", ""), said.get("details"))


@asynccontextmanager
async def client(url: str, tls: ssl.SSLContext, token: str = "", *, timeout: float = 20.0) -> AsyncIterator[Client]:
    """A connection with a bearer token, with the certificate that `tls` has, or as nobody."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=tls),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=timeout),
    ) as session:
        yield Client(session, url)
