"""``BatchRun``: a bounded job as one batch query of Spark (RuntimeExecutionMode.BATCH)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from flinkish.api.errors import IllegalStateError
from flinkish.spark.session.quiet_logs import quiet_py4j
from flinkish.spark.sinks.batch_sinks import BatchSinks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ONLY_BATCH = 0

_POLL_SECONDS = 0.1


class BatchRun:
    """Runs a whole job in one batch. ``settings`` sets Spark's settings while the query runs."""

    query = None

    def __init__(
        self,
        session: SparkSession,
        frames: DataFrame,
        sinks: BatchSinks,
        settings: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._session = session
        self._frames = frames
        self._sinks = sinks
        self._settings = settings
        self._tag = f"flinkish-{uuid.uuid4().hex}"
        self._ended = threading.Event()
        self.stopped = False

    @property
    def isCaller(self) -> bool:
        return self._sinks.isCaller

    def start(self) -> None:
        """Nothing runs before ``drive``."""

    def stop(self) -> None:
        """Stop the query in another thread, as this one may be interrupted."""
        self.stopped = True
        self._sinks.cancel(lambda: True)
        threading.Thread(target=self._interrupt, daemon=True).start()

    def stopAfterBatch(self) -> None:
        """Not supported, as there is one batch and no checkpoint of it."""
        raise IllegalStateError("a job in BATCH takes no checkpoints. Call cancel().")

    def drive(self) -> BaseException | None:
        """Run the query to its end; the error it failed with."""
        error: BaseException | None = None
        try:
            with quiet_py4j(), self._settings():
                self._session.addTag(self._tag)
                try:
                    self._sinks(self._frames, _ONLY_BATCH)
                finally:
                    self._session.removeTag(self._tag)
        except BaseException as raised:
            error = raised
        finally:
            self._ended.set()
        return None if self.stopped else self._sinks.failure or error

    def cleanUp(self) -> None:
        """Called when the query has ended, and its tasks have closed their functions."""
        with quiet_py4j(), suppress(Exception):
            self._sinks.close()

    def _interrupt(self) -> None:
        # Repeatedly, as the next of its Spark jobs may be about to start
        while not self._ended.wait(_POLL_SECONDS):
            with quiet_py4j(), suppress(Exception):
                self._session.interruptTag(self._tag)
