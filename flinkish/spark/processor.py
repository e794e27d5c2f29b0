"""``StageProcessor``: one level of a job as a Spark ``StatefulProcessor``."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

if TYPE_CHECKING:
    from flinkish.spark.stage_run import StageRun

_DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"

GROUP = "group"
"""The grouping column."""

PAGES = "pages"
"""The name of the state with the pages."""

_PAGE = StructType([StructField("page", BinaryType())])
_CONTENT = StructType([StructField("content", BinaryType())])
"""Every task of every batch would send schemas in text form to the JVM for parsing."""


class StageProcessor(StatefulProcessor):
    """Runs a stage, the pickled ``StageRun``. For each job Spark starts a process that only asks a
    processor for its states. Importing the code of a stage would take longer than the rest of that
    process, so the stage is unpickled when its first rows come."""

    def __init__(self, stage: bytes) -> None:
        self._pickled = stage
        self._stage: StageRun | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if getattr(sys.modules["__main__"].__spec__, "name", "") == _DRIVER_WORKER:
            # That process prints its steps to standard output.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._pages = handle.getMapState(PAGES, _PAGE, _CONTENT)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        if self._stage is None:
            self._stage = pickle.loads(self._pickled)
        yield from self._stage.process(key[0], rows, self._pages)

    def close(self) -> None:
        if self._stage is not None:
            self._stage.close()
