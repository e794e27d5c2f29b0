"""``Trigger``: decides when the contents of a window go to the window function.

An assigner says which windows an element belongs to; a trigger says when such a window *fires*. A window
may fire more than once: early, at its end, and again for late elements. The operator asks the trigger
at four moments, always for one key and one window:

- ``onElement``, for each element added to the window;
- ``onEventTime`` and ``onProcessingTime``, when a timer that the trigger registered is due;
- ``onMerge``, when windows of a ``MergingWindowAssigner``, such as sessions, become one;
- ``clear``, when the window is removed.

The first two answer with a ``TriggerResult``. FIRE emits the contents and keeps them, so the next
firing has them again; PURGE drops the contents. Neither touches timers or the trigger's own state.

An example: windows of an hour that emit every 10 minutes the elements added since the last firing.

>>> from flinkish import ContinuousEventTimeTrigger, Duration, PurgingTrigger
>>> PurgingTrigger.of(ContinuousEventTimeTrigger.of(Duration.ofMinutes(10)))
PurgingTrigger(ContinuousEventTimeTrigger(600000))
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import add
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Union

from flinkish.api.arguments import instance, integer, milliseconds, number, positive_length
from flinkish.api.errors import MissingTimestampError, NotSupportedError
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Function, declares_methods
from flinkish.api.functions.state import (
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueStateDescriptor,
)
from flinkish.api.metrics import MetricGroup
from flinkish.api.time.durations import TimeLike, remainder, to_long
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.api.type_variables import T, T_contra, X
from flinkish.api.types.type_info import TypeInformation
from flinkish.api.windowing.windows import TimeWindow, W, W_contra, Window

if TYPE_CHECKING:
    from flinkish.api.windowing.assigners import WindowAssigner

S = TypeVar("S", bound=State)
V = TypeVar("V", bound=Window)


class TriggerResult(enum.Enum):
    """A trigger's decision about the contents of a window (Flink: ``TriggerResult``)."""

    CONTINUE = (False, False)
    """Do nothing."""
    FIRE_AND_PURGE = (True, True)
    """Hand the contents to the window function, then drop them."""
    FIRE = (True, False)
    """Hand the contents to the window function and keep them."""
    PURGE = (False, True)
    """Drop the contents."""

    def isFire(self) -> bool:
        """Whether the contents are handed to the window function."""
        return self.value[0]

    def isPurge(self) -> bool:
        """Whether the contents are dropped."""
        return self.value[1]


