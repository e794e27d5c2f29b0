"""Planned sources: a Python data source for Spark that returns one planned step for each batch.

With a *planned source* flinkish, not Spark, decides what each batch reads. A planner (``planners``)
plans one *step* for each batch. Spark gets rows of descriptors only: strings that say what to read.
The workers read the data themselves. Where the checkpoint is on this machine's file system, a step
is logged there (``plan_log``) and Spark's offset is its number. Elsewhere the step is the offset
(``planned_offset``).

Spark runs the reader, and so the planner, in a separate Python process for each stream.
"""

from __future__ import annotations

import base64
import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from flinkish.api.errors import IncompatibleCheckpointError, NotSupportedError
from flinkish.runtime.sources.planners import SourcePlanner, Step
from flinkish.spark.connect.travelling import ARCHIVES, TravellingSource
from flinkish.spark.session.drivers import driver_of
from flinkish.spark.sources.decoding import DESCRIPTOR
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset, WholeStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    _TELLS_START = True
except ImportError:  # before pyspark 4.2
    _TELLS_START = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Replaces pyspark's class in older versions."""


_SCHEMA = f"{DESCRIPTOR} string"

PLANNER = "planner.secret"
"""The option with the planner. Spark redacts it because of its name (``spark.redaction.regex``), as
a planner has the passwords of its source."""

_LOG = "log"

_registered: WeakSet[SparkSession] = WeakSet()

_CLEARED_EVERY = 200
"""The number of steps after which a planner discards data of old steps, as with a plan log."""


def planned_stream(
    session: SparkSession,
    planner: SourcePlanner,
    log: str | None,
    source: str,
    mayRead: Callable[[], bool] | None = None,
) -> DataFrame:
    """A streaming DataFrame with the descriptors of the steps of ``planner``. Steps are logged in
    the directory ``log`` of this machine, or by Spark itself if that is None; ``source`` is the uid
    of the source. ``mayRead`` says before a step that is logged whether to plan it."""
    if log is None and not _TELLS_START:
        raise NotSupportedError(
            f"the source {source}: its checkpoint is not on this machine's file system, and before version 4.2"
            " pyspark does not say where such a source goes on. Use a newer pyspark, or pass"
            " enableCheckpointing a directory on a mount that all machines have."
        )
    archives = driver_of(session).archives
    if session not in _registered:
        kind = TravellingSource if archives else PlannedSource
        session.dataSource.register(kind)
        _registered.add(session)
    reader = session.readStream.format(PlannedSource.name()).schema(_SCHEMA)
    if archives:
        reader = reader.option(ARCHIVES, "\n".join(archives))
    pickled = base64.b64encode(pickle.dumps((planner, mayRead))).decode()
    if log is not None:
        reader = reader.option(_LOG, log)
    return reader.option("source", source).option(PLANNER, pickled).load()


class PlannedSource(DataSource):
    """A data source with the options ``planner.secret``, ``source`` and, if steps are in a log, ``log``."""

    @classmethod
    def name(cls) -> str:
        return "flinkish"

    def schema(self) -> str:
        return _SCHEMA

    def streamReader(self, schema: StructType) -> PlannedStreamReader:
        planner, mayRead = pickle.loads(base64.b64decode(self.options[PLANNER]))
        source, log = self.options["source"], self.options.get(_LOG)
        if log is None:
            return OffsetStreamReader(planner, source)
        return LogStreamReader(planner, log, source, mayRead)


class PlannedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Returns one step to Spark for each batch."""

    def __init__(self, planner: SourcePlanner, source: str) -> None:
        self._planner = planner
        self._source = source

    def initialOffset(self) -> dict[str, Any]:
        return PlannedOffset(self._source, 0).asDict()

    @abstractmethod
    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]: ...

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        tasks: list[list[str]] = []
        for step in self._steps(self._offset_of(start), self._offset_of(end)):
            tasks += self._planner.descriptors(step, firstPart=len(tasks))
        # pyspark's class, which any process can unpickle
        return [InputPartition(task) for task in tasks]

    @abstractmethod
    def _steps(self, start: PlannedOffset, end: PlannedOffset) -> Iterator[Step]:
        """The steps after ``start`` up to ``end``."""

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        return ((descriptor,) for descriptor in partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        """Removes nothing, as a user may run a committed batch again."""

    def _offset_of(self, offset: Mapping[str, Any]) -> PlannedOffset:
        found = PlannedOffset.of(offset)
        if found is None or found.source != self._source:
            raise IncompatibleCheckpointError(
                f"the query's checkpoint has {offset} for the source {self._source}, which is no step of"
                " it: it was begun by another version of flinkish, or by another job. Begin anew with"
                " another checkpoint directory."
            )
        return found


class LogStreamReader(PlannedStreamReader):
    """Stores the steps in a plan log; an offset is the number of the last step.

    A step is logged before Spark learns its offset. So after a crash there may be one step that
    Spark does not know. That step becomes the first batch, alone, so that a restarted job has the
    same batches, and its watermarks rise at the same elements, as without the crash.
    """

    def __init__(
        self,
        planner: SourcePlanner,
        log: str,
        source: str,
        mayRead: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(planner, source)
        self._may_read = mayRead
        self._directory = log
        # Read lazily, as Spark also creates readers only to pickle them.
        self._log: PlanLog | None = None
        self._resumed = False

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        log = self._open()
        if start is not None:
            read = self._offset_of(start).number
            if read < log.latest:
                return self._offset(read + 1)
            if read > log.latest:
                log.read(read)
        elif not self._resumed and log.latest:
            # Before pyspark 4.2 Spark does not report the steps it knows: it may not know this one.
            self._resumed = True
            return self._offset(log.latest)
        self._resumed = True
        if log.isDue:
            # Before the next step: a savepoint of the last batch needs the plan up to that batch
            log.fold(self._planner.snapshot())
            self._planner.clear()
        step = None
        if self._may_read is None or self._may_read():
            step = self._planner.plan()
        if step is not None:
            log.append(step, self._planner.backlog())
        return self._offset(log.latest)

    def prepareForTriggerAvailableNow(self) -> None:
        self._open()
        self._planner.freeze()

    def _steps(self, start: PlannedOffset, end: PlannedOffset) -> Iterator[Step]:
        for number in range(start.number + 1, end.number + 1):
            yield self._open().read(number)

    def _open(self) -> PlanLog:
        if self._log is None:
            self._log = PlanLog(self._directory)
            self._planner.restore(*self._log.restored())
        return self._log

    def _offset(self, step: int) -> dict[str, Any]:
        return PlannedOffset(self._source, step).asDict()


class OffsetStreamReader(PlannedStreamReader):
    """Stores nothing: an offset contains the step, and the planner's snapshot after it. Spark logs
    an offset before it runs the batch, and passes it when it asks for the next one. If Spark has
    not logged a step when the job is killed, nobody has read it, and it is planned again."""

    def __init__(self, planner: SourcePlanner, source: str) -> None:
        super().__init__(planner, source)
        self._latest: PlannedOffset | None = None
        self._frozen = False

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        assert start is not None
        read = self._offset_of(start)
        if self._latest is None:
            self._resume(read)
        elif self._latest.number == read.number + 1:
            # Spark has asked for this offset before, but has not run the batch
            return self._latest.asDict()
        step = self._planner.plan()
        if step is None:
            return start
        number = read.number + 1
        if number % _CLEARED_EVERY == 0:
            self._planner.clear()
        self._latest = PlannedOffset(
            self._source, number, WholeStep(step, self._planner.snapshot(), self._planner.backlog())
        )
        return self._latest.asDict()

    def prepareForTriggerAvailableNow(self) -> None:
        # The existing input is known once Spark has passed the offset to continue from
        self._frozen = True

    def _steps(self, start: PlannedOffset, end: PlannedOffset) -> Iterator[Step]:
        if end.number > start.number:
            yield self._whole(end).step

    def _resume(self, read: PlannedOffset) -> None:
        """Continue after a step that Spark has logged."""
        if read.number:
            self._planner.restore(self._whole(read).snapshot, [])
        self._latest = read
        if self._frozen:
            self._planner.freeze()

    def _whole(self, offset: PlannedOffset) -> WholeStep:
        if offset.whole is None:
            raise IncompatibleCheckpointError(
                f"the query's checkpoint has the number of a step, {offset.number}, for the source"
                f" {self._source}, and not the step: it was moved here from a file system of the machine. Go on"
                " where it was, stop the job there with a savepoint, and begin from that with a new checkpoint"
                " directory."
            )
        return offset.whole
