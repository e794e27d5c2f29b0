"""``BatchWriter``: writes batches to a sink, and with exactly-once each only once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from flinkish.api.errors import JobExecutionError
from flinkish.runtime.records.records import Records


class SendCounts(NamedTuple):
    """The counts of a sink for a batch, or for a part of one."""

    received: int
    """The number of elements that the sink received."""
    sent: int
    """The number of records that the sink sent for them."""
    backPressuredMillis: int | None = None
    """The time (ms) that the sink waited for brokers; None if it does not know."""


class SendError(JobExecutionError):
    """Raised if records were refused. ``counts`` is their number by ``topic-partition``."""

    def __init__(self, message: str, counts: Mapping[str, int]) -> None:
        super().__init__(message)
        self.counts = counts

    def __reduce__(self) -> tuple[Any, ...]:
        return SendError, (str(self), dict(self.counts))


def total(counts: Sequence[SendCounts]) -> SendCounts | None:
    """The sum of ``counts``; None if there are none."""
    if not counts:
        return None
    waited = [each.backPressuredMillis for each in counts if each.backPressuredMillis is not None]
    return SendCounts(
        sum(each.received for each in counts),
        sum(each.sent for each in counts),
        sum(waited) if waited else None,
    )


class BatchWriter(ABC):
    """A sink's open connection, created for the first batch in a run of the job."""

    @abstractmethod
    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        """Write the elements of a batch, unless an earlier run of the batch has written them."""

    @abstractmethod
    def close(self) -> None:
        """Called at the end of the job, also after an error."""