class TriggerContext(ABC):
    """Time, timers and state for a trigger, all of the current key and window
    (Flink: ``Trigger.TriggerContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The processing-time clock, in ms; on Spark the timestamp of the batch."""

    @abstractmethod
    def getCurrentWatermark(self) -> int:
        """The current watermark of the operator, in ms."""

    @abstractmethod
    def getMetricGroup(self) -> MetricGroup:
        """The metrics of the window operator."""

    @abstractmethod
    def registerProcessingTimeTimer(self, time: int) -> None:
        """Have ``onProcessingTime`` called when the clock reaches ``time`` (ms)."""

    @abstractmethod
    def registerEventTimeTimer(self, time: int) -> None:
        """Have ``onEventTime`` called when the watermark reaches ``time`` (ms)."""

    @abstractmethod
    def deleteProcessingTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is registered."""

    @abstractmethod
    def deleteEventTimeTimer(self, time: int) -> None:
        """Delete the timer, if it is registered."""

    @abstractmethod
    def getPartitionedState(self, stateDescriptor: StateDescriptor[T, S]) -> S:
        """The state that ``stateDescriptor`` names, of the current key and window. It is checkpointed;
        clear it in ``clear``."""


class OnMergeContext(TriggerContext):
    """The context of ``onMerge``, which can also merge state (Flink: ``Trigger.OnMergeContext``)."""

    __slots__ = ()

    @abstractmethod
    def mergePartitionedState(self, stateDescriptor: StateDescriptor[Any]) -> None:
        """Merge the state of the merged windows into that of the new window.

        Only list, reducing and aggregating state can be merged; any other raises
        InvalidProgramError.
        """


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Decides when a window fires (Flink: ``Trigger``).

    One instance serves all keys and windows, so nothing about a window may be kept in attributes:
    use ``ctx.getPartitionedState`` instead.

    >>> class EveryElement(Trigger[object, Window]):
    ...     def onElement(self, element, timestamp, window, ctx):
    ...         return TriggerResult.FIRE
    ...     def onProcessingTime(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def onEventTime(self, time, window, ctx):
    ...         return TriggerResult.CONTINUE
    ...     def clear(self, window, ctx):
    ...         pass
    """

    @abstractmethod
    def onElement(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: TriggerContext
    ) -> TriggerResult:
        """Called for every element, after it was added to ``window``.

        ``timestamp`` is ``MIN_TIMESTAMP`` if the element has none, as in Flink.
        """

    @abstractmethod
    def onProcessingTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when a processing-time timer of this window is due; ``time`` is the timer's, in ms."""

    @abstractmethod
    def onEventTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when an event-time timer of this window is due; ``time`` is the timer's, in ms."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: TriggerContext) -> None:
        """Called when ``window`` is removed: delete its timers and state here.

        A purge drops only the contents and does not call it.
        """

    def canMerge(self) -> bool:
        """Whether the trigger supports windows that merge, such as sessions. If so, override
        ``onMerge``."""
        return False

    def onMerge(self, window: W_contra, ctx: OnMergeContext) -> None:
        """Called after several windows were merged into ``window``: merge their state, and register
        the timers that ``window`` needs. ``clear`` is called for each of the merged windows
        afterwards."""
        raise NotSupportedError(
            f"{type(self).__name__} does not support merging. Implement canMerge() and onMerge(),"
            " or use a window assigner that does not merge."
        )

    def windowType(self) -> type[Window]:
        """The class of windows that the trigger works on. A job whose assigner makes other windows is
        refused when it is built; in Flink it fails at the first element."""
        return Window

    def checkWindows(self, assigner: WindowAssigner[Any, Any], allowedLateness: int) -> None:
        """Called when the job is built: raise InvalidProgramError if the trigger does not support
        the windows of ``assigner`` with that ``allowedLateness`` (ms). By default it does."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class QuietTrigger(Trigger[T_contra, W_contra]):
    """Base of the triggers for which most timers mean nothing."""

    def onProcessingTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE


class EventTimeTrigger(QuietTrigger[object, TimeWindow]):
    """Fires when the watermark passes the end of the window, and again for each late element (Flink:
    ``EventTimeTrigger``).

    A late element is one that comes after that, within the allowed lateness; the whole window then
    fires again. This is the default of event-time windows, so you name it only inside another:

    >>> from flinkish import EventTimeTrigger, PurgingTrigger
    >>> trigger = PurgingTrigger.of(EventTimeTrigger.create())
    """

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        end = window.maxTimestamp()
        if end <= ctx.getCurrentWatermark():
            return TriggerResult.FIRE
        ctx.registerEventTimeTimer(end)
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.maxTimestamp() else TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(window.maxTimestamp())

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        # A window that ended already fires with the late element that caused the merge
        if window.maxTimestamp() > ctx.getCurrentWatermark():
            ctx.registerEventTimeTimer(window.maxTimestamp())

    def windowType(self) -> type[Window]:
        return TimeWindow


class ProcessingTimeTrigger(QuietTrigger[object, TimeWindow]):
    """Fires when the clock passes the end of the window (Flink: ``ProcessingTimeTrigger``).

    On Spark that is the first batch whose timestamp is at or after the window's last ms. This is
    the default of processing-time windows.
    """

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def onElement(
        self, element: object, timestamp: int, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerProcessingTimeTimer(window.maxTimestamp())
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.deleteProcessingTimeTimer(window.maxTimestamp())

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: TimeWindow, ctx: OnMergeContext) -> None:
        if window.maxTimestamp() > ctx.getCurrentProcessingTime():
            ctx.registerProcessingTimeTimer(window.maxTimestamp())

    def windowType(self) -> type[Window]:
        return TimeWindow


_FIRE_TIME = ReducingStateDescriptor[int]("fire-time", min)
"""The next time to fire at, for which a timer is registered; merged windows keep the earliest."""


class _ContinuousTrigger(QuietTrigger[object, Window]):
    """Fires every interval and at the end of the window, in the time domain of the subclass."""

    def __init__(self, interval: int) -> None:
        self._interval = interval

    @classmethod
    def of(cls, interval: TimeLike) -> Self:
        """A trigger that fires at every multiple of ``interval`` since the epoch (ms if an int).

        Raises IllegalArgumentError unless ``interval`` is above 0.
        """
        return cls(positive_length(f"{cls.__name__}: interval", interval))

    def getInterval(self) -> int:
        """The interval in ms."""
        return self._interval

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        # The timer at the end of the window stays, as in Flink: a removed window fires nothing
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        time = fire_time.get()
        if time is not None:
            self._delete(time, ctx)
            fire_time.clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(_FIRE_TIME)
        time = ctx.getPartitionedState(_FIRE_TIME).get()
        if time is not None:
            self._register(time, ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._interval})"

    def _begin(self, time: int, window: Window, ctx: TriggerContext) -> None:
        """Start the intervals of a window with its first element, which came at ``time``."""
        if ctx.getPartitionedState(_FIRE_TIME).get() is None:
            self._register_next(time - remainder(time, self._interval), window, ctx)

    def _fire_at(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        """The result for a timer of the window that is due at ``time``."""
        if time == window.maxTimestamp():
            return TriggerResult.FIRE
        fire_time = ctx.getPartitionedState(_FIRE_TIME)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self._register_next(time, window, ctx)
        return TriggerResult.FIRE

    def _register_next(self, time: int, window: Window, ctx: TriggerContext) -> None:
        following = min(time + self._interval, window.maxTimestamp())
        ctx.getPartitionedState(_FIRE_TIME).add(following)
        self._register(following, ctx)

    @abstractmethod
    def _register(self, time: int, ctx: TriggerContext) -> None:
        """Register a timer."""

    @abstractmethod
    def _delete(self, time: int, ctx: TriggerContext) -> None:
        """Delete a timer."""


class ContinuousEventTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of event time, and when the watermark passes the end of the window
    (Flink: ``ContinuousEventTimeTrigger``).

    The first element of a window registers the next multiple of the interval after its timestamp:
    with an interval of 60 s, an element at 0:00:42 registers 0:01:00. Each firing registers the
    next one, but none after the end of the window.

    >>> from flinkish import Time
    >>> ContinuousEventTimeTrigger.of(Time.minutes(1))
    ContinuousEventTimeTrigger(60000)
    """

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        if window.maxTimestamp() <= ctx.getCurrentWatermark():
            return TriggerResult.FIRE
        ctx.registerEventTimeTimer(window.maxTimestamp())
        if timestamp == MIN_TIMESTAMP:
            raise MissingTimestampError("ContinuousEventTimeTrigger", element)
        self._begin(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fire_at(time, window, ctx)

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.registerEventTimeTimer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.deleteEventTimeTimer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger):
    """Fires at every interval of processing time, and when the clock passes the end of the window
    (Flink: ``ContinuousProcessingTimeTrigger``).

    On Spark that is the first batch whose timestamp has reached the time.
    """

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        self._begin(ctx.getCurrentProcessingTime(), window, ctx)
        return TriggerResult.CONTINUE

    def onProcessingTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fire_at(time, window, ctx)

    def _register(self, time: int, ctx: TriggerContext) -> None:
        ctx.registerProcessingTimeTimer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.deleteProcessingTimeTimer(time)


