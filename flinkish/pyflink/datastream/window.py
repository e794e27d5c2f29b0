"""Windows, window assigners and triggers: flinkish's own under PyFlink's names, and adapters for
those defined by a job."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, Self, TypeAlias

from typing_extensions import TypeVar

from flinkish.api.arguments import instance
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.api.windowing import assigners as core_assigners
from flinkish.api.windowing import triggers as core_triggers
from flinkish.api.windowing import windows as core_windows
from flinkish.api.windowing.triggers import TriggerResult as CoreResult
from flinkish.pyflink.absent import AbsentMethods, absent_names
from flinkish.pyflink.common.arguments import millis_of_time
from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.common.time import Time
from flinkish.pyflink.datastream import state as states
from flinkish.pyflink.metrics import MetricGroup

T = TypeVar("T", default=Any)
W = TypeVar("W", default=Any)


class Window(core_windows.Window):
    """A group of elements (PyFlink: ``Window``)."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last timestamp that belongs to it."""

    def maxTimestamp(self) -> int:
        return self.max_timestamp()


class TimeWindow(core_windows.TimeWindow):
    """A window ``[start, end)`` of time (PyFlink: ``TimeWindow``)."""

    __slots__ = ()

    def max_timestamp(self) -> int:
        """The last timestamp that belongs to it."""
        return self.end - 1

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of ``timestamp``."""
        return core_windows.TimeWindow.getWindowStartWithOffset(timestamp, offset, window_size)

    def cover(self, other: core_windows.TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        """Call ``callback.merge`` for windows that overlap or touch."""
        core_windows.TimeWindow.mergeWindows(windows, callback.core)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


@dataclass(unsafe_hash=True)
class CountWindow(Window):
    """A window of a number of elements (PyFlink: ``CountWindow``)."""

    id: int

    def max_timestamp(self) -> int:
        return MAX_TIMESTAMP


class GlobalWindow(core_windows.GlobalWindow):
    """The window that contains every element (PyFlink: ``GlobalWindow``)."""

    def max_timestamp(self) -> int:
        """The last timestamp that belongs to it."""
        return MAX_TIMESTAMP


def window_of_user(window: core_windows.Window) -> Any:
    """``window`` as the user's functions see it."""
    if type(window) is core_windows.TimeWindow:
        return TimeWindow(window.start, window.end)
    return GlobalWindow() if type(window) is core_windows.GlobalWindow else window


# ---------------------------------------------------------------------- triggers


class TriggerResult(Enum):
    """A trigger's decision (PyFlink: ``TriggerResult``)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window fires."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether its elements are dropped."""
        return self.value[1]


class TriggerContext:
    """The clock, the timers and the state of a trigger (PyFlink: ``Trigger.TriggerContext``)."""

    def __init__(self, context: core_triggers.TriggerContext) -> None:
        self.core = context
        """The context for flinkish's own triggers."""

    def get_current_processing_time(self) -> int:
        """The processing-time clock."""
        return self.core.getCurrentProcessingTime()

    def get_current_watermark(self) -> int:
        """The current watermark."""
        return self.core.getCurrentWatermark()

    def get_metric_group(self) -> MetricGroup:
        """The metrics of the window operator."""
        return MetricGroup(self.core.getMetricGroup())

    def register_processing_time_timer(self, time: int) -> None:
        """Call ``on_processing_time`` when the clock reaches ``time`` (ms)."""
        self.core.registerProcessingTimeTimer(time)

    def register_event_time_timer(self, time: int) -> None:
        """Call ``on_event_time`` when the watermark reaches ``time`` (ms)."""
        self.core.registerEventTimeTimer(time)

    def delete_processing_time_timer(self, time: int) -> None:
        """Delete the timer."""
        self.core.deleteProcessingTimeTimer(time)

    def delete_event_time_timer(self, time: int) -> None:
        """Delete the timer."""
        self.core.deleteEventTimeTimer(time)

    def get_partitioned_state(self, state_descriptor: states.StateDescriptor) -> Any:
        """State of the key and window."""
        given: Any = state_descriptor
        state: Any = self.core.getPartitionedState(given.core)
        if isinstance(given, states.MapStateDescriptor):
            return states.MapState(state, given)
        if isinstance(given, states.AggregatingStateDescriptor):
            return states.AggregatingState(state)
        if isinstance(given, states.ListStateDescriptor):
            return states.ListState(state, given.type_info)
        if isinstance(given, states.ReducingStateDescriptor):
            return states.ReducingState(state, given.type_info)
        return states.ValueState(state, given.type_info)


