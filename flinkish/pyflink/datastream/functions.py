"""The functions that a PyFlink job defines, and the contexts that they are called with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable
from typing import Any, Generic, TypeAlias

from typing_extensions import TypeVar

from flinkish.api.functions.broadcast import BroadcastContext as CoreBroadcastContext
from flinkish.api.functions.broadcast import (
    BroadcastReadOnlyContext as CoreBroadcastReadOnlyContext,
)
from flinkish.api.functions.process import ProcessContext as CoreProcessContext
from flinkish.api.functions.runtime_context import KeyedStateStore as CoreStateStore
from flinkish.api.functions.runtime_context import RuntimeContext as CoreRuntimeContext
from flinkish.api.functions.window import WindowContext as CoreWindowContext
from flinkish.api.windowing.windows import Window
from flinkish.pyflink.absent import AbsentMethods, absent_names
from flinkish.pyflink.datastream.async_retry_strategies import (
    AsyncRetryPredicate as AsyncRetryPredicate,
)
from flinkish.pyflink.datastream.async_retry_strategies import (
    AsyncRetryStrategy as AsyncRetryStrategy,
)
from flinkish.pyflink.datastream.keys import key_of_user
from flinkish.pyflink.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from flinkish.pyflink.datastream.time_domain import TimeDomain
from flinkish.pyflink.datastream.timerservice import TimerService
from flinkish.pyflink.datastream.window import window_of_user
from flinkish.pyflink.metrics import MetricGroup

IN = TypeVar("IN", default=Any)
IN1 = TypeVar("IN1", default=Any)
IN2 = TypeVar("IN2", default=Any)
OUT = TypeVar("OUT", default=Any)
KEY = TypeVar("KEY", default=Any)
W = TypeVar("W", bound=Window, default=Any)
W2 = TypeVar("W2", bound=Window, default=Any)


class KeyedStateStore:
    """Gives access to keyed state (PyFlink: ``KeyedStateStore``)."""

    def __init__(self, store: CoreStateStore) -> None:
        self._store = store

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """The value state of that descriptor."""
        state = self._store.getState(state_descriptor.core)
        return ValueState(state, state_descriptor.type_info)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """The list state of that descriptor."""
        state = self._store.getListState(state_descriptor.core)
        return ListState(state, state_descriptor.type_info)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """The map state of that descriptor."""
        return MapState(self._store.getMapState(state_descriptor.core), state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """The reducing state of that descriptor."""
        state = self._store.getReducingState(state_descriptor.core)
        return ReducingState(state, state_descriptor.type_info)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """The aggregating state of that descriptor."""
        return AggregatingState(self._store.getAggregatingState(state_descriptor.core))


class RuntimeContext(KeyedStateStore):
    """State, metrics and the task of a function (PyFlink: ``RuntimeContext``)."""

    def __init__(self, context: CoreRuntimeContext, job_parameters: dict[str, str]) -> None:
        super().__init__(context)
        self._context = context
        self._job_parameters = job_parameters

    def get_task_name(self) -> str:
        """The name of the task."""
        return self._context.getTaskInfo().getTaskName()

    def get_number_of_parallel_subtasks(self) -> int:
        """The number of subtasks of the operator."""
        return self._context.getTaskInfo().getNumberOfParallelSubtasks()

    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups."""
        return self._context.getTaskInfo().getMaxNumberOfParallelSubtasks()

    def get_index_of_this_subtask(self) -> int:
        """The number of the subtask, from 0."""
        return self._context.getTaskInfo().getIndexOfThisSubtask()

    def get_attempt_number(self) -> int:
        """The number of the attempt, from 0."""
        return self._context.getTaskInfo().getAttemptNumber()

    def get_task_name_with_subtasks(self) -> str:
        """The name of the task with its number."""
        return self._context.getTaskInfo().getTaskNameWithSubtasks()

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """The global job parameter of that key, ``default_value`` if there is none."""
        return self._job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        """The metrics of the operator."""
        return MetricGroup(self._context.getMetricGroup())


class Function(ABC):
    """The base of all functions (PyFlink: ``Function``)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before the first element."""

    def close(self) -> None:
        """Called after the last element."""


class MapFunction(Function):
    """Turns each element into one result."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The result for ``value``."""


class CoMapFunction(Function):
    """Turns each element of two streams into one result."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The result for ``value`` of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The result for ``value`` of the second stream."""