COUNT = ReducingStateDescriptor[int]("count", add)
"""The number of elements of a window since it last fired."""


class CountTrigger(QuietTrigger[object, Window]):
    """Fires after every ``maxCount`` elements of a window (Flink: ``CountTrigger``).

    It does not fire at the end of the window: a window removed with fewer elements than
    ``maxCount`` since the last firing emits nothing for them. Without ``PurgingTrigger`` each
    firing emits all elements so far.

    >>> from flinkish import GlobalWindows
    >>> from flinkish.testing import StreamTestHarness
    >>> harness = StreamTestHarness(
    ...     lambda numbers: numbers.windowAll(GlobalWindows.create())
    ...     .trigger(PurgingTrigger.of(CountTrigger.of(2)))
    ...     .reduce(lambda a, b: a + b)
    ... )
    >>> for number in (1, 2, 3, 4, 5):
    ...     harness.processElement(number)
    >>> [record.value for record in harness.getOutput()]
    [3, 7]
    """

    def __init__(self, maxCount: int) -> None:
        self._max_count = integer("CountTrigger: maxCount", maxCount)

    @staticmethod
    def of(maxCount: int) -> CountTrigger:
        """A trigger that fires every ``maxCount`` elements of a window."""
        return CountTrigger(maxCount)

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        count = ctx.getPartitionedState(COUNT)
        count.add(1)
        if (count.get() or 0) >= self._max_count:
            count.clear()
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.getPartitionedState(COUNT).clear()

    def canMerge(self) -> bool:
        return True

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.mergePartitionedState(COUNT)

    def __repr__(self) -> str:
        return f"CountTrigger({self._max_count})"


