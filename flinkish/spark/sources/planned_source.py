"""Planned sources as a Python data source of Spark: a step a batch, and rows that only say what to read.

The planner runs in a process of its own beside the driver, as Spark starts it for every stream.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.spark.sources.decoding import DESCRIPTOR
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planners import SourcePlanner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before pyspark 4.2

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Unknown to this pyspark."""


_SCHEMA = f"{DESCRIPTOR} string"


_registered: WeakSet[SparkSession] = WeakSet()


def planned_stream(
    session: SparkSession, planner: SourcePlanner, log: str, source: str
) -> DataFrame:
    """The descriptors of what ``planner`` plans, logged in the directory ``log``; ``source`` is the uid."""
    if session not in _registered:
        session.dataSource.register(PlannedSource)
        _registered.add(session)
    reader = session.readStream.format(PlannedSource.name()).schema(_SCHEMA)
    pickled = base64.b64encode(pickle.dumps(planner)).decode()
    return reader.options(planner=pickled, log=log, source=source).load()


class PlannedSource(DataSource):
    """A source whose steps a planner makes: the options ``planner``, ``log`` and ``source``."""

    @classmethod
    def name(cls) -> str:
        return "flinkish"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> PlannedStreamReader:
        planner: SourcePlanner = pickle.loads(base64.b64decode(self.options["planner"]))
        return PlannedStreamReader(planner, self.options["log"], self.options["source"])


class DescriptorPartition(InputPartition):
    """The descriptors that one Spark task reads by."""

    def __init__(self, descriptors: Sequence[str]) -> None:
        super().__init__(None)
        self.descriptors = descriptors


class PlannedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives Spark one step after the other. An offset is the number of the last step that was read.

    Spark logs an offset after it was given, so there may be one step that Spark does not know when a job
    starts again; it is given first, and alone.
    """

    def __init__(self, planner: SourcePlanner, log: str, source: str) -> None:
        self._planner = planner
        self._directory = log
        self._source = source
        # Spark makes readers to pickle them, too: the log is read when it is needed.
        self._log: PlanLog | None = None
        self._resumed = False

    def initialOffset(self) -> dict[str, Any]:
        return self._offset(0)

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        log = self._open()
        if start is not None:
            read = self._number(start)
            if read < log.latest:
                return self._offset(read + 1)
            if read > log.latest:
                log.read(read)
        elif not self._resumed and log.latest:
            # Before pyspark 4.2 nobody says which steps Spark knows: perhaps not this one.
            self._resumed = True
            return self._offset(log.latest)
        self._resumed = True
        step = self._planner.plan()
        if step is not None:
            log.append(step)
            if log.isDue:
                log.fold(self._planner.snapshot())
        return self._offset(log.latest)

    def prepareForTriggerAvailableNow(self) -> None:
        self._open()
        self._planner.freeze()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first, last = self._number(start) + 1, self._number(end)
        tasks: list[list[str]] = []
        for number in range(first, last + 1):
            tasks += self._planner.descriptors(self._open().read(number), firstPart=len(tasks))
        return [DescriptorPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        assert isinstance(partition, DescriptorPartition)
        return ((descriptor,) for descriptor in partition.descriptors)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is given up: a committed batch may be run again by hand."""

    def _open(self) -> PlanLog:
        if self._log is None:
            self._log = PlanLog(self._directory)
            self._planner.restore(*self._log.restored())
        return self._log

    def _offset(self, step: int) -> dict[str, Any]:
        return {"source": self._source, "step": step}

    def _number(self, offset: dict[str, Any]) -> int:
        if offset.get("source") != self._source or not isinstance(offset.get("step"), int):
            raise IncompatibleCheckpointError(
                f"the query's checkpoint has {offset} for the source {self._source}, which is no step of"
                " it: it was begun by another version of flinkish, or by another job. Begin anew with"
                " another checkpoint directory."
            )
        return int(offset["step"])
