"""The control stream: a source through which the driver sends signals to its own query.

A batch may depend only on its input, or it could not run again with the same result. So the other
facts that workers need come as input too: that all bounded sources have ended, and that
processing-time timers are due (ticks). Each signal is a line in a file of the checkpoint directory,
which the query reads as one more source. Spark logs it with the batch, and a replayed batch reads
it again.
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

CONTROL = "control"
"""The directory of the signals in the checkpoint."""

_FIRST = "control-first"
_ENDED = "control-ended"
_BEGIN = "begin"


class ControlStream:
    """The signals of one job. ``endWithFirstBatch``: the first batch reads all sources to their
    end, so it also contains the signal of the end of the input."""

    def __init__(self, storage: CheckpointStorage, endWithFirstBatch: bool) -> None:
        self._storage = storage
        first = storage.readText(_FIRST)
        self.resumed = first is not None
        """Whether the job continues from a checkpoint."""
        if first is None:
            first = END_OF_INPUT if endWithFirstBatch else _BEGIN
            storage.appendLine(CONTROL, first, 0)
            storage.writeText(_FIRST, first)
        self.ended = first == END_OF_INPUT or storage.readText(_ENDED) is not None
        """Whether the end of bounded input has been signalled."""

    def stream(self, session: SparkSession) -> DataFrame:
        """The signals as a streaming DataFrame. Spark removes a file once the batch that read it is
        committed, as an unbounded job writes more and more files."""
        reader = session.readStream.option("cleanSource", "delete")
        return reader.text(self._storage.child(CONTROL)).select("value")

    def endInput(self) -> None:
        """Signal that all bounded input has been read; does nothing the second time."""
        if not self.ended:
            # Always number 1: a job killed between the two writes repeats the same signal.
            self._storage.appendLine(CONTROL, END_OF_INPUT, 1)
            self._storage.writeText(_ENDED, END_OF_INPUT)
            self.ended = True

    def tick(self, due: Mapping[str, Collection[int]] | None = None) -> None:
        """Start a batch that calls the key groups in ``due``, by operator uid; None: all of them."""
        line = CLOCK_TICK + json.dumps(due)
        self._storage.appendLine(CONTROL, line, time.time_ns() // 1000)