@declares_methods
class DeltaFunction(Function, ABC, Generic[T_contra]):
    """Measures the distance between two elements (Flink: ``DeltaFunction``)."""

    @abstractmethod
    def getDelta(self, oldDataPoint: T_contra, newDataPoint: T_contra) -> float:
        """The distance between ``oldDataPoint`` and ``newDataPoint``."""


DeltaLike = Union[DeltaFunction[T], Callable[[T, T], float]]


def delta_call(owner: str, function: DeltaLike[T]) -> Callable[[T, T], float]:
    """``function`` as a callable; raises InvalidProgramError, which names ``owner``."""
    if isinstance(function, DeltaFunction):
        return function.getDelta
    return checked_callable(owner, function, "a DeltaFunction or f(old, new)", 2)


class DeltaTrigger(QuietTrigger[T, Window], Generic[T]):
    """Fires at an element whose distance from the last one that fired exceeds a threshold
    (Flink: ``DeltaTrigger``).

    The first element of a window only sets the point to measure from. With a threshold of 10 and
    the distance ``new - old``, the elements 1, 5, 12, 20, 23 fire at 12 (11 from 1) and at 23 (11
    from 12). It does not support windows that merge.
    """

    def __init__(
        self,
        threshold: float,
        deltaFunction: DeltaLike[T],
        stateType: TypeInformation[T] | None = None,
    ) -> None:
        self._threshold = number("DeltaTrigger: threshold", threshold)
        self._function = deltaFunction
        self._delta = delta_call("DeltaTrigger", deltaFunction)
        self._last_element = ValueStateDescriptor[T]("last-element", stateType)

    @staticmethod
    def of(
        threshold: float,
        deltaFunction: DeltaLike[X],
        stateType: TypeInformation[X] | None = None,
    ) -> DeltaTrigger[X]:
        """A trigger that fires where ``deltaFunction`` returns more than ``threshold``.

        ``deltaFunction`` is a DeltaFunction or ``f(old, new)``. ``stateType`` is the type of the
        element kept in state; None: it is pickled.
        """
        return DeltaTrigger(threshold, deltaFunction, stateType)

    def onElement(
        self, element: T, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        state = ctx.getPartitionedState(self._last_element)
        last = state.value()
        if last is None:
            state.update(element)
            return TriggerResult.CONTINUE
        if self._delta(last, element) > self._threshold:
            state.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.getPartitionedState(self._last_element).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._function!r}, {self._threshold})"


_TIMEOUT = ValueStateDescriptor[int]("timeout")


