"""``BatchWriter``: writes a sink's batches on the driver, and knows a batch that comes again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from flinkish.runtime.records.records import Records


class BatchWriter(ABC):
    """The open connection of a sink. It is made with the sink's first batch in a run of the job."""

    @abstractmethod
    def write(self, runs: Sequence[Records], batchId: int) -> None:
        """Write the elements of a batch, unless they are there from an earlier run."""

    @abstractmethod
    def close(self) -> None:
        """Called at the end of the job, also after an error."""
