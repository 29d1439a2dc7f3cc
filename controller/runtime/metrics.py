"""The operator's metrics: their names, their labels (all bounded), and nothing else."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
#: Ignored method names come from outside: after this many different ones, the rest count as `other`.
_MAX_REASONS = 100


class Metrics:
    """All metric objects on one registry."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry if registry is not None else CollectorRegistry()
        r = self.registry
        self.events = Counter("tpu_events_received", "Events decoded, by kind.", ["kind"], registry=r)
        self.ignored = Counter("tpu_events_ignored", "Entries passed over, by reason.", ["reason"], registry=r)
        self.unreadable = Counter("tpu_events_unreadable", "Messages that are no log entry.", ["reason"], registry=r)
        self.foreign = Counter(
            "tpu_events_passed_over", "Events of others' resources, or with nothing new to see.", registry=r
        )
        self.duplicates = Counter("tpu_events_duplicate", "Events that came before.", registry=r)
        self.event_age = Histogram(
            "tpu_event_age_seconds", "From the entry's timestamp to its receipt.", buckets=_SECONDS, registry=r
        )
        self.event_to_token = Histogram(
            "tpu_event_to_token_seconds",
            "From the publication of the event (or the due time of the look) to the accepted injection.",
            ["cause"],
            buckets=_SECONDS,
            registry=r,
        )
        self.last_event = Gauge("tpu_last_event_timestamp", "When the last event was received.", registry=r)
        self.subscriber_up = Gauge("tpu_subscriber_up", "1 while the subscription is streaming.", registry=r)
        self.looks = Counter("tpu_looks", "Looks, by kind of resource and cause.", ["kind", "cause"], registry=r)
        self.look_seconds = Histogram("tpu_look_seconds", "A look's duration.", ["kind"], buckets=_SECONDS, registry=r)
        self.failed_looks = Counter("tpu_looks_failed", "Looks that will be repeated.", ["kind"], registry=r)
        self.drift = Counter(
            "tpu_resync_drift", "Changes that a resync found and events had not told.", ["kind"], registry=r
        )
        self.gce_calls = Counter("tpu_gce_calls", "Calls of Compute Engine.", ["method", "code"], registry=r)
        self.kube_calls = Counter("tpu_kube_calls", "Calls of the Kubernetes API.", ["method", "code"], registry=r)
        self.actions = Counter("tpu_actions", "Actions, by outcome.", ["action", "outcome"], registry=r)
        self.tokens_live = Gauge("tpu_tokens_live", "Bootstrap tokens of ours that live.", registry=r)
        self.waiting = Gauge("tpu_keys_waiting", "Keys with a look waiting or running.", registry=r)
        self.records_dropped = Gauge(
            "tpu_audit_records_dropped", "Audit records that one of their copies lacks, since the start.", registry=r
        )
        self.leader = Gauge("tpu_leader", "1 while this replica leads.", registry=r)
        self.events_flowing = Gauge("tpu_events_flowing", "0 while the operator is deaf.", registry=r)
        self._reasons: set[str] = set()

    def bounded(self, reason: str) -> str:
        """The reason itself, or `other` when there are too many different ones."""
        if reason not in self._reasons and len(self._reasons) >= _MAX_REASONS:
            return "other"
        self._reasons.add(reason)
        return reason
