"""What the checks look at: everything that is read, once, however many checks ask for it at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from controller.adapters.clock import RandomJitter, SystemClock
from controller.adapters.compute import ComputeCloud
from controller.adapters.kube import KubeCluster
from controller.adapters.kube_client import Call, KubeClient, path_of
from controller.adapters.lease import KubeLease
from controller.api.base import Json
from controller.core.failures import Failure, Gone
from controller.core.model import Kind
from controller.core.observed import Instance
from controller.doctor.google import GoogleReader
from controller.doctor.unread import UnreadError
from controller.runtime.leadership import LeaseRecord
from controller.settings import Settings
from sinks.logs import LOG_CANARY

T = TypeVar("T")


class Installation:
    """All methods raise `UnreadError`. Close it at the end."""

    def __init__(self, settings: Settings, timeout: float, probe: str = "") -> None:
        self.settings = settings
        #: A subscription of doctor's own, or "".
        self.probe = probe
        self.clock = SystemClock()
        self.google = GoogleReader(settings, timeout)
        self.timeout = timeout
        self._reads: dict[str, asyncio.Task[Any]] = {}
        self._compute: ComputeCloud | None = None
        self._client: KubeClient | None = None

    async def close(self) -> None:
        """End what is still read, and close all connections."""
        for read in self._reads.values():
            read.cancel()
        await asyncio.gather(*self._reads.values(), return_exceptions=True)
        await self.google.close()
        if self._compute is not None:
            await self._compute.close()
        if self._client is not None:
            await self._client.close()

    async def member(self) -> str:
        """Who runs doctor, as commands name a member; OPERATOR where its credentials do not tell."""
        return f"serviceAccount:{await self._once('email', self.google.email) or 'OPERATOR'}"

    async def subscription(self) -> Any:
        """The operator's subscription."""
        name = self.settings.subscription
        return await self._once("subscription", lambda: self.google.subscription(name))

    async def sink(self) -> Any:
        """The log sink: the one of the settings, else the project's that feeds the topic, or that takes canaries."""
        return await self._once("sink", self._find_sink)

    async def policy(self, resource: str) -> dict[str, set[str]]:
        """Members by role on a topic or subscription."""
        return await self._once(f"policy {resource}", lambda: self.google.policy(resource))

    async def kubernetes(self) -> KubeClient:
        """The connection, once the API server has answered."""
        return await self._once("kubernetes", self._connect)

    async def resources(self, kind: Kind) -> list[Json]:
        """All custom resources of a kind."""
        cluster = KubeCluster(await self.kubernetes(), self.clock)
        what = f"the {kind.plural}"
        return await self._once(f"list {kind.plural}", lambda: _kube(what, cluster.list_custom_resources(kind)))

    async def get(self, path: str, what: str) -> Json:
        """A GET of the API server."""
        client = await self.kubernetes()
        return await _kube(what, client.call(Call("get", what, path)))

    async def may(self, attributes: Json) -> bool:
        """A SelfSubjectAccessReview."""
        client = await self.kubernetes()
        path = path_of("/apis/authorization.k8s.io/v1", "selfsubjectaccessreviews")
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        call = Call(
            "create", "selfsubjectaccessreviews", path, body={**body, "spec": {"resourceAttributes": attributes}}
        )
        answer = await _kube("what this account may do", client.call(call))
        return bool(answer["status"].get("allowed"))

    async def lease(self) -> LeaseRecord | None:
        """The leader's Lease."""
        lease = KubeLease(await self.kubernetes(), self.settings.namespace)
        return await _kube(f"the Lease in {self.settings.namespace}", lease.read())

    async def authority(self) -> str:
        """The cluster's CA certificates, as PEM."""
        path = path_of("/api/v1", "configmaps", "kube-system", "kube-root-ca.crt")
        found = await self._once("ca", lambda: self.get(path, "configmap kube-system/kube-root-ca.crt"))
        return str((found.get("data") or {}).get("ca.crt") or "")

    async def vms(self, project: str, zone: str, prefix: str) -> tuple[Instance, ...]:
        """The VMs of a zone whose names begin so."""
        cloud = await self._once("compute", self._open_compute)
        return await _kube(f"the VMs {prefix}*", cloud.list_instances(project, zone, prefix))

    async def _once(self, key: str, read: Callable[[], Awaitable[T]]) -> T:
        """Every caller waits for the same read; one that gives up does not end it for the others."""
        if key not in self._reads:
            self._reads[key] = asyncio.ensure_future(read())
        return cast("T", await asyncio.shield(self._reads[key]))

    async def _find_sink(self) -> Any:
        if self.settings.sink:
            return await self.google.sink(self.settings.sink)
        parent = f"projects/{self.settings.project}"
        found = await self.google.sinks(parent)
        try:
            topic = (await self.subscription()).topic
        except UnreadError:
            topic = ""
        ours = [each for each in found if each.destination == f"pubsub.googleapis.com/{topic}"]
        ours += [each for each in found if LOG_CANARY in each.filter]
        if not ours:
            raise UnreadError(
                f"a log sink of {parent}", "none leads to the subscription's topic or takes the canary", 404
            )
        return ours[0]

    async def _connect(self) -> KubeClient:
        settings = self.settings
        self._client = await _kube(
            "the Kubernetes API", KubeClient.connect(settings.kubeconfig, settings.kube_context, timeout=self.timeout)
        )
        await _kube("the Kubernetes API", self._client.call(Call("get", "version", "/version")))
        return self._client

    async def _open_compute(self) -> ComputeCloud:
        endpoint = self.settings.compute_endpoint
        self._compute = ComputeCloud(self.clock, RandomJitter(), endpoint=endpoint, threads=2, timeout=self.timeout)
        await _kube("Compute Engine", self._compute.open())
        return self._compute


async def _kube(what: str, call: Awaitable[T]) -> T:
    """A call of the operator's adapters, whose failures say enough."""
    try:
        return await call
    except Gone as gone:
        raise UnreadError(what, gone.message, 404) from gone
    except Failure as failure:
        code = failure.code.partition(" ")[0]
        said = failure.message.removesuffix(" It is tried again.")
        raise UnreadError(what, said, int(code) if code.isdigit() else 0) from failure