class FlatMapFunction(Function):
    """Turns each element into any number of results."""

    @abstractmethod
    def flat_map(self, value: Any) -> Any:
        """Return or yield the results for ``value``."""


class CoFlatMapFunction(Function):
    """Turns each element of two streams into any number of results."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Any:
        """Return or yield the results for ``value`` of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Any:
        """Return or yield the results for ``value`` of the second stream."""


class ReduceFunction(Function):
    """Combines two elements into one."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """The combination of both."""


class AggregateFunction(Function):
    """Aggregates elements in an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """A new accumulator."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The accumulator with ``value``."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result for the accumulator."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Both accumulators combined into one."""


class KeySelector(Function):
    """Extracts the key of an element."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key of ``value``."""


class NullByteKeySelector(KeySelector):
    """One key for all elements."""

    def get_key(self, value: Any) -> Any:
        return 0


class FilterFunction(Function):
    """Decides which elements to keep."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """True to keep ``value``."""


class Partitioner(Function):
    """Selects the task that an element is sent to."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The index of the task."""


class SourceFunction:
    """A source in Java, which flinkish cannot run."""


class SinkFunction:
    """A sink in Java, which flinkish cannot run."""


# ---------------------------------------------------------------------- process functions


class _Context(AbsentMethods):
    """Base of the contexts of elements and timers."""

    def __init__(
        self, context: CoreProcessContext | CoreBroadcastContext | CoreBroadcastReadOnlyContext
    ) -> None:
        self._context: Any = context

    def timestamp(self) -> int:
        """The timestamp of the element or timer, None if it has none."""
        timestamp: int = self._context.timestamp()
        return timestamp


class ElementContext(_Context):
    """The context of an element (PyFlink: ``ProcessFunction.Context``)."""

    def timer_service(self) -> TimerService:
        """The current times and the timers."""
        return TimerService(self._context.timerService())


class KeyedElementContext(ElementContext):
    """The context of an element with a key (PyFlink: ``KeyedProcessFunction.Context``)."""

    def get_current_key(self) -> Any:
        """The key."""
        return key_of_user(self._context.getCurrentKey())


class KeyedTimerContext(KeyedElementContext):
    """The context of a timer (PyFlink: ``KeyedProcessFunction.OnTimerContext``)."""

    def time_domain(self) -> TimeDomain:
        """The time domain of the timer."""
        return TimeDomain[self._context.timeDomain().name]


class ProcessFunction(Function):
    """Turns each element into any number of results, in the main output and in side outputs."""

    Context: TypeAlias = ElementContext

    @abstractmethod
    def process_element(self, value: Any, ctx: ElementContext) -> Any:
        """Yield results, and ``(tag, value)`` for a side output."""


class _KeyedFunction(Function):
    """Base of the process functions with keyed state and timers."""

    Context: TypeAlias = KeyedElementContext
    OnTimerContext: TypeAlias = KeyedTimerContext

    def on_timer(self, timestamp: int, ctx: KeyedTimerContext) -> Any:
        """Called when a timer is due."""
        return None


class KeyedProcessFunction(_KeyedFunction):
    """A process function with keyed state and timers."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedElementContext) -> Any:
        """Yield results, and ``(tag, value)`` for a side output."""


class CoProcessFunction(Function):
    """A process function of two streams."""

    Context: TypeAlias = ElementContext

    @abstractmethod
    def process_element1(self, value: Any, ctx: ElementContext) -> Any:
        """Called for elements of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: ElementContext) -> Any:
        """Called for elements of the second stream."""


class KeyedCoProcessFunction(_KeyedFunction):
    """A process function of two keyed streams."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedElementContext) -> Any:
        """Called for elements of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedElementContext) -> Any:
        """Called for elements of the second stream."""


# ---------------------------------------------------------------------- windows


