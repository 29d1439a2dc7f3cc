"""Labelled metrics that no input can make grow without end: after so many rows, what is new counts as `other`."""

from typing import Final, Generic, TypeVar

from prometheus_client.metrics import MetricWrapperBase

M = TypeVar("M", bound=MetricWrapperBase)

OTHER: Final = "other"


class Bounded(Generic[M]):
    """A metric with labels, and its rows (one for each combination of values). `most`: how many it may have."""

    def __init__(self, metric: M, most: int) -> None:
        self.metric = metric
        self.most = most
        self._rows: set[tuple[str, ...]] = set()

    def labels(self, *values: str) -> M:
        """The row of these values, or the row `other`."""
        if values not in self._rows:
            if len(self._rows) >= self.most - 1:
                return self.metric.labels(*(OTHER for _ in values))
            self._rows.add(values)
        return self.metric.labels(*values)

    def remove(self, *values: str) -> None:
        """Forget a row, if there is one."""
        if values in self._rows:
            self._rows.remove(values)
            self.metric.remove(*values)
