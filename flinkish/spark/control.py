"""The stream of the job's own signals: the end of bounded input, and ticks of the clock.

Signals are lines in files of the checkpoint directory, read as one more source of the query: they
are in Spark's log of the batch like any other input, so a replayed batch sees them again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from flinkish.spark.checkpoint.storage import CheckpointStorage
from flinkish.spark.sources.function import CLOCK_TICK, END_OF_INPUT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DIRECTORY = "control"
_FIRST = "control-first"
_ENDED = "control-ended"
_BEGIN = "begin"


class ControlStream:
    """The signals of one job.

    ``endWithFirstBatch``: all sources give all they have in the first batch, so that the end of the
    input can come in that batch too.
    """

    def __init__(self, storage: CheckpointStorage, endWithFirstBatch: bool) -> None:
        self._storage = storage
        first = storage.readText(_FIRST)
        self.resumed = first is not None
        """Whether the job goes on from a checkpoint."""
        if first is None:
            first = END_OF_INPUT if endWithFirstBatch else _BEGIN
            storage.appendLine(_DIRECTORY, first, 0)
            storage.writeText(_FIRST, first)
        self._ended = first == END_OF_INPUT or storage.readText(_ENDED) is not None

    def stream(self, session: SparkSession) -> DataFrame:
        """The signals as a streaming DataFrame.

        Spark removes a file once the batch that read it is committed: an endless job ticks for ever.
        """
        reader = session.readStream.option("cleanSource", "delete")
        return reader.text(self._storage.child(_DIRECTORY)).select("value")

    @property
    def ended(self) -> bool:
        """Whether the end of bounded input has been said."""
        return self._ended

    def endInput(self) -> None:
        """Say that all bounded input has been read. Said twice it is heard once."""
        if not self._ended:
            # Number 1, always: a job killed between the two writes says it again.
            self._storage.appendLine(_DIRECTORY, END_OF_INPUT, 1)
            self._storage.writeText(_ENDED, END_OF_INPUT)
            self._ended = True

    def tick(self, due: Mapping[str, Collection[int]] | None = None) -> None:
        """Let a batch run now, so that the key groups in ``due``, by operator, see the clock; None:
        all do."""
        line = CLOCK_TICK + json.dumps(due)
        self._storage.appendLine(_DIRECTORY, line, time.time_ns() // 1000)
