"""``StreamOperator`` and ``OneInputOperator``, the base classes of operators, with
``OperatorContext``, from which operators are created, and the runtime context of their
functions."""

from __future__ import annotations

from abc import ABC
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from flinkish.api.errors import IllegalStateError
from flinkish.api.functions.accumulators import Accumulator
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.functions import RichFunction
from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext, TaskInfo
from flinkish.api.functions.state import StateDescriptor
from flinkish.api.metrics import MetricGroup
from flinkish.api.time.elements import MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.attribute_changes import AttributeChange, FunctionAttributes
from flinkish.runtime.closing import close_all
from flinkish.runtime.metrics import OperatorMetricGroup
from flinkish.runtime.operators.checkpointed import CheckpointedFunctionRunner
from flinkish.runtime.operators.output import Input, Output, TimestampedCollector
from flinkish.runtime.operators.timers import InternalTimerService
from flinkish.runtime.records.copies import keeps_nothing
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.user_code import emitted, mapped, user_code_of, user_method_of
from flinkish.runtime.reports import InputReport
from flinkish.runtime.state.backend import KeyedStateBackend
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.runtime.time.clock import ProcessingTimeService
from flinkish.runtime.time.watermark_generation import JoinedSplits

if TYPE_CHECKING:
    from flinkish.runtime.operators.contexts import ElementContext


class StreamingRuntimeContext(RuntimeContext):
    """State, metrics and task information of one operator (Flink: the class of this name)."""

    def __init__(self, operator: StreamOperator, states: KeyedStates | None = None) -> None:
        self._operator = operator
        self._states = states

    def getTaskInfo(self) -> TaskInfo:
        return self._operator.taskInfo

    def getMetricGroup(self) -> MetricGroup:
        return self._operator.metrics

    def addAccumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self._operator.metrics.addAccumulator(name, accumulator)

    def isObjectReuseEnabled(self) -> bool:
        return self._operator.output.reusesObjects

    def getGlobalJobParameters(self) -> dict[str, str]:
        return dict(self._operator.jobParameters)

    def _state(self, stateProperties: StateDescriptor[Any]) -> Any:
        if self._states is None:
            raise IllegalStateError(
                f"{self._operator.name}: keyed state is available only on a keyed stream. Call"
                " keyBy(...) before this operator."
            )
        return self._states.of(stateProperties)

    def getState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self._state(stateProperties)

    def getListState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self._state(stateProperties)

    def getMapState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self._state(stateProperties)

    def getReducingState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self._state(stateProperties)

    def getAggregatingState(self, stateProperties: StateDescriptor[Any]) -> Any:
        return self._state(stateProperties)


@dataclass
class OperatorContext:
    """Everything that an operator needs to run."""

    uid: str
    name: str
    backend: KeyedStateBackend
    clock: ProcessingTimeService
    output: Output
    taskInfo: TaskInfo
    autoWatermarkInterval: int = 200
    emitsAfterSlices: bool = False
    """Whether ``onPeriodicEmit`` is called at the end of a part of a batch, not by the clock."""
    metrics: OperatorMetricGroup = field(default_factory=OperatorMetricGroup)
    tracesFunctions: bool = True
    """Whether functions that only compute are traced and run over columns."""
    jobParameters: Mapping[str, str] = field(default_factory=dict)
    """The global job parameters, as functions see them."""
    keepsAttributes: bool = False
    """Whether the snapshot has the attributes that user functions change."""
    batch: bool = False
    """Whether elements come sorted by time, and only final results are emitted."""