class ProcessWindowContext(Generic[W2]):
    """The context of a window (PyFlink: ``ProcessWindowFunction.Context``)."""

    def __init__(self, context: CoreWindowContext[Any]) -> None:
        self._context = context

    def window(self) -> W2:
        """The window."""
        window: W2 = window_of_user(self._context.window())
        return window

    def current_processing_time(self) -> int:
        """The processing-time clock."""
        return self._context.currentProcessingTime()

    def current_watermark(self) -> int:
        """The current watermark."""
        return self._context.currentWatermark()

    def window_state(self) -> KeyedStateStore:
        """State of the key and window."""
        return KeyedStateStore(self._context.windowState())

    def global_state(self) -> KeyedStateStore:
        """State of the key."""
        return KeyedStateStore(self._context.globalState())


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turns a window of a key into results."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return or yield the results for the window."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turns a window of a stream into results."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """Return or yield the results for the window."""


class _ProcessWindowFunction(Function):
    """Base of the window functions with state and times."""

    Context: TypeAlias = ProcessWindowContext

    def clear(self, context: ProcessWindowContext) -> None:
        """Called when the window is removed."""


class ProcessWindowFunction(_ProcessWindowFunction, Generic[IN, OUT, KEY, W]):
    """Turns a window of a key into results, with state and times."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowContext, elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """Return or yield the results for the window."""


class ProcessAllWindowFunction(_ProcessWindowFunction, Generic[IN, OUT, W]):
    """Turns a window of a stream into results, with state and times."""

    @abstractmethod
    def process(self, context: ProcessWindowContext, elements: Iterable[IN]) -> Iterable[OUT]:
        """Return or yield the results for the window."""


# ---------------------------------------------------------------------- broadcast state


class BaseBroadcastContext(_Context):
    """The base of the contexts of functions with broadcast state (PyFlink:
    ``BaseBroadcastProcessFunction.BaseContext``)."""

    def current_processing_time(self) -> int:
        """The processing-time clock."""
        return int(self._context.currentProcessingTime())

    def current_watermark(self) -> int:
        """The current watermark."""
        return int(self._context.currentWatermark())


class BroadcastElementContext(BaseBroadcastContext):
    """The context of a broadcast element (PyFlink: ``BroadcastProcessFunction.Context``)."""

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """The broadcast state of that descriptor."""
        state = self._context.getBroadcastState(state_descriptor.core)
        return BroadcastState(state, state_descriptor)


class ReadOnlyContext(BaseBroadcastContext):
    """The context of an element of the other stream (PyFlink:
    ``BroadcastProcessFunction.ReadOnlyContext``)."""

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[Any, Any]:
        """The broadcast state of that descriptor."""
        state = self._context.getBroadcastState(state_descriptor.core)
        return ReadOnlyBroadcastState(state, state_descriptor)


class KeyedReadOnlyContext(KeyedElementContext, ReadOnlyContext):
    """The context of an element of a keyed stream (PyFlink:
    ``KeyedBroadcastProcessFunction.ReadOnlyContext``)."""


class KeyedBroadcastTimerContext(KeyedTimerContext, KeyedReadOnlyContext):
    """The context of a timer (PyFlink: ``KeyedBroadcastProcessFunction.OnTimerContext``)."""


class BaseBroadcastProcessFunction(Function, Generic[IN1, IN2]):
    """The base of the functions with broadcast state."""

    BaseContext: TypeAlias = BaseBroadcastContext
    Context: TypeAlias = BroadcastElementContext
    ReadOnlyContext: TypeAlias = ReadOnlyContext

    @abstractmethod
    def process_element(self, value: IN1, ctx: Any) -> Any:
        """Called for elements of the stream; the context can only read broadcast state."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastElementContext) -> Any:
        """Called for broadcast elements."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction[IN1, IN2], Generic[IN1, IN2, OUT]):
    """A function of a stream and a broadcast one."""


class KeyedBroadcastProcessFunction(
    BaseBroadcastProcessFunction[IN1, IN2], Generic[KEY, IN1, IN2, OUT]
):
    """A function of a keyed stream and a broadcast one."""

    ReadOnlyContext: TypeAlias = KeyedReadOnlyContext
    OnTimerContext: TypeAlias = KeyedBroadcastTimerContext

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastTimerContext) -> Any:
        """Called when a timer is due."""
        return None


# ---------------------------------------------------------------------- asynchronous I/O


class AsyncFunction(Function, Generic[IN, OUT]):
    """Looks up values for many elements at once (PyFlink: ``AsyncFunction``)."""

    @abstractmethod
    def async_invoke(self, value: IN) -> Awaitable[list[OUT]]:
        """Implement it as ``async def``, which returns the results for ``value`` as a list."""

    def timeout(self, value: IN) -> list[OUT]:
        """Called for an element that took too long; returns its results instead."""
        raise TimeoutError(f"Async function call has timed out for input: {value}")


__getattr__ = absent_names(__name__)
