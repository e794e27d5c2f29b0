"""Runs a job by hand: every element, watermark and clock step is a call.

The operators are those that run on Spark, on the heap state backend, without Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flinkish.api.arguments import positive, time_in_millis
from flinkish.api.connectors.sink import Sink
from flinkish.api.connectors.source import Source
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import IllegalArgumentError, IllegalStateError
from flinkish.api.functions.adapt import positional_arity
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.transformations import SinkTransformation
from flinkish.api.program_classes import use_classes
from flinkish.api.stored_values import pickled
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
from flinkish.api.type_variables import X
from flinkish.graph.identities import NO_IDENTITIES, Identities
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.attribute_changes import AttributeWarnings
from flinkish.runtime.closing import closed_on_error
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Input, Output
from flinkish.runtime.records.copies import copied
from flinkish.runtime.records.keys import KeyRules
from flinkish.runtime.records.records import NO_TIMESTAMP, Records, visible_timestamp
from flinkish.runtime.records.user_code import naming_internal_errors
from flinkish.runtime.state.backend import NotedState
from flinkish.runtime.state.heap import HeapKeyedStateBackend
from flinkish.runtime.state.page_codec import FORMAT
from flinkish.runtime.task.chain import ChainedNode, OperatorChain
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.testing.batches import Batches, ignoring_watermarks, inputs_of
from flinkish.testing.snapshots import checked_operators, read, with_state

_LOG = logging.getLogger("flinkish")

Build = Callable[..., "DataStream[Any] | Sequence[DataStream[Any]]"]


class StreamTestHarness:
    """Drives the job that ``build`` makes of one or two streams.

    ``build`` returns the stream to look at, or several of them. The clock starts at 0 ms.

    A watermark strategy in ``build`` emits periodically, as in Flink's harness, when ``setProcessingTime`` has moved
    the clock by ``autoWatermarkInterval`` (ms). With ``elementsPerBatch`` it emits after every so many elements of
    the input instead, as in a job with ``setElementsPerBatch``: then the results are those of the job.

    >>> harness = StreamTestHarness(lambda stream: stream.map(str.upper))
    >>> harness.processElement("a", 5)
    >>> harness.processWatermark(7)
    >>> harness.getOutput()
    [StreamRecord(value='A', timestamp=5), Watermark(timestamp=7)]

    Raises IllegalArgumentError if ``elementsPerBatch`` is not a positive int.
    """

    name = "StreamTestHarness"
    """The name of the call in errors."""

    def __init__(
        self,
        build: Build,
        autoWatermarkInterval: int = 200,
        elementsPerBatch: int | None = None,
        _snapshot: bytes | None = None,
    ) -> None:
        if elementsPerBatch is not None:
            positive("StreamTestHarness: elementsPerBatch", elementsPerBatch)
        self._in_batches = elementsPerBatch is not None
        snapshot = None if _snapshot is None else read(_snapshot)
        earlier = NO_IDENTITIES if snapshot is None else snapshot["nodes"]
        graph, self._sources, config = _graph_of(build, earlier)
        self._classes = graph.classes()
        self._classes.learns = True
        use_classes(self._classes)
        if snapshot is not None:
            snapshot = with_state(snapshot)
            snapshot["chain"]["operators"] |= checked_operators(graph, snapshot)
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
        self._ignoring = [ignoring_watermarks(graph, uid) for uid in self._sources]
        self._batches = None
        if elementsPerBatch is not None:
            inputs = inputs_of(graph, self._sources)
            finished = [i for i, own in enumerate(self._inputs) if own.watermark == MAX_TIMESTAMP]
            self._batches = Batches(elementsPerBatch, inputs, finished, self._end_batch)

    @classmethod
    def restore(
        cls,
        build: Build,
        snapshot: bytes,
        autoWatermarkInterval: int = 200,
        elementsPerBatch: int | None = None,
    ) -> StreamTestHarness:
        """A harness that continues from ``snapshot``, with empty outputs."""
        return cls(build, autoWatermarkInterval, elementsPerBatch, snapshot)

    @naming_internal_errors
    def snapshot(self) -> bytes:
        """State, timers, watermarks and clock, to pass to ``restore``. A batch ends with it, as with a savepoint."""
        use_classes(self._classes)
        if self._batches is not None:
            self._batches.endIfBegun()
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
        the last changes nothing. A watermark strategy in ``build`` ignores it, but for ``Watermark(MAX)``, which ends
        the input: then a warning says what to write."""
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
        self._process_status(0, status)

    @short_traceback
    def processWatermarkStatus1(self, status: WatermarkStatus) -> None:
        """Mark the first of two inputs idle or active."""
        self._process_status(0, status)

    @short_traceback
    def processWatermarkStatus2(self, status: WatermarkStatus) -> None:
        """Mark the second of two inputs idle or active."""
        self._process_status(1, status)

    @short_traceback
    @naming_internal_errors
    def setProcessingTime(self, now: int) -> None:
        """Set the processing-time clock (ms), which fires the timers that it reaches. A batch ends before that, as all
        of its elements see the same time."""
        use_classes(self._classes)
        now = time_in_millis("setProcessingTime", now)
        if self._batches is None:
            self._clock.advanceTo(now)
            self._chain.advanceProcessingTime(self._clock.getCurrentProcessingTime())
            return
        self._batches.endIfBegun()
        self._clock.advanceTo(now)
        self._batches.end()

    @short_traceback
    @naming_internal_errors
    def endInput(self) -> None:
        """End all inputs: process ``Watermark(MAX)`` of each."""
        use_classes(self._classes)
        for harness_input in self._inputs:
            harness_input.processWatermark(MAX_TIMESTAMP)
        if self._batches is not None:
            self._batches.end()

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
        if self._batches is not None:
            self._batches.beforeElement(index)
        output.collect(value, stamp)
        output.flush()
        if self._batches is not None:
            self._batches.afterElement(index)

    @naming_internal_errors
    def _process_watermark(self, index: int, watermark: int | Watermark) -> None:
        use_classes(self._classes)
        timestamp = watermark.timestamp if isinstance(watermark, Watermark) else watermark
        timestamp = time_in_millis("processWatermark", timestamp)
        self._input(index).processWatermark(timestamp)
        if timestamp != MAX_TIMESTAMP:
            self._warn_if_ignored(index, f"processWatermark({timestamp})")
        elif self._batches is not None:
            self._batches.endInput(index)

    def _process_status(self, index: int, status: WatermarkStatus) -> None:
        self._input(index).processWatermarkStatus(status)
        self._warn_if_ignored(index, "processWatermarkStatus")

    def _warn_if_ignored(self, index: int, call: str) -> None:
        """Log once that a strategy of ``build`` ignores the watermarks and statuses of an input."""
        node, self._ignoring[index] = self._ignoring[index], None
        if node is None:
            return
        if not node.generatesWatermarks:
            emits = "which emits none: without it, watermarks from outside pass"
        elif self._in_batches:
            emits = "which emits its own after each batch: leave the call out"
        else:
            emits = (
                "which emits its own when setProcessingTime moves the clock. For a watermark after each element, as in"
                " a job, write StreamTestHarness(build, elementsPerBatch=1) and leave the call out"
            )
        _LOG.warning(
            "StreamTestHarness: %s has no effect, as %s in build has a watermark strategy, %s. To pass watermarks"
            " yourself, leave assignTimestampsAndWatermarks out of build and give processElement the timestamps.",
            call,
            node.name,
            emits,
        )

    def _end_batch(self, operators: Iterable[str]) -> None:
        """End the batch as a task does, for some operators, each after those before it."""
        for uid in operators:
            operator = self._chain.operators[uid]
            operator.advanceProcessingTime(self._clock.getCurrentProcessingTime())
            operator.onPeriodicEmit()

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
            emitsAfterSlices=self._in_batches,
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


@dataclass(frozen=True, eq=False)
class _HarnessSink(Sink[Any]):
    """The sink whose elements the test reads."""


def _graph_of(build: Build, earlier: Identities) -> tuple[StreamGraph, list[str], ExecutionConfig]:
    environment = StreamExecutionEnvironment()
    uids = [f"harness-{i}" for i in range(_number_of_inputs(build))]
    inputs = [
        environment.fromSource(_HarnessSource(), None, f"Harness {i}").uid(uid)
        for i, uid in enumerate(uids)
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
    return StreamGraph.of([*sources, *sinks], earlier), uids, environment.getConfig()


def _number_of_inputs(build: Build) -> int:
    count = positional_arity(build)
    if count not in (1, 2):
        raise IllegalArgumentError(
            f"StreamTestHarness: build takes {count} streams, but must take one or two."
        )
    return count
