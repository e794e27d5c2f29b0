"""``BatchWriter``: writes a sink's batches; exactly once, on the driver, it knows a batch that comes again."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flinkish.runtime.records.records import Records


class SendCounts(NamedTuple):
    """What a sink has done with a batch, or with a part of it."""

    received: int
    """How many elements came."""
    sent: int
    """How many records were made of them and sent."""


def total_counts(reports: Sequence[bytes]) -> SendCounts | None:
    """The sum of what tasks told, each a pickled ``SendCounts``; None if no task wrote."""
    found: list[SendCounts] = [pickle.loads(report) for report in reports]
    if not found:
        return None
    return SendCounts(sum(each.received for each in found), sum(each.sent for each in found))


class BatchWriter(ABC):
    """The open connection of a sink. It is made with the sink's first batch in a run of the job."""

    @abstractmethod
    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        """Write the elements of a batch, unless they are there from an earlier run. Returns how many that
        were."""

    @abstractmethod
    def close(self) -> None:
        """Called at the end of the job, also after an error."""
