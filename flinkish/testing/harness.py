"""Runs a job by hand: every element, watermark and clock step is a call.

The operators are those that run on Spark, on the heap state backend, without Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from flinkish.api.arguments import time_in_millis
from flinkish.api.connectors.sink import Sink
from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import (
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleCheckpointError,
    said_by,
)
from flinkish.api.functions.adapt import positional_arity
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.program_classes import use_classes
from flinkish.api.stored_values import pickled, unpickled
from flinkish.api.streams.data_stream import DataStream
from flinkish.api.time.elements import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.api.tracebacks import short_traceback
from flinkish.graph.identities import (
    NO_IDENTITIES,
    Identities,
    NodeIdentity,
    begun_anew,
    missing,
    of_another_form,
    that_keep_none,
)
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.attribute_changes import AttributeWarnings
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Input, Output
from flinkish.runtime.operators.timers import EVENT_TIMERS, PROCESSING_TIMERS
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.keys import KeyRules
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, visible_timestamp
from flinkish.runtime.records.user_code import naming_internal_errors
from flinkish.runtime.savepoint.redistribution import has_operator_state
from flinkish.runtime.state.backend import NotedState
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_codec import FORMAT, check_format
from flinkish.runtime.task.chain import ChainedNode, OperatorChain
from flinkish.runtime.time.clock import ProcessingTimeService

X = TypeVar("X")

_TIMERS = {("timers", EVENT_TIMERS), ("timers", PROCESSING_TIMERS)}

Build = Callable[..., "DataStream[Any] | Sequence[DataStream[Any]]"]


class StreamTestHarness:
    """Drives the job that ``build`` makes of one or two streams.

    ``build`` returns the stream to look at, or several of them. The clock starts at 0 ms.

    >>> harness = StreamTestHarness(lambda stream: stream.map(str.upper))
    >>> harness.processElement("a", 5)
    >>> harness.processWatermark(7)
    >>> harness.getOutput()
    [StreamRecord(value='A', timestamp=5), Watermark(timestamp=7)]
    """

    name = "StreamTestHarness"
    """For errors."""

    def __init__(
        self, build: Build, autoWatermarkInterval: int = 200, _snapshot: bytes | None = None
    ) -> None:
        snapshot = None if _snapshot is None else _read(_snapshot)
        earlier = NO_IDENTITIES if snapshot is None else snapshot["nodes"]
        graph, self._sources, config = _graph_of(build, earlier)
        self._classes = graph.classes()
        self._classes.learns = True
        use_classes(self._classes)
        if snapshot is not None:
            snapshot = _with_state(snapshot)
            snapshot["chain"]["operators"] |= _checked_operators(graph, snapshot)
        self._identities = graph.identities()
        self._clock = ProcessingTimeService(0 if snapshot is None else snapshot["clock"])
        self._interval = autoWatermarkInterval
        self._traces_functions = config.isFunctionTracingEnabled()
        self._job_parameters = config.getGlobalJobParameters()
        self._side_outputs: dict[str, list[StreamRecord[Any]]] = {}
        self._sinks = {node.uid: _RecordingSink() for node in graph if node.isSink}
        self._backends: dict[str, HeapKeyedStateBackend] = {
            node.uid: HeapKeyedStateBackend(
                None if snapshot is None else snapshot["state"].get(node.uid)
            )
            for node in graph
        }
        vertices = JobGraph(graph).vertices
        self._behind_shuffles = {node.uid for v in vertices if v.level for node in v.nodes}
        self._warnings = AttributeWarnings()
        self._inputs = [_HarnessInput() for _ in self._sources]
        self._chain = OperatorChain(
            nodes=[node for node in graph if not node.isSource and not node.isSink],
            sources={
                uid: (harness_input.output, graph.node(uid).outputs)
                for uid, harness_input in zip(self._sources, self._inputs)
            },
            context=self._context,
            exit=lambda edge: self._sinks[edge.targetUid],
            reusesObjects=config.isObjectReuseEnabled(),
            tracesFunctions=self._traces_functions,
            columnChecks=config.getColumnChecks(),
            keyRules=KeyRules(nulls=config.nullKeysAllowed),
        )
        with closed_on_error(self._chain):
            self._chain.open()
            self._chain.restore(snapshot and snapshot["chain"])
            self._chain.initializeFunctions(0)
        for harness_input, state in zip(self._inputs, snapshot["inputs"] if snapshot else ()):
            harness_input.watermark, harness_input.status = state

    @classmethod
    def restore(
        cls, build: Build, snapshot: bytes, autoWatermarkInterval: int = 200
    ) -> StreamTestHarness:
        """A harness that continues from ``snapshot``, with empty outputs."""
        return cls(build, autoWatermarkInterval, snapshot)

    @naming_internal_errors
    def snapshot(self) -> bytes:
        """State, timers, watermarks and clock, to pass to ``restore``."""
        use_classes(self._classes)
        chain = self._chain.snapshot()
        self._warnings.warn(self._chain.attributeChanges())
        return pickled(
            {
                "format": FORMAT,
                "nodes": self._noted_nodes(),
                "clock": self._clock.getCurrentProcessingTime(),
                "state": {
                    uid: pickled(backend.contents) for uid, backend in self._backends.items()
                },
                "chain": pickled(chain),
                "inputs": [(i.watermark, i.status) for i in self._inputs],
            }
        )

    # ------------------------------------------------------------------ input

    @short_traceback
    def processElement(self, value: Any, timestamp: int | None = None) -> None:
        """Process an element, with a timestamp in ms or without one."""
        self._process_element(0, value, timestamp)

    @short_traceback
    def processElement1(self, value: Any, timestamp: int | None = None) -> None:
        """Process an element of the first of two inputs."""
        self._process_element(0, value, timestamp)

    @short_traceback
    def processElement2(self, value: Any, timestamp: int | None = None) -> None:
        """Process an element of the second of two inputs."""
        self._process_element(1, value, timestamp)

    @short_traceback
    def processWatermark(self, timestamp: int | Watermark) -> None:
        """Process a watermark (ms), which fires the timers that it reaches. One that is not higher than
        the last changes nothing."""
        self._process_watermark(0, timestamp)

    @short_traceback
    def processWatermark1(self, timestamp: int | Watermark) -> None:
        """Process a watermark (ms) of the first of two inputs."""
        self._process_watermark(0, timestamp)

    @short_traceback
    def processWatermark2(self, timestamp: int | Watermark) -> None:
        """Process a watermark (ms) of the second of two inputs."""
        self._process_watermark(1, timestamp)

    @short_traceback
    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        """Mark the input idle or active."""
        self._input(0).processWatermarkStatus(status)

    @short_traceback
    def processWatermarkStatus1(self, status: WatermarkStatus) -> None:
        """Mark the first of two inputs idle or active."""
        self._input(0).processWatermarkStatus(status)

    @short_traceback
    def processWatermarkStatus2(self, status: WatermarkStatus) -> None:
        """Mark the second of two inputs idle or active."""
        self._input(1).processWatermarkStatus(status)

    @short_traceback
    @naming_internal_errors
    def setProcessingTime(self, now: int) -> None:
        """Set the processing-time clock (ms), which fires the timers that it reaches."""
        use_classes(self._classes)
        self._clock.advanceTo(time_in_millis("setProcessingTime", now))
        self._chain.advanceProcessingTime(self._clock.getCurrentProcessingTime())

    @short_traceback
    @naming_internal_errors
    def endInput(self) -> None:
        """End all inputs: process ``Watermark(MAX)`` of each."""
        use_classes(self._classes)
        for harness_input in self._inputs:
            harness_input.processWatermark(MAX_TIMESTAMP)

    @short_traceback
    def close(self) -> None:
        """Close the user functions."""
        self._warnings.warn(self._chain.attributeChanges())
        self._chain.close()

    # ------------------------------------------------------------------ output

    def getOutput(self, index: int = 0) -> list[StreamElement[Any]]:
        """All elements emitted since the start, in order, as StreamRecords and Watermarks.

        ``index`` selects one of the streams that ``build`` returned.
        """
        self._warnings.warn(self._chain.attributeChanges())
        return list(list(self._sinks.values())[index].elements)

    def getSideOutput(self, tag: OutputTag[X]) -> list[StreamRecord[X]]:
        """The elements that any operator has emitted to the side output ``tag`` since the start."""
        return list(self._side_outputs.get(tag.getId(), ()))

    def numEventTimeTimers(self) -> int:
        """The number of pending event-time timers."""
        return sum(o.numEventTimeTimers() for o in self._chain.operators.values())

    def numProcessingTimeTimers(self) -> int:
        """The number of pending processing-time timers."""
        return sum(o.numProcessingTimeTimers() for o in self._chain.operators.values())

    def numKeyedStateEntries(self) -> int:
        """The number of entries of keyed state; a map counts as one."""
        return sum(backend.numEntries() for backend in self._backends.values())

    def numLateRecordsDropped(self) -> int:
        """The number of late records that were dropped."""
        return sum(o.metrics.numLateRecordsDropped for o in self._chain.operators.values())

    # ------------------------------------------------------------------ wiring

    def _input(self, index: int) -> _HarnessInput:
        if index >= len(self._inputs):
            raise IllegalStateError(
                "the harness has one input, as build takes one stream: let it take two."
            )
        return self._inputs[index]

    @naming_internal_errors
    def _process_element(self, index: int, value: Any, timestamp: int | None) -> None:
        use_classes(self._classes)
        stamp = NO_TIMESTAMP
        if timestamp is not None:
            stamp = time_in_millis("processElement: timestamp", timestamp)
        output = self._input(index).output
        output.collect(value, stamp)
        output.flush()

    @naming_internal_errors
    def _process_watermark(self, index: int, watermark: int | Watermark) -> None:
        use_classes(self._classes)
        timestamp = watermark.timestamp if isinstance(watermark, Watermark) else watermark
        self._input(index).processWatermark(time_in_millis("processWatermark", timestamp))

    def _noted_nodes(self) -> dict[str, Any]:
        return {
            uid: replace(identity, states=self._backends[uid].noted()).asDict()
            for uid, identity in self._identities.items()
        }

    def _context(self, node: ChainedNode) -> OperatorContext:
        backend = self._backends[node.uid]
        backend.earlierStates = [NotedState(*state) for state in node.earlierStates]
        return OperatorContext(
            uid=node.uid,
            name=node.name,
            backend=backend,
            clock=self._clock,
            output=_HarnessOutput(self._side_outputs),
            taskInfo=TaskInfo(node.name),
            autoWatermarkInterval=self._interval,
            tracesFunctions=self._traces_functions,
            jobParameters=self._job_parameters,
            keepsAttributes=node.uid in self._behind_shuffles,
        )


class _HarnessInput:
    """An input of the test; like a task, it passes on only rising watermarks and changed statuses."""

    def __init__(self) -> None:
        self.output = Output()
        self.watermark = MIN_TIMESTAMP
        self.status = WatermarkStatus.ACTIVE

    def processWatermark(self, timestamp: int) -> None:
        if timestamp > self.watermark:
            self.watermark = timestamp
            self.output.emitWatermark(timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        if status != self.status:
            self.status = status
            self.output.emitWatermarkStatus(status)


class _HarnessOutput(Output):
    """Keeps the elements of side outputs, whether or not an operator reads them."""

    __slots__ = ("_kept",)

    def __init__(self, kept: dict[str, list[StreamRecord[Any]]]) -> None:
        super().__init__()
        self._kept = kept

    def collectSide(self, sideOutput: str, value: Any, timestamp: int) -> None:
        record = StreamRecord(copied(value), visible_timestamp(timestamp))
        self._kept.setdefault(sideOutput, []).append(record)
        super().collectSide(sideOutput, value, timestamp)


class _RecordingSink(Input):
    keepsRecords = True

    def __init__(self) -> None:
        self.elements: list[StreamElement[Any]] = []

    def processRecords(self, records: Records) -> None:
        for value, timestamp in zip(records.values, records.timestamps.tolist()):
            self.elements.append(StreamRecord(value, visible_timestamp(timestamp)))

    def processWatermark(self, timestamp: int) -> None:
        self.elements.append(Watermark(timestamp))

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self.elements.append(status)


@dataclass(frozen=True, eq=False)
class _HarnessSource(Source[Any]):
    """The source whose elements the test provides."""

    kind: ClassVar[str] = "_HarnessSource"


@dataclass(frozen=True, eq=False)
class _HarnessSink(Sink[Any]):
    """The sink whose elements the test reads."""

    kind: ClassVar[str] = "_HarnessSink"


def _read(data: bytes) -> dict[str, Any]:
    """The snapshot in ``data``. Raises IncompatibleCheckpointError if it is of another format."""
    snapshot: dict[str, Any] = _unpickled("the snapshot", data)
    check_format(snapshot.get("format", 1), "the snapshot")
    nodes = {uid: NodeIdentity.ofDict(fields) for uid, fields in snapshot["nodes"].items()}
    return {**snapshot, "nodes": nodes}


def _with_state(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """``snapshot`` with its state, which is read once the classes of the job are known."""
    names = {uid: f"{node.name!r} ({uid})" for uid, node in snapshot["nodes"].items()}
    state = {
        uid: _part(f"the state of {names.get(uid, uid)}", part)
        for uid, part in snapshot["state"].items()
    }
    return {**snapshot, "state": state, "chain": _part("the snapshot", snapshot["chain"])}


def _part(what: str, part: Any) -> Any:
    # Earlier snapshots were in one piece
    return _unpickled(what, part) if type(part) is bytes else part


def _unpickled(what: str, data: bytes) -> Any:
    """The object in ``data``. Raises IncompatibleCheckpointError if a class in it is gone."""
    try:
        return unpickled(data)
    except IncompatibleCheckpointError as error:
        raise IncompatibleCheckpointError(f"{what}: {error}") from None
    except (ImportError, AttributeError) as error:
        raise IncompatibleCheckpointError(
            f"{what} cannot be read ({said_by(error)}). If a class of a stored value was moved or renamed, keep its old"
            " name importable."
        ) from error


def _checked_operators(graph: StreamGraph, snapshot: Mapping[str, Any]) -> dict[str, int]:
    """The watermarks of the operators that are of another kind now, and that nothing else is left of.

    Raises IncompatibleCheckpointError if a node with state is gone, or its state was of another kind.
    """
    earlier, operators = snapshot["nodes"], snapshot["chain"]["operators"]
    held = {
        uid: {name for name, table in tables.items() if len(table)}
        for uid, tables in snapshot["state"].items()
    }
    uids = [node.uid for node in graph]
    stateful = [
        uid for uid in earlier if held.get(uid) or has_operator_state(operators.get(uid, {}))
    ]
    problems = list(missing(earlier, uids))
    problems += that_keep_none(earlier, stateful, graph.identities(), uids)
    changed = of_another_form(
        earlier,
        graph.identities(),
        lambda uid: not _TIMERS.isdisjoint(held.get(uid, ())),
    )
    problems += [problem for uid, problem in changed.items() if uid in stateful]
    if problems:
        raise IncompatibleCheckpointError(
            f"the job cannot go on from the snapshot: {'; '.join(problems)}."
        )
    anew = begun_anew(earlier, graph.identities())
    return {uid: operators[uid]["watermark"] for uid in anew if uid in operators}


def _graph_of(build: Build, earlier: Identities) -> tuple[StreamGraph, list[str], ExecutionConfig]:
    environment = StreamExecutionEnvironment()
    inputs = [
        environment.fromSource(_HarnessSource(), None, f"Harness {i}").uid(f"harness-{i}")
        for i in range(_number_of_inputs(build))
    ]
    result = build(*inputs)
    streams = [result] if isinstance(result, DataStream) else list(result)
    if not streams or not all(isinstance(stream, DataStream) for stream in streams):
        raise IllegalArgumentError(
            f"StreamTestHarness: build must return a DataStream or several of them, not {result!r}."
        )
    sinks = []
    for i, stream in enumerate(streams):
        sink = SinkTransformation(f"Output {i}", _HarnessSink(), stream.getTransformation())
        sink.uid = f"output-{i}"
        sinks.append(sink)
    sources = [stream.getTransformation() for stream in inputs]
    graph = StreamGraph.of([*sources, *sinks], earlier)
    return graph, [graph.uidOf(source) for source in sources], environment.getConfig()


def _number_of_inputs(build: Build) -> int:
    count = positional_arity(build)
    if count not in (1, 2):
        raise IllegalArgumentError(
            f"StreamTestHarness: build takes {count} streams, but must take one or two."
        )
    return count
