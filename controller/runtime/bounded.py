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
        self._rows: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        """The row of these values, or the row `other`."""
        row = self._rows.get(values)
        if row is None:
            if len(self._rows) >= self.most - 1:
                return self.metric.labels(*(OTHER for _ in values))
            row = self._rows[values] = self.metric.labels(*values)
        return row

    def remove(self, *values: str) -> None:
        """Forget a row, if there is one."""
        if values in self._rows:
            del self._rows[values]
            self.metric.remove(*values)
