"""The Lease object (coordination.k8s.io/v1) behind `runtime.leadership`: three calls, no logic."""

from datetime import UTC, datetime, timedelta
from typing import Final

from controller.adapters.kube_client import Call, KubeClient, path_of
from controller.api.base import Json
from controller.api.constants import CONTROLLER_NAMESPACE
from controller.core.failures import Gone
from controller.runtime.leadership import LeaseRecord

LEASE_NAME: Final = "tpu-node-group-controller"
_API: Final = "coordination.k8s.io/v1"
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


class KubeLease:
    """The port `LeaseStore`. The namespace must exist; it is never made here."""

    def __init__(self, client: KubeClient, namespace: str = CONTROLLER_NAMESPACE, name: str = LEASE_NAME) -> None:
        self._client = client
        self._namespace = namespace
        self._name = name

    async def read(self) -> LeaseRecord | None:
        """The record, None when there is no Lease."""
        try:
            return record_of(await self._client.call(self._call("get", self._name)))
        except Gone:
            return None

    async def create(self, record: LeaseRecord) -> LeaseRecord:
        """Create it; raises Conflict when somebody was first."""
        return record_of(await self._client.call(self._call("create", "", self._manifest(record))))

    async def update(self, record: LeaseRecord) -> LeaseRecord:
        """Replace it under its version; raises Conflict when it changed, Gone when it is not there."""
        return record_of(await self._client.call(self._call("update", self._name, self._manifest(record))))

    def _call(self, verb: str, name: str, body: Json | None = None) -> Call:
        path = path_of(f"/apis/{_API}", "leases", self._namespace, name)
        return Call(verb, "leases", path, f"{self._namespace}/{self._name}", body=body)

    def _manifest(self, record: LeaseRecord) -> Json:
        metadata = {"name": self._name, "namespace": self._namespace}
        if record.version:
            metadata["resourceVersion"] = record.version
        spec = {
            "holderIdentity": record.holder,
            "leaseDurationSeconds": max(1, round(record.duration.total_seconds())),
            "acquireTime": _micro(record.acquired),
            "renewTime": _micro(record.renewed),
            "leaseTransitions": record.transitions,
        }
        return {"apiVersion": _API, "kind": "Lease", "metadata": metadata, "spec": spec}


def record_of(obj: Json) -> LeaseRecord:
    """A Lease object. What somebody left out counts as released long ago."""
    spec = obj.get("spec") or {}
    return LeaseRecord(
        holder=spec.get("holderIdentity") or "",
        duration=timedelta(seconds=spec.get("leaseDurationSeconds") or 0),
        acquired=_time(spec.get("acquireTime")),
        renewed=_time(spec.get("renewTime")),
        transitions=spec.get("leaseTransitions") or 0,
        version=obj["metadata"]["resourceVersion"],
    )


def _micro(at: datetime) -> str:
    """A MicroTime: `2026-12-01T10:00:00.000000Z`."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _time(text: str | None) -> datetime:
    return datetime.fromisoformat(text) if text else _EPOCH
