"""Planned sources: a Python data source of Spark that gives each batch one planned step.

With a *planned source* flinkish, not Spark, decides what each batch reads. A planner (``planners``) makes
one *step* for each batch and logs it (``plan_log``). The rows that Spark gets are only descriptors: texts
that say what to read. The workers read the data themselves. Spark's offset is the number of the last step.

Spark runs the reader, and so the planner, in a separate Python process for each stream.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.runtime.sources.planners import SourcePlanner
from flinkish.spark.sources.decoding import DESCRIPTOR
from flinkish.spark.sources.plan_log import PlanLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before pyspark 4.2

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """A stand-in for older versions of pyspark."""


_SCHEMA = f"{DESCRIPTOR} string"


PLANNER = "planner.secret"
"""The option with the planner. By its name Spark hides what it says, as a planner knows the passwords of its
source (``spark.redaction.regex``)."""


_registered: WeakSet[SparkSession] = WeakSet()


def planned_stream(
    session: SparkSession, planner: SourcePlanner, log: str, source: str
) -> DataFrame:
    """A streaming DataFrame with the descriptors of the steps that ``planner`` makes.

    Steps are logged in the directory ``log``; ``source`` is the uid of the source.
    """
    if session not in _registered:
        session.dataSource.register(PlannedSource)
        _registered.add(session)
    reader = session.readStream.format(PlannedSource.name()).schema(_SCHEMA)
    pickled = base64.b64encode(pickle.dumps(planner)).decode()
    return reader.options(log=log, source=source).option(PLANNER, pickled).load()


class PlannedSource(DataSource):
    """A data source with the options ``planner.secret``, ``log`` and ``source``."""

    @classmethod
    def name(cls) -> str:
        return "flinkish"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> PlannedStreamReader:
        planner: SourcePlanner = pickle.loads(base64.b64decode(self.options[PLANNER]))
        return PlannedStreamReader(planner, self.options["log"], self.options["source"])


class DescriptorPartition(InputPartition):
    """The descriptors for one Spark task."""

    def __init__(self, descriptors: Sequence[str]) -> None:
        super().__init__(None)
        self.descriptors = descriptors


class PlannedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives Spark one step for each batch; an offset is the number of the last step.

    A step is logged before Spark learns its offset. After a crash there may therefore be one step that
    Spark does not know. It becomes the first batch, alone, so that a restarted job has the same
    batches, and its watermarks rise at the same elements, as without the crash.
    """

    def __init__(self, planner: SourcePlanner, log: str, source: str) -> None:
        self._planner = planner
        self._directory = log
        self._source = source
        # Read when needed, as Spark also creates readers only to pickle them.
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
            # Before pyspark 4.2 Spark does not tell which steps it knows: perhaps not this one.
            self._resumed = True
            return self._offset(log.latest)
        self._resumed = True
        if log.isDue:
            # Before the next step: a savepoint of the last batch needs what was planned up to it
            log.fold(self._planner.snapshot())
        step = self._planner.plan()
        if step is not None:
            log.append(step)
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
        """Keeps everything, as a committed batch may be run again by hand."""

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
