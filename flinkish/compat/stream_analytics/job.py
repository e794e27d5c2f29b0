"""``query``: a text in the query language of Stream Analytics becomes streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError, InvalidProgramError
from flinkish.api.eventtime.arrival_time import TimeOfSome
from flinkish.api.eventtime.watermarks import TimestampAssignerLike
from flinkish.api.streams.data_stream import DataStream
from flinkish.api.types.row import Row
from flinkish.compat.folds import WHOLE, column_types
from flinkish.compat.stream_analytics.queries import EventOrdering, byArrivalTime, timestampBy
from flinkish.compat.stream_analytics.values import (
    Record,
    ValueFailure,
    cast,
    datetime_of,
    field_of,
    millis,
    record_of,
    value_of,
)

if TYPE_CHECKING:
    from sqlglot import exp

    from flinkish.compat.stream_analytics.text import Place, Text, Timing
    from flinkish.compat.stream_analytics.values import Evaluate

ArrivalTime = TimestampAssignerLike[Any] | str
"""The name of a field with the time at which an event has arrived, or a function of the event."""

_ENQUEUED = "EventEnqueuedUtcTime"


class Query:
    """The streams of a query."""

    def __init__(self, outputs: dict[str, DataStream[Row]]) -> None:
        self.outputs = outputs
        """By the name behind INTO, the rows of that output; ``"output"`` where a SELECT has no INTO."""


def query(
    sql: str,
    inputs: Mapping[str, DataStream[Any]],
    references: Mapping[str, Sequence[Any]] | None = None,
    *,
    ordering: EventOrdering | None = None,
    arrivalTime: ArrivalTime | Mapping[str, ArrivalTime] | None = None,
    udf: Mapping[str, Callable[..., Any]] | None = None,
    independentSubstreams: bool = False,
    outputStartTime: datetime | str | int | None = None,
) -> Query:
    """The streams of a query of Azure Stream Analytics. Needs ``pip install 'flinkish[azure]'``.

    ``sql``: the text, with several ``SELECT ... INTO`` and steps (``WITH``).
    ``inputs``: by name, streams of dicts, Rows, dataclasses or texts of JSON.
    ``references``: by name, the rows of reference data.
    ``ordering``: the event ordering settings of the job.
    ``arrivalTime``: the field, or ``f(event, t)`` in ms, that says when an event has arrived, for all inputs or by
    the name of the input. Without it that is ``EventEnqueuedUtcTime`` where an event has it. Else it is the event's
    time by ``TIMESTAMP BY``, so that none is early or late; without ``TIMESTAMP BY`` it is the clock.
    ``udf``: by name, the Python functions that the text calls as ``udf.name(...)``.
    ``independentSubstreams``: with ``TIMESTAMP BY ... OVER``, see ``timestampBy``.

    ``outputStartTime``: a datetime, its text, or ms; outputs begin there. Events before it still count, so windows are whole.

    Raises IllegalArgumentError for what the language does not have, with line and column.

    >>> from flinkish import StreamRecord
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda stream: query("SELECT n * 2 AS twice INTO Out FROM Input WHERE n > 1", {"Input": stream})
    ...     .outputs["Out"]
    ... )
    >>> harness.processElement({"n": 1})
    >>> harness.processElement({"n": 2})
    >>> harness.endInput()
    >>> [record.value for record in harness.getOutput() if isinstance(record, StreamRecord)]
    [Row(twice=4)]
    """
    instance("query: sql", sql, str, "Pass the text of the query.")
    instance("query: inputs", inputs, Mapping, "Pass a dict of streams by name.")
    for name, stream in inputs.items():
        instance(f"query: inputs[{name!r}]", stream, DataStream, "Pass a stream.")
    for argument, value in (("references", references), ("udf", udf)):
        if value is not None:
            instance(f"query: {argument}", value, Mapping, "Pass a dict by name.")
    for name, function in (udf or {}).items():
        if not callable(function):
            raise IllegalArgumentError(f"query: udf[{name!r}] is no function. Pass a callable.")
    if ordering is not None:
        instance("query: ordering", ordering, EventOrdering, "Pass EventOrdering(...).")
    start = None
    if outputStartTime is not None:
        start = _milliseconds("outputStartTime", value_of(outputStartTime))
    try:
        from flinkish.compat.stream_analytics.planner import Planner
        from flinkish.compat.stream_analytics.text import Text
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlglot":
            raise
        raise InvalidProgramError(
            "query: sqlglot, which parses the text, is not installed. Run pip install 'flinkish[azure]'."
        ) from None
    text = Text(sql)
    rows = {name.lower(): _references(name, found) for name, found in (references or {}).items()}
    ordered = _Inputs(
        text=text,
        inputs=inputs,
        ordering=ordering or EventOrdering(),
        arrivalTime=arrivalTime,
        functions=udf or {},
        independentSubstreams=independentSubstreams,
    )
    planner = Planner(text, ordered.records, ordered.columns, rows, dict(udf or {}))
    outputs = planner.outputs()
    if start is not None:
        outputs = {name: _from(start, stream) for name, stream in outputs.items()}
    return Query(
        {name: stream.map(lambda record: Row(**record)) for name, stream in outputs.items()}
    )


def _from(start: int, stream: DataStream[Record]) -> DataStream[Record]:
    def begin(record: Record, ctx: Any, out: Any) -> None:
        if ctx.timestamp() >= start:
            out.collect(record)

    return stream.process(begin)


def _references(name: str, rows: Sequence[Any]) -> list[Record]:
    instance(f"query: references[{name!r}]", rows, Sequence, "Pass a list of rows.")
    try:
        return [record_of(row) for row in rows]
    except ValueFailure as failure:
        raise IllegalArgumentError(f"query: references[{name!r}]: {failure}.") from None


@dataclass
class _Inputs:
    """The inputs in the order of their events."""

    text: Text
    inputs: Mapping[str, DataStream[Any]]
    ordering: EventOrdering
    arrivalTime: ArrivalTime | Mapping[str, ArrivalTime] | None
    functions: Mapping[str, Callable[..., Any]]
    independentSubstreams: bool

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, str], DataStream[Record]] = {}
        self._names = {name.lower(): name for name in self.inputs}

    def records(
        self, name: str, timing: Timing | None, table: exp.Expression
    ) -> DataStream[Record] | None:
        """The records of an input, None if there is no such input."""
        known = self._names.get(name.lower())
        if known is None:
            return None
        key = (known, "" if timing is None else timing.text.lower())
        if key not in self._known:
            self._known[key] = self._ordered(known, timing, str(table.alias_or_name))
        return self._known[key]

    def columns(self, name: str) -> dict[str, str]:
        """The fields of an input that are ``bigint`` or ``nvarchar`` in every event, by their lower-case names."""
        declared = self.text.tables.get(name.lower())
        stream = self.inputs[self._names[name.lower()]]
        kinds = column_types(stream) if declared is None else declared
        known = {"String": "nvarchar", **dict.fromkeys(WHOLE, "bigint")}
        found = {column: known.get(kind, kind) for column, kind in kinds.items()}
        return {
            column.lower(): kind
            for column, kind in found.items()
            if kind in ("bigint", "nvarchar")
            and [*map(str.lower, found)].count(column.lower()) == 1
        }

    def _ordered(self, name: str, timing: Timing | None, alias: str) -> DataStream[Record]:
        from flinkish.compat.stream_analytics.compiler import Scope, compile_expression
        from flinkish.compat.stream_analytics.values import frozen

        stream = self.inputs[name]
        arrival = self.arrivalTime
        columns = self.text.tables.get(name.lower())
        read = _reader(name, columns)
        given = arrival.get(name) if isinstance(arrival, Mapping) else arrival
        arrives = _arrival_function(name, given)
        enqueued = _enqueued(name)
        if stream.getType().kind == "String" and not callable(given):
            # A text is parsed once, and not by each function below
            stream = stream.map(_reader(name))
        if timing is None:
            arrived: Any = TimeOfSome(enqueued) if arrives is None else arrives
            return byArrivalTime(stream, arrived).map(read)
        source = alias.lower()
        scope = Scope(self.text, (source,), self.functions)
        evaluate = compile_expression(timing.timestamp, scope)
        place = self.text.place(timing.timestamp)
        time = _event_time(name, source, evaluate, place, read)
        over = tuple(compile_expression(part, scope) for part in timing.over)

        def substream(element: Any) -> Any:
            rows = {source: read(element)}
            return tuple(frozen(part(rows)) for part in over)

        if arrives is None:

            def arrives(element: Any, timestamp: int) -> int:
                arrival = enqueued(element)
                return time(element, timestamp) if arrival is None else arrival

        return timestampBy(
            stream,
            time,
            over=substream if over else None,
            arrivalTime=arrives,
            ordering=self.ordering,
            independentSubstreams=self.independentSubstreams,
        ).map(read)


def _reader(name: str, columns: Mapping[str, str] | None = None) -> Callable[[Any], Record]:
    kinds = None if columns is None else tuple(columns.items())

    def read(element: Any) -> Record:
        try:
            record = record_of(element)
            if kinds is None:
                return record
            return {column: cast(field_of(record, column), kind) for column, kind in kinds}
        except ValueFailure as failure:
            raise IllegalArgumentError(f"query: input {name}: {failure}.") from None

    return read


def _enqueued(name: str) -> Callable[[Any], int | None]:
    read = _reader(name)

    def enqueued(element: Any) -> int | None:
        value = field_of(read(element), _ENQUEUED)
        return None if value is None else _milliseconds(f"{_ENQUEUED} of input {name}", value)

    return enqueued


def _milliseconds(what: str, value: Any, place: Place | None = None) -> int:
    """A datetime, its text, or ms, in ms."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return millis(datetime_of(value))
    except ValueFailure as failure:
        if place is not None:
            raise place.error(f"{what}: {failure}.") from None
        raise IllegalArgumentError(f"query: {what}: {failure}.") from None


def _event_time(
    name: str, source: str, evaluate: Evaluate, place: Place, read: Callable[[Any], Record]
) -> Callable[[Any, int], int]:
    what = f"TIMESTAMP BY of {name}"

    def time(element: Any, timestamp: int) -> int:
        return _milliseconds(what, evaluate({source: read(element)}), place)

    return time


def _arrival_function(name: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    read = _reader(name)

    def arrives(element: Any, timestamp: int) -> int:
        return _milliseconds(
            f"arrival time {given} of input {name}", field_of(read(element), given)
        )

    return arrives
