"""Reads of Google's APIs, each once and with a deadline; what goes wrong leaves as an `UnreadError`.

Pub/Sub and Cloud Logging are asked over gRPC with their own clients, as the operator does; Cloud Resource Manager and
Service Usage over REST with google-auth's session (facts: GCE 6.5). Nothing here changes anything, but for the entry of
a probe and its messages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

import google.auth
import requests
from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.auth.transport.requests import AuthorizedSession
from google.cloud.logging_v2.services.config_service_v2 import ConfigServiceV2AsyncClient
from google.cloud.logging_v2.services.config_service_v2.transports import ConfigServiceV2GrpcAsyncIOTransport
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2AsyncClient
from google.cloud.logging_v2.services.logging_service_v2.transports import LoggingServiceV2GrpcAsyncIOTransport
from google.pubsub_v1.services.publisher import PublisherAsyncClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcAsyncIOTransport
from google.pubsub_v1.services.subscriber import SubscriberAsyncClient
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcAsyncIOTransport

from controller.api.base import Json
from controller.doctor.left import in_thread
from controller.doctor.unread import UnreadError
from controller.settings import Settings
from sinks.audit.entries import to_message
from sinks.channel import gapic_clients

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_MANAGER: Final = "https://cloudresourcemanager.googleapis.com"
_USAGE: Final = "https://serviceusage.googleapis.com"


class GoogleReader:
    """`timeout`: seconds for one call. Close it at the end."""

    def __init__(self, settings: Settings, timeout: float) -> None:
        self._timeout = timeout
        self._apis = settings.apis_endpoint
        pubsub, logging = settings.pubsub_endpoint or None, settings.logging_endpoint or None
        self._makers: dict[str, Callable[[], Awaitable[Any]]] = {
            "publisher": gapic_clients(PublisherAsyncClient, PublisherGrpcAsyncIOTransport, pubsub),
            "subscriber": gapic_clients(SubscriberAsyncClient, SubscriberGrpcAsyncIOTransport, pubsub),
            "log": gapic_clients(LoggingServiceV2AsyncClient, LoggingServiceV2GrpcAsyncIOTransport, logging),
            "config": gapic_clients(ConfigServiceV2AsyncClient, ConfigServiceV2GrpcAsyncIOTransport, logging),
        }
        self._open: list[Any] = []

    async def close(self) -> None:
        """Close all connections."""
        for client in self._open:
            await client.transport.close()
        self._open.clear()

    async def subscription(self, name: str) -> Any:
        """The Subscription message."""
        return await self._call(
            "subscriber", f"the subscription {name}", lambda c, o: c.get_subscription(subscription=name, **o)
        )

    async def policy(self, resource: str) -> dict[str, set[str]]:
        """Members by role on a topic or subscription; inherited grants are not in it."""
        found = await self._call(
            "publisher", f"the IAM policy of {resource}", lambda c, o: c.get_iam_policy({"resource": resource}, **o)
        )
        return {binding.role: set(binding.members) for binding in found.bindings}

    async def sink(self, name: str) -> Any:
        """The LogSink message."""
        return await self._call("config", f"the log sink {name}", lambda c, o: c.get_sink(sink_name=name, **o))

    async def sinks(self, parent: str) -> list[Any]:
        """All sinks of a project, the first page (a project has at most 200)."""
        request = {"parent": parent, "page_size": 200}
        pager = await self._call("config", f"the log sinks of {parent}", lambda c, o: c.list_sinks(request, **o))
        return list(pager.sinks)

    async def write(self, entry: Json) -> None:
        """Write one entry (REST JSON) to Cloud Logging."""
        message = to_message(entry)
        await self._call("log", f"the log {entry['logName']}", lambda c, o: c.write_log_entries(entries=[message], **o))

    async def pull(self, name: str) -> list[bytes]:
        """What has come to a subscription of doctor's own, acknowledged; nothing where nothing came in time."""
        what = f"the subscription {name}"
        request = {"subscription": name, "max_messages": 100}
        try:
            found = await self._call("subscriber", what, lambda c, o: c.pull(request, **o))
        except UnreadError as unread:
            if unread.code == 504:
                return []
            raise
        ids = [each.ack_id for each in found.received_messages]
        if ids:
            acked = {"subscription": name, "ack_ids": ids}
            await self._call("subscriber", what, lambda c, o: c.acknowledge(acked, **o))
        return [each.message.data for each in found.received_messages]

    async def email(self) -> str:
        """The e-mail of the service account that doctor runs as; "" where that cannot be told."""
        if self._apis:
            return ""
        try:
            credentials, _ = await in_thread(lambda: google.auth.default(scopes=[_SCOPE]))
        except GoogleAuthError:
            return ""
        named = str(getattr(credentials, "service_account_email", "") or "")
        return named if "@" in named else ""

    async def project_number(self, project: str) -> str:
        """The number of a project."""
        answer = await self._get(f"{self._apis or _MANAGER}/v1/projects/{quote(project)}", f"the project {project}")
        return str(answer["projectNumber"])

    async def held(self, project: str, asked: Sequence[str]) -> set[str]:
        """Which of these permissions the caller has on a project."""
        url = f"{self._apis or _MANAGER}/v1/projects/{quote(project)}:testIamPermissions"
        answer = await self._get(url, f"the permissions on project {project}", {"permissions": list(asked)})
        return set(answer.get("permissions") or ())

    async def services(self, project: str, names: Sequence[str]) -> dict[str, bool]:
        """Whether each of these APIs is enabled."""
        parent = f"projects/{quote(project)}"
        query = "&".join(f"names={parent}/services/{name}" for name in names)
        url = f"{self._apis or _USAGE}/v1/{parent}/services:batchGet?{query}"
        answer = await self._get(url, f"the APIs of project {project}")
        states = {each["name"].rpartition("/")[2]: each.get("state") for each in answer.get("services") or ()}
        return {name: states.get(name) == "ENABLED" for name in names}

    async def _call(self, service: str, what: str, call: Callable[[Any, Json], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(self._timeout):
                client = await self._makers[service]()
                self._open.append(client)
                return await call(client, {"retry": None, "timeout": self._timeout})
        except exceptions.GoogleAPICallError as error:
            raise UnreadError(what, str(error.message or error), int(error.code or 0)) from error
        except TimeoutError as error:
            raise UnreadError(what, f"no answer within {self._timeout:g} s", 504) from error
        except GoogleAuthError as error:
            raise UnreadError(what, str(error), 401) from error
        except OSError as error:
            raise UnreadError(what, str(error)) from error

    async def _get(self, url: str, what: str, body: Json | None = None) -> Json:
        try:
            async with asyncio.timeout(self._timeout):
                return await in_thread(lambda: self._exchange(url, what, body))
        except GoogleAuthError as error:
            raise UnreadError(what, str(error), 401) from error
        except (requests.RequestException, TimeoutError, OSError) as error:
            raise UnreadError(what, str(error) or f"no answer within {self._timeout:g} s") from error

    def _exchange(self, url: str, what: str, body: Json | None) -> Json:
        """In a thread: the session is synchronous."""
        with self._session() as session:
            method = "GET" if body is None else "POST"
            answer = session.request(method, url, json=body, timeout=self._timeout)
        if answer.status_code >= 300:
            raise UnreadError(what, _said(answer), answer.status_code)
        found: Json = answer.json()
        return found

    def _session(self) -> requests.Session:
        if self._apis:
            return requests.Session()
        credentials, _ = google.auth.default(scopes=[_SCOPE])
        session: requests.Session = AuthorizedSession(credentials)  # type: ignore[no-untyped-call]
        return session


def _said(answer: requests.Response) -> str:
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}"