class OnMergeContext(TriggerContext):
    """The context of merging windows (PyFlink: ``Trigger.OnMergeContext``)."""

    def merge_partitioned_state(self, state_descriptor: states.StateDescriptor) -> None:
        """Merge the state of the windows."""
        context: Any = self.core
        given: Any = state_descriptor
        context.mergePartitionedState(given.core)


class Trigger(ABC, Generic[T, W]):
    """Says when a window fires (PyFlink: ``Trigger``)."""

    TriggerContext: TypeAlias = TriggerContext
    OnMergeContext: TypeAlias = OnMergeContext

    @property
    def core(self) -> core_triggers.Trigger[Any, Any]:
        """The trigger for flinkish's own windows."""
        return TriggerAdapter(self)

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        """Called for each element of the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Called when a processing-time timer is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Called when an event-time timer is due."""

    def can_merge(self) -> bool:
        """Whether the trigger supports windows that merge."""
        return False

    def on_merge(self, window: W, ctx: OnMergeContext) -> None:
        """Called when windows have been merged into ``window``."""

    @abstractmethod
    def clear(self, window: W, ctx: TriggerContext) -> None:
        """Called when the window is removed."""


class TriggerAdapter(core_triggers.Trigger[Any, Any]):
    """A trigger defined by a job."""

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = shippable(trigger)

    def onElement(self, element: Any, timestamp: int, window: Any, ctx: Any) -> CoreResult:
        window, context = window_of_user(window), TriggerContext(ctx)
        return CoreResult[self._trigger.on_element(element, timestamp, window, context).name]

    def onProcessingTime(self, time: int, window: Any, ctx: Any) -> CoreResult:
        window, context = window_of_user(window), TriggerContext(ctx)
        return CoreResult[self._trigger.on_processing_time(time, window, context).name]

    def onEventTime(self, time: int, window: Any, ctx: Any) -> CoreResult:
        window, context = window_of_user(window), TriggerContext(ctx)
        return CoreResult[self._trigger.on_event_time(time, window, context).name]

    def canMerge(self) -> bool:
        return self._trigger.can_merge()

    def onMerge(self, window: Any, ctx: core_triggers.OnMergeContext) -> None:
        self._trigger.on_merge(window_of_user(window), OnMergeContext(ctx))

    def clear(self, window: Any, ctx: core_triggers.TriggerContext) -> None:
        self._trigger.clear(window_of_user(window), TriggerContext(ctx))


