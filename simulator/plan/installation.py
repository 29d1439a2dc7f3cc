"""The event path that a plan would make: topics, subscriptions, the sink, and who may do what.

A relation holds where the plan says so, by a known value or by a reference (references.py), and is missing otherwise.
The operator is the service account that has a custom role on Compute Engine's API; which cluster's, its subscription
says, by its label.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from simulator.plan.grants import AGENT, Grants
from simulator.plan.references import sources
from simulator.plan.resources import Plan, PlanError, Resource, understood
from simulator.pubsub.subscription import DeadLetterPolicy, RetryPolicy, SubscriptionConfig

__all__ = ["CLUSTER_LABEL", "Installation", "PlannedSink", "installation"]

#: Of a cluster's subscription (terraform/modules/event-pipeline).
CLUSTER_LABEL: Final = "tpu-node-group-cluster"
_TOPIC: Final = "google_pubsub_topic"
_SUBSCRIPTION: Final = "google_pubsub_subscription"
_SINKS: Final = ("google_logging_project_sink", "google_logging_folder_sink", "google_logging_organization_sink")
#: Where a retry policy leaves one out (facts: GCE 5).
_BACKOFF: Final = (("minimum", "10s"), ("maximum", "600s"))
_DAYS_31: Final = 31 * 86400.0


@dataclass(frozen=True, slots=True)
class PlannedSink:
    """The sink that publishes to the operator's topic."""

    #: As in projects/P/sinks/S, folders/F/sinks/S or organizations/O/sinks/S.
    resource: str
    #: The project whose entries it takes; "" for those of all projects of a folder or organization.
    project: str
    filter: str
    #: Takes nothing: it is off, or of a folder without its projects.
    disabled: bool
    #: Its writer may publish to the topic.
    publisher: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What the plan would make, as far as one cluster's operator has to do with it."""

    project: str
    cluster: str
    #: The operator's topic and subscription, as projects/P/topics/T and projects/P/subscriptions/S.
    topic: str
    subscription: str
    topics: tuple[str, ...]
    subscriptions: tuple[SubscriptionConfig, ...]
    #: None where no sink publishes to the topic.
    sink: PlannedSink | None
    #: Topics that Pub/Sub's service agent may publish to, and subscriptions that it may take from.
    agent: frozenset[str]
    #: The operator may take from the subscription, and write log entries; VMs may write theirs.
    subscriber: bool
    logger: bool
    nodes_logger: bool
    #: Email of the service account that the operator gives to VMs; "" where it may attach none.
    node_service_account: str
    #: Of the operator's custom role.
    permissions: frozenset[str]
    act_as: bool
    #: APIs that it turns on, as in `pubsub.googleapis.com`.
    services: frozenset[str]

    @property
    def moves_dead_letters(self) -> bool:
        """Whether dead letters of the operator's subscription can be moved: the service agent has both roles for it."""
        return any(
            each.dead_letter is not None and {each.name, each.dead_letter.topic} <= self.agent
            for each in self.subscriptions
            if each.name == self.subscription
        )


def installation(plan: Plan, cluster: str = "") -> Installation:
    """Read it. `cluster` chooses where there are several. Raises PlanError."""
    with understood():
        return _Reading(plan, cluster).installation()


