"""The stream of the job's own signals: the end of bounded input, and ticks of the clock.

Signals are lines in files of the checkpoint directory, read as one more source of the query: they
are in Spark's log of the batch like any other input, so a replayed batch sees them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.spark.arrow_decoding import CLOCK
from flinkish.spark.source_function import END_OF_INPUT
from flinkish.spark.storage import CheckpointStorage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DIRECTORY = "control"
_BEGIN = "begin"


class ControlStream:
    """Signals of one job. ``whole``: its sources give all they have in the first batch, so that
    the end of the input can come in that batch too."""

    def __init__(self, storage: CheckpointStorage, bounded: bool, whole: bool) -> None:
        self._storage = storage
        self.bounded = bounded
        first = END_OF_INPUT if bounded and whole else _BEGIN
        if storage.readText(f"{_DIRECTORY}-first") is None:
            storage.appendLine(_DIRECTORY, first, 0)
            storage.writeText(f"{_DIRECTORY}-first", first)
        self._ended = storage.readText(f"{_DIRECTORY}-first") == END_OF_INPUT

    def stream(self, session: SparkSession) -> DataFrame:
        """The signals as a streaming DataFrame, with the clock in a column."""
        from pyspark.sql import functions as F

        lines = session.readStream.text(self._storage.child(_DIRECTORY))
        clock = F.unix_millis(F.current_timestamp())
        return lines.select("value").withColumn(CLOCK, clock)

    def endInput(self) -> bool:
        """Say that all bounded input has been read; False if that was said before."""
        if self._ended:
            return False
        self._storage.appendLine(_DIRECTORY, END_OF_INPUT, 1)
        self._ended = True
        return True
