"""The sources of a job, as data. The engine knows how to read each source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, Union

from flinkish.api.arguments import integer, number, positive, text, whole_number
from flinkish.api.errors import (
    IllegalArgumentError,
    InvalidProgramError,
    NotSupportedError,
    shown,
)
from flinkish.api.functions.adapt import checked_callable, key_call
from flinkish.api.functions.function_types import returned_type
from flinkish.api.time.elements import MAX_TIMESTAMP, StreamRecord, Watermark
from flinkish.api.type_variables import T_co
from flinkish.api.types.columns import type_of_columns
from flinkish.api.types.row import Row
from flinkish.api.types.type_info import TypeInformation, Types, type_of_samples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SplitLike = Union[str, Callable[[Any], Any]]
"""The field of an element that identifies its split, or a function of the element."""


@dataclass(frozen=True, eq=False)
class Source(Generic[T_co]):
    """Base of all sources (Flink: ``Source``). For a source of your own, derive from it and
    implement ``read``.

    ``read`` is a generator of pairs, each an element and the position after it. A position is
    anything that can be pickled. It is stored in the checkpoint, and ``read`` is called with it to
    continue there, with None at first. An element may be a ``StreamRecord``, which has a timestamp,
    or a ``Watermark`` of the stream, which a WatermarkStrategy after the source ignores, as in
    Flink. Set ``bounded = False`` for an unbounded source. ``kind`` is the prefix of its nodes'
    uids and must not change: the name of the class, unless the class sets another.

    The generator runs in one process, ahead of the batches, and may block. Each element
    counts once, even if the source cannot emit it a second time once its position is stored.

    >>> class Squares(Source[int]):
    ...     def __init__(self, count):
    ...         self.count = count
    ...     def read(self, position):
    ...         for number in range(position or 0, self.count):
    ...             yield number * number, number + 1
    >>> list(Squares(5).read(3))
    [(9, 4), (16, 5)]
    """

    kind: ClassVar[str]

    splitOf: Callable[[Any], Any] | None = field(default=None, kw_only=True)
    """Returns the split of an element; None if the source is one split."""

    def withSplits(self, split: SplitLike) -> Self:
        """The same source, read as several splits, each with a separate watermark.

        ``split`` identifies the split of an element: the name of a field, such as Kafka's
        ``partition``, or a function that returns something hashable. A WatermarkStrategy given to
        ``fromSource`` then creates a generator for each split, and the watermark is the lowest over
        the splits that are not idle (Flink: ``SourceOutputWithWatermarks``). A split counts from
        the first batch with an element of it.
        """
        clone = copy(self)
        object.__setattr__(clone, "splitOf", key_call(split, "withSplits"))
        return clone

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "kind"):
            cls.kind = cls.__name__

    @property
    def hasSplits(self) -> bool:
        """Whether the source is read as several splits."""
        return self.splitOf is not None

    @property
    def bounded(self) -> bool:
        """Whether the source is bounded (Flink: ``Boundedness``)."""
        return True

    @property
    def isUsers(self) -> bool:
        """Whether the source is user-defined, and read by its ``read`` method."""
        return type(self).read is not Source.read

    def read(self, position: Any) -> Iterator[tuple[T_co | StreamRecord[T_co] | Watermark, Any]]:
        """Yields the elements after ``position``, or all if it is None, each with the position
        after it."""
        raise NotSupportedError(
            f"{type(self).__name__}: only a source of your own is read by read(position): derive from"
            " Source and write it."
        )

    def getProducedType(self) -> TypeInformation[Any] | None:
        """The type of the elements, if the source knows it (Flink: ``ResultTypeQueryable``)."""
        return None


@dataclass(frozen=True, eq=False)
class CollectionSource(Source[T_co]):
    """The elements of a sequence, in order."""

    values: Sequence[T_co]

    def getProducedType(self) -> TypeInformation[Any] | None:
        return self._sampled_type

    @cached_property
    def _sampled_type(self) -> TypeInformation[Any] | None:
        return type_of_samples(self.values)


@dataclass(frozen=True, eq=False)
class NumberSequenceSource(Source[int]):
    """The numbers from ``start`` to ``end``, both included, in order (Flink: ``NumberSequenceSource``)."""

    kind: ClassVar[str] = "SequenceSource"

    start: int
    end: int

    def __post_init__(self) -> None:
        start = integer("fromSequence: start", self.start)
        if start > integer("fromSequence: end", self.end):
            raise IllegalArgumentError(
                f"fromSequence: start {start} is greater than end {self.end}. Swap them."
            )

    def getProducedType(self) -> TypeInformation[Any]:
        return Types.LONG()


def check_column(purpose: str, name: str, columns: Sequence[str]) -> None:
    """Raises IllegalArgumentError if a table with those columns has no column ``name``."""
    if name not in columns:
        raise IllegalArgumentError(
            f"fromDataFrame: there is no column {shown(name)} {purpose}; the columns are"
            f" {', '.join(columns)}. Name one of them."
        )


_TIMES = ("timestamp", "timestamp_ntz", "date", "tinyint", "smallint", "int", "bigint")


def check_timestamp_type(name: str, kind: str) -> None:
    """Raises InvalidProgramError if a column of the Spark type ``kind`` cannot hold timestamps."""
    if kind in _TIMES:
        return
    fix = "Convert it before, to a timestamp or to whole milliseconds since 1970"
    if kind in ("float", "double") or kind.startswith("decimal"):
        fix = (
            "A number with a fraction does not say its unit. Convert it before: with"
            f" timestamp_seconds({name!r}) in Spark if it has seconds, or to bigint if it has milliseconds"
        )
    elif kind == "string":
        fix = f"Convert it before, with to_timestamp({name!r}) in Spark or pandas.to_datetime"
    raise InvalidProgramError(
        f"fromDataFrame: the column {name!r} is of type {kind}, from which no timestamps are taken. {fix}."
    )


@dataclass(frozen=True, eq=False)
class DataFrameSource(Source[Row]):
    """The rows of a Spark DataFrame, static or streaming.

    ``timestamp`` names the column that is the element's timestamp.
    """

    dataframe: DataFrame
    timestamp: str | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.dataframe, "isStreaming"):
            raise InvalidProgramError(
                f"fromDataFrame: {shown(self.dataframe)} of type {type(self.dataframe).__name__} is"
                " not a DataFrame. Pass one of Spark, such as spark.readStream...load(), of pandas or of"
                " Polars, or a Table of pyarrow."
            )
        if self.timestamp is not None:
            check_column("to take timestamps from", self.timestamp, self.dataframe.columns)
            kind = self.dataframe.schema[self.timestamp].dataType
            check_timestamp_type(self.timestamp, kind.simpleString())

    @property
    def bounded(self) -> bool:
        return not self.dataframe.isStreaming

    def getProducedType(self) -> TypeInformation[Any]:
        return type_of_columns(self.dataframe.schema)


@dataclass(frozen=True, eq=False)
class SocketSource(Source[str]):
    """The lines of text that arrive over a socket."""

    host: str
    port: int

    def __post_init__(self) -> None:
        text("socketTextStream: hostname", self.host)
        whole_number("socketTextStream: port", self.port, 1, 65_535)

    @property
    def bounded(self) -> bool:
        return False

    def getProducedType(self) -> TypeInformation[Any]:
        return Types.STRING()


@dataclass(frozen=True)
class RateLimiterStrategy:
    """The number of elements emitted per second (Flink: ``RateLimiterStrategy``); None for no
    limit.

    >>> source = DataGeneratorSource(str, 100, RateLimiterStrategy.perSecond(10))
    >>> source.rate
    10
    """

    recordsPerSecond: int | None

    @staticmethod
    def perSecond(recordsPerSecond: float) -> RateLimiterStrategy:
        """Emit ``recordsPerSecond`` elements per second, a whole number above 0."""
        subject = "RateLimiterStrategy.perSecond: recordsPerSecond"
        rate = number(subject, recordsPerSecond)
        whole = rate if isinstance(rate, int) else int(rate) if rate.is_integer() else 0
        return RateLimiterStrategy(positive(subject, whole))

    @staticmethod
    def noOp() -> RateLimiterStrategy:
        """Emit elements as fast as they are read."""
        return RateLimiterStrategy(None)


@dataclass(frozen=True, eq=False)
class DataGeneratorSource(Source[T_co]):
    """``generator(0)``, ``generator(1)``, ... (Flink: ``DataGeneratorSource``).

    With a ``count``, that many elements, as fast as they are read or ``elementsPerSecond``.
    Without one, or with Java's ``Long.MAX_VALUE``, 2**63 - 1, which stands for no limit, elements
    without end, by default 100,000 per second. A job restored from a checkpoint continues with the
    next.

    >>> DataGeneratorSource(str, 2**63 - 1, 10).bounded
    False
    """

    generator: Callable[[int], T_co]
    count: int | None = None
    elementsPerSecond: int | RateLimiterStrategy | None = None

    def __post_init__(self) -> None:
        checked_callable("DataGeneratorSource", self.generator, "f(index)", 1)
        if self.count is not None:
            whole_number("DataGeneratorSource: count", self.count)
        if self.count == MAX_TIMESTAMP:
            object.__setattr__(self, "count", None)
        rate = self.elementsPerSecond
        if isinstance(rate, RateLimiterStrategy):
            rate = rate.recordsPerSecond
            object.__setattr__(self, "elementsPerSecond", rate)
        if rate is not None:
            positive("DataGeneratorSource: elementsPerSecond", rate)

    @property
    def rate(self) -> int:
        """The number of elements emitted per second, if the clock decides."""
        assert not isinstance(self.elementsPerSecond, RateLimiterStrategy)
        return self.elementsPerSecond or 100_000

    @property
    def bounded(self) -> bool:
        return self.count is not None

    def getProducedType(self) -> TypeInformation[Any] | None:
        return returned_type(self.generator)
