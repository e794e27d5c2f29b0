"""``pipeline``: a list of stages, as users of Atlas write it, becomes streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from flinkish.api.arguments import instance, time_in_millis
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.eventtime.arrival_time import DeadLetter
from flinkish.api.eventtime.watermarks import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.time.elements import Watermark
from flinkish.compat.atlas.bson.values import Document, millis
from flinkish.compat.atlas.columns import column_group
from flinkish.compat.atlas.documents import (
    DocumentsByClockDescription,
    DocumentsDescription,
    Shape,
    Source,
    as_document,
    dead_letter,
)
from flinkish.compat.atlas.expressions.compiler import Place, named_arguments
from flinkish.compat.atlas.extended_json import decoded
from flinkish.compat.atlas.lookups import collection_name
from flinkish.compat.atlas.sinks import SINKS, Destination, Target
from flinkish.compat.atlas.stages import (
    METADATA,
    WINDOW_ONLY,
    Failure,
    GroupDocuments,
    Stages,
    stage_name,
)
from flinkish.compat.atlas.text import Definition, read_definition
from flinkish.compat.atlas.window_stages import Boundary, WindowSettings, window_stage
from flinkish.compat.atlas.windows import (
    FAILED,
    WINDOWS,
    WindowNote,
    WindowPlan,
    groups_of_window,
    interval_of,
    mentions,
    needs_window,
    run_in_partition,
    run_in_window,
    window_plan,
)
from flinkish.compat.folds import column_types, fold_columns


class Pipeline:
    """The streams of a pipeline."""

    def __init__(
        self,
        results: DataStream[Document],
        sinks: dict[str, DataStream[Document]],
        deadLetterQueue: DataStream[Document] | None,
    ) -> None:
        self.results = results
        """The documents behind the last stage."""
        self.sinks = sinks
        """By the name of its connection, the documents that ``$emit`` or ``$merge`` writes there."""
        self._dead_letters = deadLetterQueue

    @property
    def deadLetterQueue(self) -> DataStream[Document]:
        """Documents that a stage could not take, or that came after their windows had closed: ``doc``,
        ``errInfo`` with the ``reason``, ``operatorName``, and ``stage``, the place in the pipeline.

        Raises IllegalStateError if the pipeline was made without ``deadLetterQueue=True``.
        """
        if self._dead_letters is None:
            raise IllegalStateError(
                "pipeline: there is no dead letter queue, and such documents are counted and dropped. Pass"
                " deadLetterQueue=True."
            )
        return self._dead_letters


def pipeline(
    stages: str | Sequence[Mapping[str, Any]],
    connections: Mapping[str, DataStream[Any] | Target] | None = None,
    collections: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    deadLetterQueue: bool = False,
    *,
    startAt: datetime | int | None = None,
    watermarkPerDocument: bool = False,
) -> Pipeline:
    """The streams of a pipeline of Atlas Stream Processing.

    ``stages``: the list of stages, or a text: JSON, Extended JSON, or what is typed into mongosh.
    ``connections``: by the name that the stages use, the stream that ``$source`` reads, of dicts, named Rows,
    dataclasses or texts of JSON; and what ``$emit`` and ``$merge`` write to: a sink, a list of rows, lists by
    name, or a function of a document. One that is left out is not written to, and only in ``sinks``.
    ``collections``: by name, the rows that ``$lookup`` joins.
    ``deadLetterQueue``: keep the documents that no stage can take or that are late.
    ``startAt``: when the processor starts, a date or ms: windows are counted from there and none is open
    before. Else windows are aligned to the epoch.
    ``watermarkPerDocument``: let the watermark rise with each document, and not with each batch.

    Raises IllegalArgumentError for a stage, operator or argument that is none, with its place.

    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda stream: pipeline(
    ...         '[{$source: {connectionName: "in"}}, {$match: {n: {$gt: 1}}}, {$project: {n: 1}}]', {"in": stream}
    ...     ).results
    ... )
    >>> harness.processElement({"n": 1}, 0)
    >>> harness.processElement({"n": 2, "m": 3}, 0)
    >>> [record.value["n"] for record in harness.getOutput()]
    [2]
    """
    definition = _definition(stages)
    given = dict(connections or {})
    start = startAt if startAt is None else _start(startAt)
    rows: dict[str, Any] = dict(collections or {})
    for name, target in given.items():
        if isinstance(target, (list, tuple)):
            rows.setdefault(name, target)
    dlq = definition.options.get("dlq")
    keeps = bool(deadLetterQueue or dlq)
    strategy: WatermarkStrategy[Any] = (
        WatermarkStrategy.forGenerator(lambda context: _DocumentWatermarks())
        if watermarkPerDocument
        else WatermarkStrategy.forMonotonousTimestamps()
    )
    builder = _Builder(given, rows, keeps, start, strategy)
    for position, stage in enumerate(definition.stages):
        builder.add(stage, position, last=position == len(definition.stages) - 1)
    return builder.finished(dlq)


def _definition(stages: Any) -> Definition:
    if isinstance(stages, str):
        return read_definition(stages)
    fix = "Pass the list of stages, or its text."
    if isinstance(stages, Mapping) and "pipeline" in stages:
        options = stages.get("options") or {}
        return Definition(decoded(stages["pipeline"]), options)
    instance("pipeline: stages", stages, Sequence, fix)
    if not stages:
        raise IllegalArgumentError(f"pipeline: stages is empty. {fix}")
    return Definition(decoded(list(stages)))


def _start(startAt: datetime | int) -> int:
    if isinstance(startAt, datetime):
        return millis(startAt)
    return time_in_millis("pipeline: startAt", startAt)


class _DocumentWatermarks(WatermarkGenerator[Any]):
    """The highest event time, with each document."""

    def onEvent(self, event: Any, eventTimestamp: int, output: WatermarkOutput) -> None:
        output.emitWatermark(Watermark(eventTimestamp - 1))

    def onPeriodicEmit(self, output: WatermarkOutput) -> None:
        """Does nothing, as each document has emitted its watermark."""


@dataclass
class _Builder:
    """Adds one stage after the other to a stream."""

    _connections: dict[str, Any]
    _collections: dict[str, Any]
    _keeps: bool
    """Whether failed and late documents go to the dead letter queue."""
    _start: int | None
    _strategy: WatermarkStrategy[Any]
    _source: Source | None = None
    _metadata: dict[str, Any] = field(default_factory=dict)
    _stream: Any = None
    _timed: bool = False
    _pending: list[Stages] = field(default_factory=list)
    """Stages that look at one document at a time and are not in an operator yet."""
    _unread: Source | None = None
    """``$source``, where rows of a table go into windows as they are."""
    _dead: list[DataStream[Document]] = field(default_factory=list)
    _sinks: dict[str, DataStream[Document]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    # ------------------------------------------------------------------ stages

    def add(self, stage: Any, position: int, last: bool) -> None:
        place = Place("stages").at(position)
        name = stage_name(stage, place)
        where = place.at(name)
        if (name == "$source") != (self._stream is None):
            raise place.error("a pipeline begins with $source, and has no other one.")
        if name == "$source":
            self._begin(stage[name], where)
        elif name in SINKS:
            if not last:
                raise place.error(f"{name} is the last stage of a pipeline.")
            self._write(Destination.of(name, stage[name], where))
        elif name in WINDOWS:
            self._window(window_plan(name, stage[name], where))
        elif name in WINDOW_ONLY:
            raise place.error(
                f"{name} needs all documents of a window. Put it into the pipeline of a window stage, such as"
                " $tumblingWindow."
            )
        else:
            self._append("stages", position, [stage])

    def _append(self, path: str, first: int, stages: Sequence[Any]) -> None:
        if not stages:
            return
        last = self._pending[-1] if self._pending else None
        if last and last.path == path and last.first + len(last.specification) == first:
            stages, first = [*last.specification, *stages], last.first
            self._pending.pop()
        self._pending.append(_compiled(path, first, stages, self._collections))

    def _begin(self, argument: Any, place: Place) -> None:
        known = (
            *("connectionName", "timeField", "tsFieldName", "partitionIdleTimeout", "documents"),
            *("topic", "db", "coll", "config", "schemaRegistry", "stream", "initialSync"),
            "readPreference",
        )
        named = named_arguments(argument, place, (), known)
        kind = "atlas" if "db" in named or "coll" in named else "kafka"
        self._metadata = {"type": kind if "topic" in named or kind == "atlas" else "generated"}
        if isinstance(named.get("topic"), str):
            self._metadata["topic"] = named["topic"]
        if "documents" in named:
            environment = StreamExecutionEnvironment.getExecutionEnvironment()
            for found in self._connections.values():
                if isinstance(found, DataStream):
                    environment = found.getExecutionEnvironment()
            self._stream = environment.fromCollection(list(named["documents"]))
        else:
            self._stream = self._input(named.get("connectionName"), place)
        if "partitionIdleTimeout" in named:
            idle = place.at("partitionIdleTimeout")
            idleness = interval_of(named["partitionIdleTimeout"], idle, 1)
            self._strategy = self._strategy.withIdleness(idleness.toMillis())
        timestamps = named.get("tsFieldName", "_ts")
        self._source = Source(named.get("timeField"), timestamps, self._metadata, place.path)

    def _input(self, name: Any, place: Place) -> DataStream[Any]:
        streams = [key for key, found in self._connections.items() if isinstance(found, DataStream)]
        if name not in streams:
            raise place.at("connectionName").unknown("connection with a stream", str(name), streams)
        self._used.add(name)
        stream: DataStream[Any] = self._connections[name]
        return stream

    # ------------------------------------------------------------------ operators

    def _flush(self, title: str, shape: Shape | None = None) -> None:
        """Put the pending stages into an operator."""
        if self._source is None and not self._pending and shape is None:
            return
        specified = [pending.specification for pending in self._pending]
        time_field = None if self._source is None else self._source.timeField
        reads = mentions(
            [specified, time_field, shape and (shape.key, shape.group)], "$$NOW", "$currentDate"
        )
        description = DocumentsByClockDescription if reads else DocumentsDescription
        operator = description(
            source=self._source,
            stages=tuple(self._pending),
            shape=shape,
            deadLetters=FAILED.getId() if self._keeps else None,
            notBefore=self._start if self._source is not None else None,
            name=title,
        )
        self._stream = self._stream._transform(operator)
        if self._keeps:
            self._dead.append(self._stream.getSideOutput(FAILED))
        self._source = None
        self._pending = []

    def _window(self, plan: WindowPlan) -> None:
        note = WindowNote(self._metadata, self._start)
        inner = _compiled(plan.path, 0, plan.stages, self._collections)
        if plan.groupsFirst and plan.settings.hop is not None:
            if self._grouped_over_columns(plan, note):
                return
            self._append(plan.path, 0, plan.stages[: plan.prefix])
            self._grouped(plan, note)
            return
        if plan.partitionBy is None:
            self._flush("Documents")
            self._windowed(plan, _processed(inner, note))
        else:
            key = plan.place.at("partitionBy").path
            self._flush("Partitions", Shape(plan.partitionBy, None, key))
            self._windowed(
                plan,
                lambda windows: windows.process(
                    lambda key, context, found: run_in_partition(inner, note, context, found)
                ),
                key=_first,
            )

    def _grouped(self, plan: WindowPlan, note: WindowNote) -> None:
        """Fold each group as its documents come."""
        position = plan.prefix
        group = plan.stages[position]["$group"]
        path = Place(plan.path).at(position).at("$group").path
        self._flush("Groups", Shape(None, group, path, keepsDocument=self._keeps))
        folded = GroupDocuments(group, path)
        told = groups_of_window(note, lambda key, document: document)
        self._windowed(plan, lambda windows: windows.aggregate(folded, told), key=_first)
        self._after_group(plan)

    def _grouped_over_columns(self, plan: WindowPlan, note: WindowNote) -> bool:
        """Group the rows of a table over its columns, if that can be."""
        source = self._source
        before = [stage for pending in self._pending for stage in pending.specification]
        if source is None or self._start is not None or plan.settings.allowedLateness:
            return False
        prefix = [*before, *plan.stages[: plan.prefix]]
        specified = plan.stages[plan.prefix]["$group"]
        if mentions([prefix, specified], source.tsFieldName, METADATA, "$meta"):
            return False
        types = column_types(self._stream)
        group = column_group(types, source.timeField, prefix, specified) if types else None
        if group is None:
            return False
        rows = self._stream
        # Rows without an event time are processed as documents, and fail there
        self._stream = rows.filter(group.isUntimed)
        self._pending = []
        self._flush("Documents without a time")
        if not self._keeps:
            self._stream.forEachBatch(_ignore).name("Failed documents")
        self._stream = rows.filter(group.isTimed)
        if group.matches is not None:
            self._stream = self._stream.filter(group.matches)
        self._strategy = self._strategy.withTimestampAssigner(group.timestamp)
        self._unread = source
        folded, told = fold_columns(group.folds), groups_of_window(note, group.document)
        self._windowed(plan, lambda windows: windows.aggregate(folded, told), key=group.key)
        self._after_group(plan)
        return True

    def _after_group(self, plan: WindowPlan) -> None:
        """Add the stages of the inner pipeline behind its first ``$group``."""
        position = plan.prefix
        rest = plan.stages[position + 1 :]
        if not needs_window(rest):
            self._append(plan.path, position + 1, rest)
            return
        # All groups of a window meet again in a window that ends where it ended
        stages = _compiled(plan.path, position + 1, rest, self._collections)
        before, hop = self._settings(plan), plan.settings.hop or 0
        offset = (before.offset + before.size) % hop
        ends = replace(before, size=hop, offset=offset, idleTimeout=0)
        self._windowed(plan, _processed(stages, None), after=ends)

    def _settings(self, plan: WindowPlan) -> WindowSettings:
        """The windows of a stage, counted from the start of the processor."""
        settings = plan.settings
        if self._start is None or plan.hasOffset or settings.hop is None:
            return settings
        return replace(settings, offset=self._start % settings.hop)

    def _windowed(
        self, plan: WindowPlan, run: Any, key: Any = None, after: WindowSettings | None = None
    ) -> None:
        """Put the elements into windows, which ``run`` turns into documents. ``after``: those of a window behind
        the stage's own, to which nothing is late."""
        settings = after or self._settings(plan)
        stream = self._stream
        is_event_time = settings.boundary is Boundary.EVENT_TIME
        if is_event_time and not self._timed:
            stream = stream.assignTimestampsAndWatermarks(self._strategy)
            self._timed = True
        stream = settings.advanced(stream, replace(self._strategy, idleTimeout=None))
        late = self._keeps and after is None and is_event_time
        stage = window_stage(plan.name, stream, settings, run, key, late)
        self._stream = stage.results
        if self._keeps:
            self._dead.append(stage.results.getSideOutput(FAILED))
        if late:
            letter_of = _late_letter(plan.place.path, self._unread)
            self._dead.append(stage.deadLetterQueue.map(letter_of))

    # ------------------------------------------------------------------ the end

    def _write(self, destination: Destination) -> None:
        self._flush("Documents")
        name = destination.connection
        self._sinks[name] = self._stream
        for key in (*collection_name(destination.argument.get("into"))[::-1], name):
            if key in self._connections or key in self._collections:
                self._used.add(key)
                target = self._connections.get(key, self._collections.get(key))
                # A cluster may be read and written to under one name
                if target is not None and not isinstance(target, DataStream):
                    destination.attach(self._stream, target)
                    return

    def finished(self, dlq: Any) -> Pipeline:
        """The streams; documents that fail go to the connection of ``dlq`` too."""
        self._flush("Documents")
        letters: DataStream[Document] | None = None
        if self._dead:
            letters = self._dead[0].union(*self._dead[1:]) if len(self._dead) > 1 else self._dead[0]
        if isinstance(dlq, Mapping) and letters is not None:
            name = str(dlq.get("connectionName"))
            place = Place("dlq")
            self._sinks.setdefault(name, letters)
            self._used.add(name)
            if name in self._connections and not isinstance(self._connections[name], DataStream):
                emit = {"connectionName": name, "coll": dlq.get("coll")}
                Destination.of("$emit", emit, place).attach(letters, self._connections[name])
        rest = {name: to for name, to in self._connections.items() if name not in self._used}
        unused = [name for name, to in rest.items() if not isinstance(to, (list, tuple))]
        if unused and self._sinks:
            raise Place("pipeline: connections").unknown(
                "stage that names the connection", min(unused), self._sinks
            )
        results: SingleOutputStreamOperator[Document] = self._stream
        return Pipeline(results, self._sinks, letters)


def _compiled(path: str, first: int, stages: Sequence[Any], collections: Any) -> Stages:
    """The stages with the collections that they name."""
    named = {n: rows for n, rows in collections.items() if mentions(stages, n)}
    return Stages(list(stages), path, named, first)


def _ignore(documents: list[Any], batch: int) -> None:
    """Does nothing: the sink of a stream without documents, whose operator only counts failures."""


def _processed(stages: Stages, note: WindowNote | None) -> Callable[[Any], Any]:
    """Runs the stages over the documents of each window."""
    return lambda windows: windows.process(
        lambda context, documents: run_in_window(stages, note, context, documents)
    )


def _first(element: tuple[Any, ...]) -> Any:
    return element[0]


def _late_letter(stage: str, source: Source | None) -> Callable[[DeadLetter[Any]], Document]:
    """Makes late documents documents of the dead letter queue. ``source``: they are rows, which
    ``$source`` did not see."""

    def letter_of(letter: DeadLetter[Any]) -> Document:
        document = letter.value
        if source is not None:
            document = as_document(document)
            source.stamp(document, 0, {})
        elif isinstance(document, tuple):
            document = document[-1]
        return dead_letter(Failure(document, "Input document arrived late.", stage))

    return letter_of
