"""The sinks of a job, as data. The engine knows how to write to each sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from flinkish.api.arguments import instance
from flinkish.api.connectors.sink_writer import SinkWriter, WriterInitContext
from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.type_variables import T_contra
from flinkish.api.types.columns import check_schema_of_sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True, eq=False)
class Sink(Generic[T_contra]):
    """Base of all sinks (Flink: ``Sink``). For a sink of your own, derive from it and implement
    ``createWriter``.

    A sink whose elements must count exactly once also derives from ``SupportsCommitter``. ``kind``
    is the prefix of its nodes' uids and must not change: the name of the class, unless the class
    sets another.
    """

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "kind"):
            cls.kind = cls.__name__

    @property
    def isUsers(self) -> bool:
        """Whether user code writes the elements in the workers: a ``SinkWriter``, or the function
        of ``forEachPartition``."""
        return type(self).createWriter is not Sink.createWriter

    def createWriter(self, context: WriterInitContext) -> SinkWriter[T_contra]:
        """A new writer, for the elements of one subtask in one batch."""
        raise NotSupportedError(
            f"{type(self).__name__}: only a sink of your own has a SinkWriter: derive from Sink and"
            " write createWriter(context)."
        )


@dataclass(frozen=True, eq=False)
class PrintSink(Sink[Any]):
    """Prints every element, to standard output or standard error, with an identifier before it
    (Flink: ``PrintSink``)."""

    identifier: str = ""
    standardError: bool = False

    def __post_init__(self) -> None:
        instance("print: sinkIdentifier", self.identifier, str, "Pass a string.")
        # A notebook finds the cell by these context variables
        object.__setattr__(self, "_cell", copy_context())

    def __reduce__(self) -> tuple[type[PrintSink], tuple[str, bool]]:
        return PrintSink, (self.identifier, self.standardError)

    def inItsCell(self, write: Callable[[], None]) -> None:
        """Call ``write`` so that a notebook shows its output in the cell that created this sink."""
        cell: Context = self._cell  # type: ignore[attr-defined]  # a field would be a part of its uid
        cell.copy().run(write)


@dataclass(frozen=True, eq=False)
class DataFrameSink(Sink[Any]):
    """Converts the elements to rows of a Spark DataFrame (``toDataFrame``). ``schema`` is a
    StructType, a DDL string, or None for the columns of the stream's type."""

    schema: str | StructType | None

    def __post_init__(self) -> None:
        check_schema_of_sink("toDataFrame", self.schema)


@dataclass(frozen=True, eq=False)
class ForEachBatchSink(Sink[T_contra]):
    """Calls ``function(elements, batchId)`` on the driver once for each batch with elements.

    A batch that is run again after a crash keeps its id.
    """

    function: Callable[[list[Any], int], None]

    def __post_init__(self) -> None:
        checked_callable("forEachBatch", self.function, "f(elements, batchId)", 2)


@dataclass(frozen=True, eq=False)
class ForEachPartitionSink(Sink[T_contra]):
    """Calls ``function(elements)`` in the workers, once for each task and batch that has elements, with an
    iterator over them.

    A batch that is run again after a failure calls it again: each element comes at least once.
    """

    function: Callable[[Iterator[T_contra]], object]

    def __post_init__(self) -> None:
        checked_callable("forEachPartition", self.function, "f(elements)", 1)

    @property
    def isUsers(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class ForEachBatchDataFrameSink(Sink[Any]):
    """Calls ``function(df, batchId)`` on the driver once for each batch with elements, with a Spark
    DataFrame of them: nothing is collected. ``schema`` is a StructType, a DDL string, or None for
    the columns of the stream's type."""

    function: Callable[[DataFrame, int], None]
    schema: str | StructType | None = None

    def __post_init__(self) -> None:
        checked_callable("forEachBatchDataFrame", self.function, "f(df, batchId)", 2)
        check_schema_of_sink("forEachBatchDataFrame", self.schema)


def _discard(elements: list[Any], batchId: int) -> None:
    """Takes a batch, and does nothing."""


@dataclass(frozen=True, eq=False)
class DiscardingSink(ForEachBatchSink[Any]):
    """Takes elements and does nothing with them (Flink: ``DiscardingSink``)."""

    kind: ClassVar[str] = "DiscardingSink"

    function: Callable[[list[Any], int], None] = field(default_factory=lambda: _discard, init=False)
