"""Passes batches to the sinks of a job over Spark Connect: the server stores each batch, and the
client reads it.

The batches are in a ring of directories in the checkpoint, as Spark can replace a directory but not remove one.
The client records the last batch that it has written to the sinks, and the server waits while the
ring is full.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RING = 64
"""The number of batches that may wait for the client."""

DELIVERED = ("delivered/even", "delivered/odd")
"""The client notes its last delivered batch in these by turns, so that one is complete."""

NOTHING = -1
"""Recorded before the first batch."""

_POLL_SECONDS = 0.1


def place_of(batchId: int) -> str:
    return f"results/{batchId % RING:02d}"


class StoreBatch:
    """Stores each batch in ``checkpoint``, as function of ``foreachBatch`` in the server."""

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._delivered = NOTHING

    def __call__(self, frame: DataFrame, batchId: int) -> None:
        """Store a batch, once there is room for it."""
        while batchId - self._delivered > RING:
            self._delivered = self._noted(frame.sparkSession)
            if batchId - self._delivered > RING:
                time.sleep(_POLL_SECONDS)
        frame.write.mode("overwrite").parquet(f"{self._checkpoint}/{place_of(batchId)}")

    def _noted(self, session: SparkSession) -> int:
        noted = [NOTHING]
        for place in DELIVERED:
            # It may be half written
            with suppress(Exception):
                rows = session.read.text(f"{self._checkpoint}/{place}", wholetext=True).collect()
                noted += [int(row[0].strip("\x00\n")) for row in rows]
        return max(noted)