class BuiltInTrigger(Trigger):
    """A trigger of flinkish's own, whose hooks another trigger may call."""

    def __init__(self, trigger: core_triggers.Trigger[Any, Any]) -> None:
        self._core = trigger

    @property
    def core(self) -> core_triggers.Trigger[Any, Any]:
        return self._core

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult[self._core.onElement(element, timestamp, window, ctx.core).name]

    def on_processing_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult[self._core.onProcessingTime(time, window, ctx.core).name]

    def on_event_time(self, time: int, window: Any, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult[self._core.onEventTime(time, window, ctx.core).name]

    def can_merge(self) -> bool:
        return self._core.canMerge()

    def on_merge(self, window: Any, ctx: OnMergeContext) -> None:
        context: Any = ctx.core
        self._core.onMerge(window, context)

    def clear(self, window: Any, ctx: TriggerContext) -> None:
        self._core.clear(window, ctx.core)


class EventTimeTrigger(BuiltInTrigger):
    """Fires when the watermark passes the end of the window."""

    def __init__(self) -> None:
        super().__init__(core_triggers.EventTimeTrigger.create())

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()


class ProcessingTimeTrigger(BuiltInTrigger):
    """Fires when the clock passes the end of the window."""

    def __init__(self) -> None:
        super().__init__(core_triggers.ProcessingTimeTrigger.create())

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()


class _ContinuousTrigger(BuiltInTrigger):
    """Base of the triggers that fire at every interval."""

    _kind: ClassVar[Any]

    def __init__(self, interval: int) -> None:
        super().__init__(self._kind.of(interval))

    @classmethod
    def of(cls, interval: Time) -> Self:
        """The trigger of that interval."""
        return cls(millis_of_time(f"{cls.__name__}: interval", interval))


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of event time, and at the end of the window."""

    _kind = core_triggers.ContinuousEventTimeTrigger


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of processing time, and at the end of the window."""

    _kind = core_triggers.ContinuousProcessingTimeTrigger


class CountTrigger(BuiltInTrigger):
    """Fires after every ``window_size`` elements."""

    def __init__(self, window_size: int) -> None:
        super().__init__(core_triggers.CountTrigger.of(window_size))

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """A trigger that fires after every ``window_size`` elements."""
        return CountTrigger(window_size)


class PurgingTrigger(BuiltInTrigger):
    """Fires when its nested trigger does, and then drops the elements."""

    def __init__(self, nested_trigger: Trigger) -> None:
        fix = "Pass one such as CountTrigger.of(3)."
        given = instance("PurgingTrigger", nested_trigger, Trigger, fix)
        super().__init__(core_triggers.PurgingTrigger.of(given.core))

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        """``nested_trigger``, but purging whenever it fires."""
        return PurgingTrigger(nested_trigger)


class NeverTrigger(BuiltInTrigger):
    """Never fires."""

    def __init__(self) -> None:
        super().__init__(core_triggers.NeverTrigger())


# ---------------------------------------------------------------------- assigners


class WindowAssignerContext(AbsentMethods):
    """The clock for an assigner (PyFlink: ``WindowAssigner.WindowAssignerContext``)."""

    def __init__(self, context: core_assigners.WindowAssignerContext) -> None:
        self.core = context
        """The context for flinkish's own assigners."""

    def get_current_processing_time(self) -> int:
        """The processing-time clock."""
        return self.core.getCurrentProcessingTime()


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns elements to windows (PyFlink: ``WindowAssigner``)."""

    WindowAssignerContext: TypeAlias = WindowAssignerContext

    @property
    def core(self) -> core_assigners.WindowAssigner[Any, Any]:
        """The assigner for flinkish's own streams."""
        return AssignerAdapter(self)

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger:
        """The trigger to use unless another is set."""

    def get_window_serializer(self) -> Any:
        """Not needed: windows are pickled."""
        return None

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows end by the watermark."""


class MergeCallback:
    """Receives merges (PyFlink: ``MergingWindowAssigner.MergeCallback``)."""

    def __init__(self, callback: core_assigners.MergeCallback[Any]) -> None:
        self.core = callback
        """The callback for flinkish's own windows."""

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        """Replace those windows by ``merge_result``."""
        self.core.merge(to_be_merged, merge_result)


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may merge (PyFlink: ``MergingWindowAssigner``)."""

    MergeCallback: TypeAlias = MergeCallback

    @property
    def core(self) -> core_assigners.WindowAssigner[Any, Any]:
        return MergingAssignerAdapter(self)

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback) -> None:
        """Call ``callback.merge`` for windows that must become one."""


class AssignerAdapter(core_assigners.WindowAssigner[Any, Any]):
    """An assigner defined by a job."""

    def __init__(self, assigner: WindowAssigner) -> None:
        self._assigner: Any = shippable(assigner)

    def assignWindows(
        self, element: Any, timestamp: int, context: core_assigners.WindowAssignerContext
    ) -> Collection[Any]:
        found = self._assigner.assign_windows(element, timestamp, WindowAssignerContext(context))
        return list(found)

    def getDefaultTrigger(self) -> core_triggers.Trigger[Any, Any]:
        trigger: Trigger = self._assigner.get_default_trigger(None)
        return trigger.core

    def isEventTime(self) -> bool:
        return bool(self._assigner.is_event_time())


class MergingAssignerAdapter(AssignerAdapter, core_assigners.MergingWindowAssigner[Any, Any]):
    """An assigner of merging windows, defined by a job."""

    def mergeWindows(
        self, windows: Sequence[Any], callback: core_assigners.MergeCallback[Any]
    ) -> None:
        seen = [window_of_user(window) for window in windows]
        self._assigner.merge_windows(seen, MergeCallback(callback))


class BuiltInAssigner(WindowAssigner):
    """An assigner of flinkish's own, whose hooks another assigner may call."""

    def __init__(self, assigner: core_assigners.WindowAssigner[Any, Any]) -> None:
        self._core = assigner

    @property
    def core(self) -> core_assigners.WindowAssigner[Any, Any]:
        return self._core

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssignerContext
    ) -> Collection[Any]:
        found = self._core.assignWindows(element, timestamp, context.core)
        return [window_of_user(window) for window in found]

    def get_default_trigger(self, env: Any) -> Trigger:
        return BuiltInTrigger(self._core.getDefaultTrigger())

    def is_event_time(self) -> bool:
        return self._core.isEventTime()

    def __repr__(self) -> str:
        return repr(self._core)


def _offset(subject: str, offset: Time | None) -> int:
    return 0 if offset is None else millis_of_time(f"{subject}: offset", offset)


class _TumblingWindows(BuiltInAssigner):
    """Base of the tumbling windows by either time."""

    _kind: ClassVar[Any]

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(self._kind.of(size, offset))

    @classmethod
    def of(cls, size: Time, offset: Time | None = None) -> Self:
        """Windows of that size."""
        name = cls.__name__
        return cls(millis_of_time(f"{name}: size", size), _offset(name, offset))