class ProcessingTimeoutTrigger(Trigger[T, W], Generic[T, W]):
    """Fires when its nested trigger fires, or when a timeout in processing time has passed since the
    first element, or the last (Flink: ``ProcessingTimeoutTrigger``).

    So ``ProcessingTimeoutTrigger.of(CountTrigger.of(100), Duration.ofSeconds(5))`` emits batches of
    100 elements, and an incomplete one no later than 5 s after its first element.

    As in Flink every timer of the window counts as the timeout, also one that the nested trigger
    registered: it fires, and purges if the nested trigger says so. It does not support windows
    that merge.
    """

    def __init__(
        self,
        nestedTrigger: Trigger[T, W],
        interval: TimeLike,
        resetTimerOnNewRecord: bool,
        shouldClearOnTimeout: bool,
    ) -> None:
        fix = "Pass the one to give a timeout, such as CountTrigger.of(3)."
        self._nested = instance("ProcessingTimeoutTrigger", nestedTrigger, Trigger, fix)
        self._interval = milliseconds("ProcessingTimeoutTrigger: timeout", interval)
        self._reset = resetTimerOnNewRecord
        self._clear_on_timeout = shouldClearOnTimeout

    @staticmethod
    def of(
        nestedTrigger: Trigger[X, V],
        timeout: TimeLike,
        resetTimerOnNewRecord: bool = False,
        shouldClearOnTimeout: bool = True,
    ) -> ProcessingTimeoutTrigger[X, V]:
        """``nestedTrigger`` with a ``timeout`` (ms if an int) in processing time.

        ``resetTimerOnNewRecord`` measures it from the last element instead of the first.
        ``shouldClearOnTimeout`` clears the state of ``nestedTrigger`` at the timeout.
        """
        return ProcessingTimeoutTrigger(
            nestedTrigger, timeout, resetTimerOnNewRecord, shouldClearOnTimeout
        )

    def onElement(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        result = self._nested.onElement(element, timestamp, window, ctx)
        if result.isFire():
            self.clear(window, ctx)
            return result
        state = ctx.getPartitionedState(_TIMEOUT)
        timeout = state.value()
        if timeout is not None and self._reset:
            ctx.deleteProcessingTimeTimer(timeout)
            state.clear()
            timeout = None
        if timeout is None:
            timeout = to_long(ctx.getCurrentProcessingTime() + self._interval)
            state.update(timeout)
            ctx.registerProcessingTimeTimer(timeout)
        return result

    def onProcessingTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return self._timed_out(self._nested.onProcessingTime(time, window, ctx), window, ctx)

    def onEventTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return self._timed_out(self._nested.onEventTime(time, window, ctx), window, ctx)

    def clear(self, window: W, ctx: TriggerContext) -> None:
        state = ctx.getPartitionedState(_TIMEOUT)
        timeout = state.value()
        if timeout is not None:
            ctx.deleteProcessingTimeTimer(timeout)
            state.clear()
        self._nested.clear(window, ctx)

    def windowType(self) -> type[Window]:
        return self._nested.windowType()

    def _timed_out(self, nested: TriggerResult, window: W, ctx: TriggerContext) -> TriggerResult:
        if self._clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.isPurge() else TriggerResult.FIRE

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self._nested!r})"


class PurgingTrigger(Trigger[T, W], Generic[T, W]):
    """Turns each FIRE of its nested trigger into FIRE_AND_PURGE, so that no element is emitted twice
    (Flink: ``PurgingTrigger``)."""

    def __init__(self, nestedTrigger: Trigger[T, W]) -> None:
        fix = "Pass the one to purge after, such as CountTrigger.of(3)."
        self._nested = instance("PurgingTrigger", nestedTrigger, Trigger, fix)

    @staticmethod
    def of(nestedTrigger: Trigger[X, V]) -> PurgingTrigger[X, V]:
        """``nestedTrigger``, but purging whenever it fires."""
        return PurgingTrigger(nestedTrigger)

    def getNestedTrigger(self) -> Trigger[T, W]:
        """The nested trigger."""
        return self._nested

    def onElement(
        self, element: T, timestamp: int, window: W, ctx: TriggerContext
    ) -> TriggerResult:
        return _purging(self._nested.onElement(element, timestamp, window, ctx))

    def onProcessingTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return _purging(self._nested.onProcessingTime(time, window, ctx))

    def onEventTime(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        return _purging(self._nested.onEventTime(time, window, ctx))

    def clear(self, window: W, ctx: TriggerContext) -> None:
        self._nested.clear(window, ctx)

    def canMerge(self) -> bool:
        return self._nested.canMerge()

    def onMerge(self, window: W, ctx: OnMergeContext) -> None:
        self._nested.onMerge(window, ctx)

    def windowType(self) -> type[Window]:
        return self._nested.windowType()

    def __repr__(self) -> str:
        return f"PurgingTrigger({self._nested!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.isFire() else result


class NeverTrigger(QuietTrigger[object, Window]):
    """Never fires, the default of ``GlobalWindows`` (Flink: ``GlobalWindows.NeverTrigger``)."""

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        pass

    def onMerge(self, window: Window, ctx: OnMergeContext) -> None:
        pass


class EndOfStreamTrigger(NeverTrigger):
    """Fires once, at the end of the input (Flink: ``GlobalWindows.EndOfStreamTrigger``)."""

    def onElement(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.registerEventTimeTimer(window.maxTimestamp())
        return TriggerResult.CONTINUE

    def onEventTime(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.maxTimestamp() else TriggerResult.CONTINUE
