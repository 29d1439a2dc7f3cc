"""One Event, two shapes: `events.k8s.io/v1` and core `v1` show the same objects under other field names.

The pairs are those of k8s.io/kubernetes/pkg/apis/events/v1/conversion.go. kopf posts core Events and kubectl describe
reads them; newer recorders write events.k8s.io.
"""

from collections.abc import Iterator

from simulator.kube.edit import dig
from simulator.kube.errors import Cause
from simulator.seams import Json

#: (core, events.k8s.io)
_PAIRS = (
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
_TO_NEW = dict(_PAIRS)
_TO_CORE = {new: core for core, new in _PAIRS}


def check(new: Json, _old: Json | None) -> Iterator[Cause]:
    """An Event is in its subject's namespace; of a subject without one, in `default` (core/validation/events.go)."""
    namespace = dig(new, ("involvedObject", "namespace")) or ""
    if new["metadata"]["namespace"] != (namespace or "default") and "eventTime" not in new:
        why = f'Invalid value: "{namespace}": does not match event.namespace'
        yield Cause("involvedObject.namespace", "FieldValueInvalid", why)


def to_new(body: Json) -> Json:
    """A core Event as `events.k8s.io/v1` shows it."""
    renamed = {_TO_NEW.get(key, key): value for key, value in body.items()}
    return {**renamed, "apiVersion": "events.k8s.io/v1"}


def to_core(body: Json) -> Json:
    """An `events.k8s.io/v1` Event as it is stored."""
    renamed = {_TO_CORE.get(key, key): value for key, value in body.items()}
    return {**renamed, "apiVersion": "v1"}