class TumblingEventTimeWindows(_TumblingWindows):
    """Tumbling windows by timestamps."""

    _kind = core_assigners.TumblingEventTimeWindows


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Tumbling windows by the clock."""

    _kind = core_assigners.TumblingProcessingTimeWindows


class _SlidingWindows(BuiltInAssigner):
    """Base of the sliding windows by either time."""

    _kind: ClassVar[Any]

    def __init__(self, size: int, slide: int, offset: int) -> None:
        super().__init__(self._kind.of(size, slide, offset))

    @classmethod
    def of(cls, size: Time, slide: Time, offset: Time | None = None) -> Self:
        """Windows of that size and slide."""
        name = cls.__name__
        length = millis_of_time(f"{name}: size", size)
        return cls(length, millis_of_time(f"{name}: slide", slide), _offset(name, offset))


class SlidingEventTimeWindows(_SlidingWindows):
    """Sliding windows by timestamps."""

    _kind = core_assigners.SlidingEventTimeWindows


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Sliding windows by the clock."""

    _kind = core_assigners.SlidingProcessingTimeWindows


class SessionWindowTimeGapExtractor(ABC):
    """Reads the session gap from an element, in ms (PyFlink: ``SessionWindowTimeGapExtractor``)."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap after ``element``."""


def _gap(extractor: SessionWindowTimeGapExtractor) -> Callable[[Any], int]:
    if not hasattr(extractor, "extract"):
        fix = "Derive a class from it with extract(element), and pass an object."
        instance("with_dynamic_gap", extractor, SessionWindowTimeGapExtractor, fix)
    return shippable(extractor).extract


class SessionAssigner(BuiltInAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """An assigner of sessions."""

    _kind: ClassVar[Any]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        TimeWindow.merge_windows(windows, callback)


class _SessionWindows(SessionAssigner):
    """Base of the session windows by either time, with one gap."""

    def __init__(self, session_gap: int) -> None:
        super().__init__(self._kind.withGap(session_gap))

    @classmethod
    def with_gap(cls, size: Time) -> Self:
        """Windows with that gap."""
        return cls(millis_of_time(f"{cls.__name__}: gap", size))


class _DynamicSessionWindows(SessionAssigner):
    """Base of the session windows by either time, with a gap read from each element."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        super().__init__(self._kind.withDynamicGap(_gap(session_window_time_gap_extractor)))

    @classmethod
    def with_dynamic_gap(cls, extractor: SessionWindowTimeGapExtractor) -> Self:
        """Windows whose gap depends on the element."""
        return cls(extractor)


class DynamicEventTimeSessionWindows(_DynamicSessionWindows):
    """Session windows by timestamps, with a gap read from each element."""

    _kind = core_assigners.EventTimeSessionWindows


class DynamicProcessingTimeSessionWindows(_DynamicSessionWindows):
    """Session windows by the clock, with a gap read from each element."""

    _kind = core_assigners.ProcessingTimeSessionWindows


class EventTimeSessionWindows(_SessionWindows):
    """Session windows by timestamps."""

    _kind = core_assigners.EventTimeSessionWindows
    with_dynamic_gap = DynamicEventTimeSessionWindows.with_dynamic_gap


class ProcessingTimeSessionWindows(_SessionWindows):
    """Session windows by the clock."""

    _kind = core_assigners.ProcessingTimeSessionWindows
    with_dynamic_gap = DynamicProcessingTimeSessionWindows.with_dynamic_gap


class GlobalWindows(BuiltInAssigner):
    """One window for all elements, which fires only by a trigger."""

    def __init__(self) -> None:
        super().__init__(core_assigners.GlobalWindows.create())

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()


class CountSlidingWindowAssigner(BuiltInAssigner):
    """Windows of ``window_size`` elements of a key, a new one every ``window_slide`` elements
    (PyFlink: the class of this name).

    They fire when they are full; a trigger cannot be set.
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(core_assigners.GlobalWindows.create())
        self.window_size = window_size
        self.window_slide = window_slide

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of that size and slide."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.window_size}, {self.window_slide})"


class CountTumblingWindowAssigner(CountSlidingWindowAssigner):
    """Windows of ``window_size`` elements of a key, one after the other (PyFlink: the class of this
    name)."""

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, window_size)

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:  # type: ignore[override]
        """Windows of that size."""
        return CountTumblingWindowAssigner(window_size)


__getattr__ = absent_names(__name__)