class StreamOperator(ABC):
    """The base of running operators (Flink: ``AbstractStreamOperator``). Life cycle: ``open`` once;
    then, for each key group and batch, ``restore``, the inputs, and ``snapshot``; ``close`` once.
    Keyed state and timers are in the backend, ``snapshot`` holds the rest."""

    def __init__(self, context: OperatorContext) -> None:
        self.uid = context.uid
        self.name = context.name
        self.backend = context.backend
        self.clock = context.clock
        self.output = context.output
        self.collector = TimestampedCollector(context.output)
        self.metrics = context.metrics
        self.taskInfo = context.taskInfo
        self.tracesFunctions = context.tracesFunctions
        self.jobParameters = context.jobParameters
        self.currentWatermark = MIN_TIMESTAMP
        self.inFirstKeyGroup = True
        """Whether this is the first key group, as it always is if there is only one."""
        self._opened: list[RichFunction] = []
        self._checkpointed: list[CheckpointedFunctionRunner] = []
        self._function_states: list[dict[str, Any]] | None = None
        self._keeps_attributes = context.keepsAttributes
        self._attributes = FunctionAttributes(context.name)
        self._restored_attributes: bytes | None = None
        self._key_group = 0

    # ------------------------------------------------------------------ life cycle

    _function: Any = None
    """The user function that ``open`` opens."""

    def open(self) -> None:
        """Called once, before anything else."""
        self.openFunction(self._function)

    def noteAttributes(self, description: object) -> None:
        """Called once all operators of the task are open: note the attributes of the functions."""
        self._attributes = FunctionAttributes(self.name, description, keeps=self._keeps_attributes)

    def attributeChanges(self) -> list[AttributeChange]:
        """The attributes that functions have changed since they were opened and that the snapshot
        does not have, each reported once; not those that only a gauge reads."""
        only_shown = self.metrics.isOnlyShown
        return [c for c in self._attributes.changes() if not only_shown(c.owner, c.attribute)]

    def close(self) -> None:
        """Called once, at the end, even after an error in ``open``."""
        opened, self._opened = self._opened, []
        with user_method_of(self.name, "close()"):
            close_all([*self._checkpointed, *reversed(opened)])

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        """Load the state of a key group: a result of ``snapshot``, or None for a new one."""
        self.currentWatermark = MIN_TIMESTAMP if snapshot is None else snapshot["watermark"]
        self._function_states = None if snapshot is None else snapshot.get("functions")
        self._restored_attributes = None if snapshot is None else snapshot.get("attributes")

    def initializeFunctions(self, keyGroup: int) -> None:
        """Give the functions the attributes and operator state restored for ``keyGroup``."""
        self._key_group = keyGroup
        self._attributes.restore(self._restored_attributes)
        states = self._function_states or ()
        for function, state in zip_longest(self._checkpointed, states[: len(self._checkpointed)]):
            function.initialize(keyGroup, state)

    def snapshot(self) -> dict[str, Any]:
        """The state besides keyed state and timers; must be picklable."""
        snapshot: dict[str, Any] = {"watermark": self.currentWatermark}
        # State that no function reads any more is kept
        unread = (self._function_states or [])[len(self._checkpointed) :]
        if self._checkpointed or unread:
            now = self.clock.getCurrentProcessingTime()
            own = [function.snapshot(self._key_group, now) for function in self._checkpointed]
            snapshot["functions"] = [*own, *unread]
        if (attributes := self._attributes.snapshot()) is not None:
            snapshot["attributes"] = attributes
        return snapshot

    # ------------------------------------------------------------------ inputs

    @property
    def inputs(self) -> tuple[Input, ...]:
        raise NotImplementedError

    def advanceWatermark(self, timestamp: int) -> None:
        """Called when the watermark has risen; of several inputs, the combined one."""
        self.currentWatermark = timestamp
        self.output.emitWatermark(timestamp)

    def skipToWatermark(self, timestamp: int) -> None:
        """Set the watermark to ``timestamp``, up to which no timer is due."""
        self.currentWatermark = timestamp

    def advanceProcessingTime(self, now: int) -> None:
        """Called when the clock is at ``now`` (ms): fire the processing-time timers due."""

    def endInput(self) -> None:
        """Called in BATCH after the last watermark: fire the remaining processing-time timers."""

    def onPeriodicEmit(self) -> None:
        """Called at the end of each slice: of a partition before the first shuffle, of a key group
        after it."""

    # ------------------------------------------------------------------ pending timers

    timers: InternalTimerService | None = None
    """The timers of the operator; None if it registers none."""

    def nextEventTimeTimer(self) -> int | None:
        """A lower bound of the event-time timers; no lower watermark fires any."""
        return None if self.timers is None else self.timers.nextEventTimeTimer()

    def nextProcessingTimeTimer(self) -> int | None:
        """A lower bound of the processing-time timers (ms); None if there are none."""
        return None if self.timers is None else self.timers.nextProcessingTimeTimer()

    def numEventTimeTimers(self) -> int:
        return 0 if self.timers is None else self.timers.numEventTimeTimers()

    def numProcessingTimeTimers(self) -> int:
        return 0 if self.timers is None else self.timers.numProcessingTimeTimers()

    @property
    def reportedWatermark(self) -> int:
        return self.currentWatermark

    def splits(self) -> Iterable[InputReport]:
        """The splits of the source that the operator distinguishes, each with its watermark."""
        return ()

    def joinedSplits(self) -> JoinedSplits | None:
        """The combined watermark of these splits; None if this key group has none."""
        return None

    # ------------------------------------------------------------------ for subclasses

    def openFunction(self, function: object) -> None:
        """Open a user function that has a life cycle, unless ``initializeFunctions`` will."""
        if isinstance(function, CheckpointedFunction):
            single = self.taskInfo.parallelism == 1
            self._checkpointed.append(
                CheckpointedFunctionRunner(self.name, function, self.runtimeContext, single)
            )
        elif isinstance(function, RichFunction):
            function.setRuntimeContext(self.runtimeContext())
            self._opened.append(function)
            with user_method_of(self.name, "open()"):
                function.open(OpenContext())

    def runtimeContext(self) -> RuntimeContext:
        return StreamingRuntimeContext(self)

    def userCode(self, element: object) -> AbstractContextManager[None]:
        """Names the operator and the element in an error of a user function."""
        return user_code_of(self.name, lambda: element)

    def userCodeOf(self, element: Callable[[], object]) -> AbstractContextManager[None]:
        """``userCode`` for a whole run: ``element()`` is called only after an error."""
        return user_code_of(self.name, element)

    # The loops over elements; KeyedOperator repeats them with keys. A shared loop would be shorter,
    # but another call for each element costs too much.

    def mapped(self, function: Callable[[Any], Any], records: Records) -> list[Any]:
        """``function(value)`` of every record; an error names the value."""
        return mapped(self.name, function, records.values)

    def emitted(self, function: Callable[[Any], Any], records: Records) -> list[Any]:
        """``mapped`` for results that are emitted: each is copied before the next call."""
        return emitted(self.name, function, records.values)

    def emitMapped(self, function: Callable[[Any], Any], records: Records) -> None:
        if keeps_nothing(function) and records.plain:
            # Nothing keeps a reference through which a result could change
            self.output.emitRecords(records.mapped(self.mapped(function, records), plain=True))
        elif self.output.reusesObjects:
            self.collectElements(lambda value, out: out.collect(function(value)), records)
        else:
            self.output.emitRecords(records.mapped(self.emitted(function, records)))

    def collectElements(self, function: Callable[[Any, Any], Any], records: Records) -> None:
        """Call ``function(value, collector)`` for every record and emit what it returns."""
        collector, value = self.collector, None
        with self.userCodeOf(lambda: value):
            for value, timestamp in zip(records.values, records.timestamps.tolist()):
                collector.timestamp = timestamp
                returned = function(value, collector)
                if returned is not None:
                    collector.collectReturned(returned, tuples=True)
        self.output.flush()

    def processElements(
        self,
        function: Callable[[Any, Any, Any], Any],
        context: ElementContext,
        collector: TimestampedCollector,
        records: Records,
    ) -> None:
        """Call ``function(value, context, collector)`` for every record and emit what it returns;
        an error names the value."""
        value = None
        with self.userCodeOf(lambda: value):
            for value, timestamp in zip(records.values, records.timestamps.tolist()):
                context.elementTimestamp = collector.timestamp = timestamp
                returned = function(value, context, collector)
                if returned is not None:
                    collector.collectReturned(returned)
        self.output.flush()


class UdfStreamOperator(StreamOperator):
    """The first base of an operator that opens and calls a user function (Flink:
    ``AbstractUdfStreamOperator``)."""

    def __init__(self, context: OperatorContext, description: Any) -> None:
        super().__init__(context)
        self._function = description.function
        self._call: Any = getattr(description, "call", None)


class OneInputOperator(StreamOperator, Input):
    """An operator with one input, which is the operator itself."""

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (self,)

    def processRecords(self, records: Records) -> None:
        raise NotImplementedError

    def processWatermark(self, timestamp: int) -> None:
        self.advanceWatermark(timestamp)

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        # A generator may emit a watermark for every element. Those that fire no timer are passed on
        # together.
        start, end = 0, len(timestamps)
        while start < end:
            due = self.nextEventTimeTimer()
            next_due = end if due is None else bisect_left(timestamps, due, start)
            if next_due > start:
                self.skipToWatermark(timestamps[next_due - 1])
                self.output.emitWatermarks(timestamps[start:next_due])
            if next_due < end:
                self.processWatermark(timestamps[next_due])
            start = next_due + 1

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self.output.emitWatermarkStatus(status)
