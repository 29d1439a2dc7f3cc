"""The operator's metrics: their names and their labels, all bounded. docs/metrics.md says what to do when one moves.

No label is a moment or an object's name, except for the project: there are few of those, and no more than fifty here.
"""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.runtime.bounded import Bounded

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
#: Rows of labels whose values are ours: kinds, causes, methods with their codes.
_OURS: Final = 300
#: Rows of labels whose values come from outside.
_FOREIGN: Final = 100
_PROJECTS: Final = 50


class Metrics:
    """All metric objects on one registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        #: Every metric with labels.
        self.labelled: list[Bounded[Counter] | Bounded[Gauge] | Bounded[Histogram]] = []
        self._of_events()
        self._of_the_path()
        self._of_looks()
        self._of_acts()

    def _of_events(self) -> None:
        self.events = self._counters("tpu_events_received", "Events decoded, by kind.", ["kind"])
        self.acked = self._counter("tpu_events_acked", "Messages that need not come again: their wake is safe.")
        self.nacked = self._counters("tpu_events_nacked", "Messages that were refused, by reason.", ["reason"])
        self.dead_lettered = self._counter(
            "tpu_events_dead_lettered", "Unreadable messages that were refused at their last delivery attempt."
        )
        self.ignored = self._counters("tpu_events_ignored", "Entries passed over, by reason.", ["reason"], _FOREIGN)
        self.unreadable = self._counters(
            "tpu_events_unreadable", "Messages that are no log entry, by reason.", ["reason"], _FOREIGN
        )
        self.foreign = self._counter("tpu_events_foreign", "Events of resources that no group here has.")
        self.nothing_new = self._counter("tpu_events_nothing_new", "Events of ours that leave nothing to see.")
        self.stale = self._counter("tpu_events_stale", "Events of an earlier VM of the name: of another instance id.")
        self.duplicates = self._counter("tpu_events_duplicate", "Events that came before.")
        self.event_age = Histogram(
            "tpu_event_age_seconds",
            "From the entry's timestamp to its receipt.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.event_to_token = self._histograms(
            "tpu_event_to_token_seconds",
            "From the publication of the event (or the due time of the look) to the accepted injection, by cause.",
            ["cause"],
        )

    def _of_the_path(self) -> None:
        self.last_event = self._gauge("tpu_last_event_timestamp", "When the last event was received, in Unix time.")
        self.oldest_event = self._gauge(
            "tpu_oldest_unhandled_event_seconds",
            "The age of the oldest event that is not handled, since its publication.",
        )
        self.subscriber_up = self._gauge("tpu_subscriber_up", "1 while the subscription is streaming.")
        self.subscriber_restarts = self._counter("tpu_subscriber_restarts", "Streams that broke.")
        self.events_flowing = self._gauges(
            "tpu_events_flowing", "0 while the operator is deaf to a project's entries.", ["project"], _PROJECTS
        )
        self.drift = self._counters(
            "tpu_resync_drift", "Changes that a resync found and events had not told, by kind.", ["kind"]
        )

    def _of_looks(self) -> None:
        self.looks = self._counters("tpu_looks", "Looks, by kind of resource and cause.", ["kind", "cause"])
        self.look_seconds = self._histograms("tpu_look_seconds", "A look's duration, by kind of resource.", ["kind"])
        self.failed_looks = self._counters(
            "tpu_looks_failed", "Looks that will be repeated, by kind of resource.", ["kind"]
        )
        self.groups_not_ready = self._gauge("tpu_groups_not_ready", "Node groups that are not Ready and should be.")
        self.waiting = self._gauge("tpu_keys_waiting", "Keys with a look waiting or running.")
        self.saturation = self._gauge(
            "tpu_handler_pool_saturation", "Looks that run, of those that may run at once; 1 is full."
        )

    def _of_acts(self) -> None:
        self.gce_calls = self._counters(
            "tpu_gce_calls", "Calls of Compute Engine, by method and code.", ["method", "code"]
        )
        self.kube_calls = self._counters(
            "tpu_kube_calls", "Calls of the Kubernetes API, by method and code.", ["method", "code"]
        )
        self.actions = self._counters("tpu_actions", "Actions, by outcome.", ["action", "outcome"])
        self.tokens_live = self._gauge("tpu_tokens_live", "Bootstrap tokens of ours that live.")
        self.orphans_deleted = self._counters(
            "tpu_orphans_deleted", "What had lost its owner and was deleted, by kind.", ["kind"]
        )
        self.records_dropped = self._gauge(
            "tpu_audit_records_dropped", "Audit records that one of their copies lacks, since the start."
        )
        self.leader = self._gauge("tpu_leader", "1 while this replica leads.")

    def flowing(self, project: str, *, deaf: bool) -> None:
        """Say whether the operator is deaf to a project's entries."""
        self.events_flowing.labels(project).set(0 if deaf else 1)

    def _counter(self, name: str, meaning: str) -> Counter:
        return Counter(name, meaning, registry=self.registry)

    def _gauge(self, name: str, meaning: str) -> Gauge:
        return Gauge(name, meaning, registry=self.registry)

    def _counters(self, name: str, meaning: str, labels: Sequence[str], most: int = _OURS) -> Bounded[Counter]:
        made = Bounded(Counter(name, meaning, labels, registry=self.registry), most)
        self.labelled.append(made)
        return made

    def _gauges(self, name: str, meaning: str, labels: Sequence[str], most: int) -> Bounded[Gauge]:
        made = Bounded(Gauge(name, meaning, labels, registry=self.registry), most)
        self.labelled.append(made)
        return made

    def _histograms(self, name: str, meaning: str, labels: Sequence[str]) -> Bounded[Histogram]:
        metric = Histogram(name, meaning, labels, buckets=_SECONDS, registry=self.registry)
        made = Bounded(metric, _OURS)
        self.labelled.append(made)
        return made
