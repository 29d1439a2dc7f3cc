"""Small ports for tests of one part of the runtime: they remember what they were asked, and fail when told to.

The whole operator is tested against servers; here a port is a dictionary.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import SecretStr

from controller.core.failures import Gone
from controller.core.model import Cause, Key, Kind
from controller.core.observed import (
    Instance,
    ManagedInstance,
    Metadata,
    OperationView,
    ResourceRef,
    ResourceView,
    Taint,
    TokenView,
)
from controller.core.plan import Policy
from controller.runtime.auditing import Auditor, Pass
from controller.runtime.env import Env
from controller.runtime.knowledge import Knowledge
from controller.runtime.metrics import Metrics
from controller.runtime.vault import TokenVault
from sinks.audit.record import AuditRecord
from tests.core.builders import GROUP_KEY
from tests.runtime.virtual_time import BEGINNING, NoJitter, VirtualClock

Json = dict[str, Any]
LIFE: Final = timedelta(hours=1)


class Scripted:
    """Notes calls. `fail(method, failure)` makes the next call of a method raise."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._failures: dict[str, list[Exception]] = {}

    def fail(self, method: str, *failures: Exception) -> None:
        """The next calls of this method fail so."""
        self._failures.setdefault(method, []).extend(failures)

    def count(self, method: str) -> int:
        """How often a method was called."""
        return sum(call[0] == method for call in self.calls)

    def _note(self, method: str, *args: Any) -> None:
        self.calls.append((method, *args))
        if self._failures.get(method):
            raise self._failures[method].pop(0)


class FakeCloud(Scripted):
    """Compute Engine as dictionaries. An accepted mutation takes effect at once; its operation is named after it."""

    def __init__(self) -> None:
        super().__init__()
        self.resources: dict[str, ResourceView] = {}
        self.instances: dict[str, Instance] = {}
        self.rows: tuple[ManagedInstance, ...] = ()
        self.operations: dict[str, OperationView] = {}
        #: What the operation of the next setMetadata says that it worked on, where that is another VM.
        self.target_id: str | None = None
        #: Values that setMetadata was given, by VM and key. The only place where a test may see a token.
        self.written: dict[str, dict[str, str | None]] = {}

    async def get(self, ref: ResourceRef) -> ResourceView | None:
        self._note("get", ref.path)
        return self.resources.get(ref.path)

    async def insert(self, ref: ResourceRef, body: Json, request_id: str) -> OperationView:
        self._note("insert", ref.path, body, request_id)
        return OperationView(f"insert-{ref.name}", done=False)

    async def delete(self, ref: ResourceRef, request_id: str) -> OperationView:
        self._note("delete", ref.path, request_id)
        return OperationView(f"delete-{ref.name}", done=False)

    async def get_operation(self, ref: ResourceRef, name: str) -> OperationView | None:
        self._note("get_operation", ref.path, name)
        return self.operations.get(name)

    async def list_managed_instances(self, mig: ResourceRef) -> tuple[ManagedInstance, ...]:
        self._note("list_managed_instances", mig.path)
        return self.rows

    async def get_instance(self, project: str, zone: str, name: str) -> Instance | None:
        self._note("get_instance", project, zone, name)
        return self.instances.get(name)

    async def list_instances(self, project: str, zone: str, *name_prefixes: str) -> tuple[Instance, ...]:
        self._note("list_instances", project, zone, *name_prefixes)
        return tuple(vm for name, vm in sorted(self.instances.items()) if name.startswith(name_prefixes))

    async def set_metadata(
        self, instance: Instance, changes: Mapping[str, SecretStr | str | None]
    ) -> OperationView | None:
        self._note("set_metadata", instance.name, instance.metadata.fingerprint, sorted(changes))
        plain = {k: v.get_secret_value() if isinstance(v, SecretStr) else v for k, v in changes.items()}
        self.written.setdefault(instance.name, {}).update(plain)
        present = self.instances.get(instance.name)
        if present is not None:
            items: dict[str, str | None] = {**dict(present.metadata), **plain}
            kept = {key: value for key, value in items.items() if value is not None}
            self.instances[instance.name] = replace(present, metadata=Metadata(kept, "next"))
        target, self.target_id = self.target_id or instance.id, None
        return OperationView(f"set-{instance.name}", done=False, target_id=target)