class _Reading:
    def __init__(self, plan: Plan, cluster: str) -> None:
        self._plan = plan
        self._topics = {path_of(each): each for each in plan.of_type(_TOPIC)}
        self._grants = Grants(plan)
        self._own = self._subscription(cluster)
        self._topic = self._topic_of(self._own, "topic")

    def installation(self) -> Installation:
        operator, path = self._operator(), path_of(self._own)
        configs = [self._config(each) for each in self._plan.of_type(_SUBSCRIPTION)]
        return Installation(
            project=str(self._own.values["project"]),
            cluster=_labels(self._own).get(CLUSTER_LABEL, ""),
            topic=self._topic,
            subscription=path,
            topics=tuple(self._topics),
            subscriptions=tuple(each for each in configs if each.topic in self._topics),
            sink=self._sink(),
            agent=self._agent(),
            subscriber=operator in self._grants.on(_SUBSCRIPTION, path, "roles/pubsub.subscriber"),
            logger=operator in self._grants.in_projects("roles/logging.logWriter"),
            nodes_logger=bool(self._nodes(operator) & self._grants.in_projects("roles/logging.logWriter")),
            node_service_account=self._email(self._grants.attached(operator)),
            permissions=self._grants.permissions(operator),
            act_as=operator in self._grants.acting(),
            services=frozenset(each.known("service") for each in self._plan.of_type("google_project_service")),
        )

    def _subscription(self, cluster: str) -> Resource:
        """The operator's. Where none bears the label, the only one that there is."""
        everything = self._plan.of_type(_SUBSCRIPTION)
        labelled = [each for each in everything if CLUSTER_LABEL in _labels(each)]
        found = [each for each in labelled if cluster in {"", _labels(each)[CLUSTER_LABEL]}] if labelled else everything
        if len(found) == 1:
            return found[0]
        names = ", ".join(sorted(_labels(each)[CLUSTER_LABEL] for each in labelled))
        if not everything:
            raise PlanError("the plan makes no subscription: there is nothing that an operator could take events from")
        if not labelled:
            raise PlanError(f"which subscription is the operator's? None has the label {CLUSTER_LABEL}")
        raise PlanError(f"the plan has no one cluster {cluster!r}: say which of {names}")

    def _topic_of(self, resource: Resource, *path: str | int) -> str:
        """The topic that an argument names, "" where it names none of the plan's."""
        found = [each for each in sources(self._plan, resource, *path) if each.type == _TOPIC]
        known = [topic for topic in self._topics if _at(resource, path) in {topic, topic.rpartition("/")[2]}]
        return next(iter([*known, *(path_of(each) for each in found)]), "")

    def _config(self, resource: Resource) -> SubscriptionConfig:
        values = resource.values
        retry, letters, expiry = (
            (values.get(name) or [None])[0] for name in ("retry_policy", "dead_letter_policy", "expiration_policy")
        )
        dead = self._topic_of(resource, "dead_letter_policy", 0, "dead_letter_topic") if letters is not None else ""
        return SubscriptionConfig(
            path_of(resource),
            self._topic_of(resource, "topic"),
            int(values.get("ack_deadline_seconds") or 10),
            retry=None if retry is None else _retry(retry),
            dead_letter=DeadLetterPolicy(dead, int(letters.get("max_delivery_attempts") or 5)) if dead else None,
            labels=_labels(resource),
            expires=_DAYS_31 if expiry is None else _seconds(expiry.get("ttl"), _DAYS_31),
        )

    def _sink(self) -> PlannedSink | None:
        there = [
            each for each in self._plan.of_type(*_SINKS) if self._topic and self._topic_of_sink(each) == self._topic
        ]
        if not there:
            return None
        if len(there) > 1:
            raise PlanError(f"two sinks publish to {self._topic}: {', '.join(each.address for each in there)}")
        sink, values = there[0], there[0].values
        of_project = sink.type == "google_logging_project_sink"
        project = str(values.get("project") or self._own.values["project"])
        parent = {
            "google_logging_project_sink": f"projects/{project}",
            "google_logging_folder_sink": f"folders/{values.get('folder')}",
            "google_logging_organization_sink": f"organizations/{values.get('org_id')}",
        }
        return PlannedSink(
            f"{parent[sink.type]}/sinks/{sink.known('name')}",
            project if of_project else "",
            str(values.get("filter") or ""),
            bool(values.get("disabled")) or not (of_project or values.get("include_children")),
            sink.address in self._grants.on(_TOPIC, self._topic, "roles/pubsub.publisher"),
        )

    def _topic_of_sink(self, sink: Resource) -> str:
        known = str(sink.values.get("destination") or "").removeprefix("pubsub.googleapis.com/")
        return known if known in self._topics else self._topic_of(sink, "destination")

    def _agent(self) -> frozenset[str]:
        topics = {name for name in self._topics if AGENT in self._grants.on(_TOPIC, name, "roles/pubsub.publisher")}
        taking = (path_of(each) for each in self._plan.of_type(_SUBSCRIPTION))
        return frozenset(
            topics
            | {name for name in taking if AGENT in self._grants.on(_SUBSCRIPTION, name, "roles/pubsub.subscriber")}
        )

    def _operator(self) -> str:
        """Its service account's address; "" where it cannot be told."""
        operators = self._grants.with_custom_role()
        takers = self._grants.on(_SUBSCRIPTION, path_of(self._own), "roles/pubsub.subscriber")
        mine = operators & takers or operators or takers - {AGENT}
        return next(iter(mine)) if len(mine) == 1 else ""

    def _email(self, accounts: frozenset[str]) -> str:
        found = [each for each in self._plan.of_type("google_service_account") if each.address in accounts]
        return f"{found[0].known('account_id')}@{found[0].known('project')}.iam.gserviceaccount.com" if found else ""

    def _nodes(self, operator: str) -> frozenset[str]:
        """The service accounts that the operator attaches to VMs; where it may none, all but operators."""
        everything = frozenset(each.address for each in self._plan.of_type("google_service_account"))
        return self._grants.attached(operator) or everything - self._grants.with_custom_role()


def path_of(resource: Resource) -> str:
    """`projects/P/topics/T` or `projects/P/subscriptions/S`."""
    collection = "topics" if resource.type == _TOPIC else "subscriptions"
    project = resource.values.get("project")
    if not project:
        raise PlanError(f"{resource.address} names no project: the plan must, for the world has no default one")
    return f"projects/{project}/{collection}/{resource.known('name')}"


def _labels(resource: Resource) -> Mapping[str, str]:
    return resource.values.get("labels") or {}


def _at(resource: Resource, path: Iterable[str | int]) -> object:
    value: object = resource.values
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _retry(written: Mapping[str, str]) -> RetryPolicy:
    minimum, maximum = (written.get(f"{name}_backoff") or default for name, default in _BACKOFF)
    return RetryPolicy(float(minimum.removesuffix("s")), float(maximum.removesuffix("s")))


def _seconds(written: str | None, default: float) -> float | None:
    """`600s` as a number; "" is never."""
    if written is None:
        return default
    return float(written.removesuffix("s")) if written else None
