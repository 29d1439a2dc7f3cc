"""What an installation has made in the project of the event path: APIs, the log sink, and who may do what where.

It is what Terraform makes, as it is right after a good apply; the control face takes parts of it away. What is missing
is missing: a sink that is gone, that leads elsewhere or whose writer may not publish exports nothing (facts: GCE 6.5).
The sink's filter, and whether it is on, are the event path's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from simulator.event_path import EventPath
from simulator.plan import Installation
from simulator.world.names import project_number

__all__ = ["PUBLISHER", "SUBSCRIBER", "Policy", "Project", "Sink", "installed", "planned_project"]

PUBLISHER: Final = "roles/pubsub.publisher"
SUBSCRIBER: Final = "roles/pubsub.subscriber"
#: What the modules turn on (terraform/modules/event-pipeline) and what the operator and doctor call.
SERVICES: Final = (
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "logging.googleapis.com",
    "pubsub.googleapis.com",
)

#: Role -> members.
Policy = Mapping[str, set[str]]


@dataclass(frozen=True, slots=True)
class Sink:
    """A log sink. `writer` is its identity, as in `serviceAccount:service-1@gcp-sa-logging.iam.gserviceaccount.com`."""

    name: str
    destination: str
    writer: str

    @property
    def topic(self) -> str:
        """The topic that it leads to."""
        return self.destination.removeprefix("pubsub.googleapis.com/")


@dataclass(slots=True)
class Project:
    """The state; the control face and whoever reads a plan change it."""

    id: str
    number: str
    #: The topic of the operator's subscription.
    topic: str
    path: EventPath
    sink: Sink | None
    services: set[str]
    #: Resource -> role -> members.
    policies: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    #: A sink that was taken away.
    _taken: Sink | None = field(default=None, init=False)

    def policy(self, resource: str) -> Policy:
        """Who may do what on a topic or subscription; a publisher that the event path lost is not in it."""
        policy = self.policies.get(resource, {})
        if self.sink is None or resource != self.sink.topic or self.path.pieces.publisher:
            return policy
        return {**policy, PUBLISHER: policy.get(PUBLISHER, set()) - {self.sink.writer}}

    def exports(self) -> bool:
        """Whether the sink may hand what it takes to the topic of the subscription."""
        sink = self.sink
        return (
            sink is not None and sink.topic == self.topic and sink.writer in self.policy(sink.topic).get(PUBLISHER, ())
        )

    def change_sink(self, changes: Mapping[str, str | bool | None] | None) -> None:
        """Replace parts of the sink; None takes it away, and any part brings it back. Raises EventPathError."""
        if changes is None:
            self.sink, self._taken = None, self.sink or self._taken
            return
        self.sink = self.sink or self._taken
        own = {key: str(value) for key, value in changes.items() if key in {"destination", "writer"}}
        if pieces := {key: value for key, value in changes.items() if key not in own}:
            self.path.change(pieces)
        if self.sink is not None:
            self.sink = replace(self.sink, **own)

    def set_policy(self, resource: str, roles: Mapping[str, Iterable[str]]) -> None:
        """Replace the policy of a resource."""
        self.policies[resource] = {role: set(members) for role, members in roles.items()}


def installed(project: str, topic: str, subscription: str, dead_letters: str, path: EventPath) -> Project:
    """Everything as the modules make it."""
    number = project_number(project)
    writer = f"serviceAccount:service-{number}@gcp-sa-logging.iam.gserviceaccount.com"
    agent = f"serviceAccount:service-{number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    name = f"projects/{project}/sinks/tpu-node-group-events"
    return Project(
        project,
        number,
        topic,
        path,
        Sink(name, f"pubsub.googleapis.com/{topic}", writer),
        set(SERVICES),
        {
            topic: {PUBLISHER: {writer}},
            dead_letters: {PUBLISHER: {agent}},
            subscription: {SUBSCRIBER: {agent}},
        },
    )


def planned_project(planned: Installation, path: EventPath) -> Project:
    """Everything that a plan would make. APIs that it leaves to others are on."""
    whole = installed(planned.project, planned.topic, planned.subscription, "", path)
    assert whole.sink is not None
    writer, agent = whole.sink.writer, whole.sink.writer.replace("gcp-sa-logging", "gcp-sa-pubsub")
    whole.sink = replace(whole.sink, name=planned.sink.resource) if planned.sink else None
    whole.services = set(planned.services) or whole.services
    whole.policies = {name: {SUBSCRIBER if "/subscriptions/" in name else PUBLISHER: {agent}} for name in planned.agent}
    if planned.sink and planned.sink.publisher:
        whole.policies.setdefault(planned.topic, {}).setdefault(PUBLISHER, set()).add(writer)
    return whole