class FakeCluster(Scripted):
    """The Kubernetes API as dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[Kind, dict[str, Json]] = {kind: {} for kind in Kind}
        #: Secret halves by token id: what the API server stores.
        self.secrets: dict[str, str] = {}
        self.tokens: dict[str, TokenView] = {}
        self.signed = True
        self.control_plane = "v1.34.1"
        #: What `set_finalizers` and `patch_status` answer.
        self.answer: Json | None = None

    async def list_custom_resources(self, kind: Kind) -> list[Json]:
        self._note("list_custom_resources", kind)
        return list(self.objects[kind].values())

    async def create_custom_resource(self, kind: Kind, namespace: str, manifest: Json) -> Json:
        self._note("create_custom_resource", kind, namespace, manifest["metadata"]["name"])
        metadata = {**manifest["metadata"], "uid": "new-uid", "resourceVersion": "1000"}
        return {**manifest, "metadata": metadata}

    async def delete_custom_resource(self, key: Key, uid: str) -> None:
        self._note("delete_custom_resource", key, uid)

    async def patch_status(self, key: Key, uid: str, patch: Json) -> Json:
        self._note("patch_status", key, uid, patch)
        if self.answer is None:
            raise Gone(f"{key} is not there")
        return self.answer

    async def set_finalizers(self, key: Key, resource_version: str, finalizers: Sequence[str]) -> Json | None:
        self._note("set_finalizers", key, resource_version, tuple(finalizers))
        return self.answer

    async def create_token_secret(self, token: TokenView, secret: SecretStr) -> None:
        self._note("create_token_secret", token.id, token.instance_id)
        self.secrets[token.id] = secret.get_secret_value()
        self.tokens[token.id] = token

    async def delete_token_secret(self, token_id: str) -> None:
        self._note("delete_token_secret", token_id)
        self.secrets.pop(token_id, None)
        self.tokens.pop(token_id, None)

    async def list_token_secrets(self) -> tuple[TokenView, ...]:
        self._note("list_token_secrets")
        return tuple(self.tokens.values())

    def tell_lost_tokens(self, tell: Callable[[str], None]) -> None:
        self.lost = tell

    async def await_signature(self, token_id: str, timeout: float) -> bool:
        self._note("await_signature", token_id, timeout)
        return self.signed

    async def ca_hashes(self) -> tuple[str, ...]:
        self._note("ca_hashes")
        return ("sha256:aa", "sha256:bb")

    async def version(self) -> str:
        self._note("version")
        return self.control_plane

    async def label_node(self, name: str, uid: str, labels: Mapping[str, str]) -> None:
        self._note("label_node", name, uid, dict(labels))

    async def taint_node(self, name: str, uid: str, resource_version: str, taints: Sequence[Taint]) -> None:
        self._note("taint_node", name, uid, resource_version, tuple(taints))

    async def cordon_node(self, name: str, uid: str, by: str | None) -> None:
        self._note("cordon_node", name, uid, by)

    async def delete_node(self, name: str, uid: str, resource_version: str) -> None:
        self._note("delete_node", name, uid, resource_version)

    async def post_event(self, key: Key, uid: str, *, warning: bool, reason: str, message: str, at: datetime) -> None:
        self._note("post_event", key, uid, warning, reason, message, at)


class Records:
    """An audit sink that keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def write(self, record: AuditRecord) -> None:
        self.records.append(record)


class World:
    """The ports, and what is built on them."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.cloud, self.cluster, self.clock = FakeCloud(), FakeCluster(), VirtualClock()
        self.vault = TokenVault(LIFE, timedelta(minutes=10), 10, 5)
        self.ahead, self.records = Records(), Records()
        #: Raised by the check before each mutation.
        self.lease: Exception | None = None
        self.checks = 0
        self.env = Env(
            self.cloud,
            self.cluster,
            self.clock,
            NoJitter(),
            policy or Policy(),
            Knowledge(self.vault),
            Metrics(),
            self._may_act,
        )

    @property
    def auditor(self) -> Auditor:
        """Writes to `ahead` and `records`."""
        return Auditor(self.ahead, self.records, "tester")

    def _may_act(self) -> None:
        self.checks += 1
        if self.lease is not None:
            raise self.lease


CAUSE: Final = Cause("test", BEGINNING)


def make_pass(instances: Mapping[str, Cause] | None = None) -> Pass:
    """A look at the group. `instances`: what named single VMs in its wake."""
    return Pass("default/slice", GROUP_KEY, CAUSE, dict(instances or {}), 1, id="pass-1")
