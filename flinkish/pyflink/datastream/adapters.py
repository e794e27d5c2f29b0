"""PyFlink's functions as flinkish's own: one adapter for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from inspect import isawaitable
from operator import add
from typing import Any

from flinkish.api.errors import NotSupportedError, UnfitElementError, shown
from flinkish.api.functions.async_function import AsyncRetryPredicate as CoreRetryPredicate
from flinkish.api.functions.async_function import AsyncRetryStrategy as CoreRetryStrategy
from flinkish.api.functions.async_function import RichAsyncFunction
from flinkish.api.functions.broadcast import (
    BroadcastProcessFunction as CoreBroadcastProcessFunction,
)
from flinkish.api.functions.broadcast import (
    KeyedBroadcastProcessFunction as CoreKeyedBroadcastProcessFunction,
)
from flinkish.api.functions.functions import (
    Collector,
    RichFilterFunction,
    RichFlatMapFunction,
    RichFunction,
    RichMapFunction,
    RichReduceFunction,
)
from flinkish.api.functions.process import KeyedProcessFunction as CoreKeyedProcessFunction
from flinkish.api.functions.process import ProcessFunction as CoreProcessFunction
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.functions.runtime_context import RuntimeContext as CoreRuntimeContext
from flinkish.api.functions.state import ListStateDescriptor, ValueStateDescriptor
from flinkish.api.functions.two_input import CoProcessFunction as CoreCoProcessFunction
from flinkish.api.functions.two_input import KeyedCoProcessFunction as CoreKeyedCoProcessFunction
from flinkish.api.functions.two_input import RichCoFlatMapFunction, RichCoMapFunction
from flinkish.api.functions.window import ProcessAllWindowFunction as CoreProcessAllWindowFunction
from flinkish.api.functions.window import ProcessWindowFunction as CoreProcessWindowFunction
from flinkish.pyflink.common.shipping import shippable
from flinkish.pyflink.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from flinkish.pyflink.common.types import created_row
from flinkish.pyflink.datastream.async_retry_strategies import AsyncRetryStrategy
from flinkish.pyflink.datastream.dependencies import PythonDependencies
from flinkish.pyflink.datastream.functions import (
    AllWindowFunction,
    BroadcastElementContext,
    ElementContext,
    Function,
    KeyedBroadcastTimerContext,
    KeyedElementContext,
    KeyedReadOnlyContext,
    KeyedStateStore,
    KeyedTimerContext,
    KeySelector,
    ProcessAllWindowFunction,
    ProcessWindowContext,
    ProcessWindowFunction,
    ReadOnlyContext,
    RuntimeContext,
    WindowFunction,
)
from flinkish.pyflink.datastream.keys import key_of_state, key_of_user
from flinkish.pyflink.datastream.output_tag import OutputTag
from flinkish.pyflink.datastream.window import CountWindow, window_of_user

Convert = Callable[[Any], Any]


def conversion(output_type: TypeInformation | None) -> Convert | None:
    """The function that converts results to ``output_type``, None if they stay unchanged."""
    if output_type is None or isinstance(output_type, PickledBytesTypeInfo):
        return None
    return output_type.converted


class Call:
    """A plain function with its dependencies and the conversion of its results.

    Without either it is pickled as the function itself.
    """

    def __init__(
        self,
        dependencies: PythonDependencies,
        function: Callable[..., Any],
        convert: Convert | None = None,
    ) -> None:
        self._dependencies = dependencies  # first, as it must be unpickled before the function
        self._function = shippable(function)
        self._convert = convert

    def __repr__(self) -> str:
        return repr(self._function)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self._function

    def __reduce__(self) -> Any:
        return _call, (type(self), self._dependencies, self._function, self._convert)

    def __call__(self, *arguments: Any) -> Any:
        result = self._function(*arguments)
        return result if self._convert is None else self._convert(result)


def _call(
    kind: type[Call],
    dependencies: PythonDependencies,
    function: Callable[..., Any],
    convert: Convert | None,
) -> Callable[..., Any]:
    inside = dependencies.inside(function)
    plain = kind is Call and convert is None and dependencies.empty
    return inside if plain else kind(dependencies, inside, convert)


class FlatCall(Call):
    """A ``Call`` of a function with any number of results."""

    def __call__(self, *arguments: Any) -> Any:
        return _converted(self._function(*arguments), self._convert)


def _converted(results: Iterable[Any] | None, convert: Convert | None) -> list[Any]:
    if results is None:
        return []
    if not hasattr(results, "__iter__"):
        raise _no_results(results)
    return list(results) if convert is None else [convert(result) for result in results]


def _no_results(results: object) -> UnfitElementError:
    return UnfitElementError(
        f"the function gave {shown(results)} of type {type(results).__name__}, which is no collection of"
        " results. Yield each result, or return a list of them."
    )


class FunctionAdapter(RichFunction):
    """The base of the adapters: opens and closes the function.

    ``_methods`` has the methods of the function, to be called inside its dependencies.
    """

    _methods: dict[str, Callable[..., Any]]

    def __init__(
        self,
        dependencies: PythonDependencies,
        function: Function,
        output_type: TypeInformation | None = None,
    ) -> None:
        self._dependencies = dependencies  # first, as it must be unpickled before the function
        self._function: Any = shippable(function)
        self._convert = conversion(output_type)

    def open(self, openContext: OpenContext) -> None:
        context = RuntimeContext(self.getRuntimeContext(), self._dependencies.job_parameters)
        inside, function = self._dependencies.inside, self._function
        inside(function.open)(context)
        present = [name for name in _CALLED if hasattr(function, name)]
        self._methods = {name: inside(getattr(function, name)) for name in present}

    def close(self) -> None:
        self._function.close()

    def _emit(self, results: Iterable[Any] | None, context: Any, out: Collector[Any]) -> None:
        """Emit results, and those with a tag to its side output."""
        if results is None:
            return
        if not hasattr(results, "__iter__"):
            raise _no_results(results)
        convert, collect = self._convert, out.collect
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                tag, value = result
                context.output(tag.core, tag.type_info.converted(value))
            else:
                collect(result if convert is None else convert(result))


_CALLED = (
    *("map", "map1", "map2", "flat_map", "flat_map1", "flat_map2", "filter", "reduce"),
    *("process_element", "process_element1", "process_element2", "process_broadcast_element"),
    *("on_timer", "apply", "process"),
)
"""The methods of functions that are called with elements, timers or windows."""


class MapAdapter(FunctionAdapter, RichMapFunction[Any, Any]):
    def map(self, value: Any) -> Any:
        result = self._methods["map"](value)
        return result if self._convert is None else self._convert(result)


class FilterAdapter(FunctionAdapter, RichFilterFunction[Any]):
    def filter(self, value: Any) -> bool:
        return bool(self._methods["filter"](value))


class FlatMapAdapter(FunctionAdapter, RichFlatMapFunction[Any, Any]):
    def flatMap(self, value: Any, out: Collector[Any]) -> None:
        for result in _converted(self._methods["flat_map"](value), self._convert):
            out.collect(result)


class ReduceAdapter(FunctionAdapter, RichReduceFunction[Any]):
    def reduce(self, value1: Any, value2: Any) -> Any:
        result = self._methods["reduce"](value1, value2)
        return result if self._convert is None else self._convert(result)


class CoMapAdapter(FunctionAdapter, RichCoMapFunction[Any, Any, Any]):
    def map1(self, value: Any) -> Any:
        result = self._methods["map1"](value)
        return result if self._convert is None else self._convert(result)

    def map2(self, value: Any) -> Any:
        result = self._methods["map2"](value)
        return result if self._convert is None else self._convert(result)


class CoFlatMapAdapter(FunctionAdapter, RichCoFlatMapFunction[Any, Any, Any]):
    def flatMap1(self, value: Any, out: Collector[Any]) -> None:
        for result in _converted(self._methods["flat_map1"](value), self._convert):
            out.collect(result)

    def flatMap2(self, value: Any, out: Collector[Any]) -> None:
        for result in _converted(self._methods["flat_map2"](value), self._convert):
            out.collect(result)


class ProcessAdapter(FunctionAdapter, CoreProcessFunction[Any, Any]):
    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element"](value, ElementContext(ctx)), ctx, out)


class KeyedProcessAdapter(FunctionAdapter, CoreKeyedProcessFunction[Any, Any, Any]):
    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element"](value, KeyedElementContext(ctx)), ctx, out)

    def onTimer(self, timestamp: int, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["on_timer"](timestamp, KeyedTimerContext(ctx)), ctx, out)


class CoProcessAdapter(FunctionAdapter, CoreCoProcessFunction[Any, Any, Any]):
    def processElement1(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element1"](value, ElementContext(ctx)), ctx, out)

    def processElement2(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element2"](value, ElementContext(ctx)), ctx, out)


class KeyedCoProcessAdapter(FunctionAdapter, CoreKeyedCoProcessFunction[Any, Any, Any, Any]):
    def processElement1(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element1"](value, KeyedElementContext(ctx)), ctx, out)

    def processElement2(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element2"](value, KeyedElementContext(ctx)), ctx, out)

    def onTimer(self, timestamp: int, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["on_timer"](timestamp, KeyedTimerContext(ctx)), ctx, out)


class BroadcastAdapter(FunctionAdapter, CoreBroadcastProcessFunction[Any, Any, Any]):
    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element"](value, ReadOnlyContext(ctx)), ctx, out)

    def processBroadcastElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        results = self._methods["process_broadcast_element"](value, BroadcastElementContext(ctx))
        self._emit(results, ctx, out)


class KeyedBroadcastAdapter(FunctionAdapter, CoreKeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["process_element"](value, KeyedReadOnlyContext(ctx)), ctx, out)

    def processBroadcastElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        results = self._methods["process_broadcast_element"](value, BroadcastElementContext(ctx))
        self._emit(results, ctx, out)

    def onTimer(self, timestamp: int, ctx: Any, out: Collector[Any]) -> None:
        self._emit(self._methods["on_timer"](timestamp, KeyedBroadcastTimerContext(ctx)), ctx, out)


class AsyncAdapter(FunctionAdapter, RichAsyncFunction[Any, Any]):
    async def asyncInvoke(self, value: Any) -> Any:
        results = self._function.async_invoke(value)
        if not isawaitable(results):
            raise UnfitElementError(
                f"{type(self._function).__name__}.async_invoke gave {shown(results)} of type"
                f" {type(results).__name__}, which cannot be awaited. Write it as async def."
            )
        return self._results(await results)

    def timeout(self, value: Any) -> Any:
        return self._results(self._function.timeout(value))

    def _results(self, results: Any) -> list[Any]:
        if results is None:
            raise UnfitElementError(
                "The result of AsyncFunction cannot be none, please return an empty list instead."
            )
        if not isinstance(results, list):
            raise UnfitElementError(
                "The result of AsyncFunction should be of list type, but it is"
                f" {shown(results)} of type {type(results).__name__}."
            )
        return _converted(results, self._convert)


class RetryAdapter(CoreRetryStrategy):
    def __init__(self, strategy: AsyncRetryStrategy) -> None:
        self._strategy = shippable(strategy)

    def canRetry(self, currentAttempts: int) -> bool:
        return self._strategy.can_retry(currentAttempts)

    def getBackoffTimeMillis(self, currentAttempts: int) -> int:
        return self._strategy.get_backoff_time_millis(currentAttempts)

    def getRetryPredicate(self) -> CoreRetryPredicate:
        predicate: Any = self._strategy.get_retry_predicate()
        return CoreRetryPredicate(predicate.result_predicate(), predicate.exception_predicate())


class _WindowFunctionAdapter(FunctionAdapter):
    """The base of the adapters of window functions, with and without keys."""

    def _results(self, context: Any, elements: Iterable[Any], *key: Any) -> Iterable[Any] | None:
        results: Iterable[Any] | None
        if isinstance(self._function, (WindowFunction, AllWindowFunction)):
            window = window_of_user(context.window())
            results = self._methods["apply"](*key, window, elements)
        else:
            results = self._methods["process"](*key, ProcessWindowContext(context), elements)
        return results

    def clear(self, context: Any) -> None:
        if isinstance(self._function, (ProcessWindowFunction, ProcessAllWindowFunction)):
            self._function.clear(ProcessWindowContext(context))


class WindowAdapter(_WindowFunctionAdapter, CoreProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any], out: Collector[Any]) -> None:
        self._emit(self._results(context, elements, key_of_user(key)), context, out)


class AllWindowAdapter(_WindowFunctionAdapter, CoreProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any], out: Collector[Any]) -> None:
        self._emit(self._results(context, elements), context, out)


class CountWindowContext(ProcessWindowContext):
    """The context of a count window, which fires once."""

    def __init__(self, window: CountWindow, context: Any, state: CoreRuntimeContext) -> None:
        super().__init__(context.timerService())
        self._window = window
        self._state = state

    def window(self) -> Any:
        return self._window

    def window_state(self) -> KeyedStateStore:
        """Not supported: a window keeps nothing after it has fired."""
        raise NotSupportedError(
            "window_state: a count window fires once, and nothing of it stays. Keep values in variables,"
            " or use global_state()."
        )

    def global_state(self) -> KeyedStateStore:
        return KeyedStateStore(self._state)


class CountWindowAdapter(FunctionAdapter, CoreKeyedProcessFunction[Any, Any, Any]):
    """Windows of a number of elements of a key, for a window function or, without one, for the
    elements.

    ``folded`` converts the elements of a full window to those that the function gets.
    """

    def __init__(
        self,
        dependencies: PythonDependencies,
        function: Function,
        output_type: TypeInformation | None,
        size: int,
        slide: int,
        folded: Callable[[list[Any]], list[Any]],
    ) -> None:
        super().__init__(dependencies, function, output_type)
        self._size, self._slide, self._folded = size, slide, folded

    def open(self, openContext: OpenContext) -> None:
        super().open(openContext)
        context = self.getRuntimeContext()
        self._elements = context.getListState(ListStateDescriptor("_elements"))
        self._count = context.getState(ValueStateDescriptor("_count"))
        self._keyed = isinstance(self._function, (WindowFunction, ProcessWindowFunction))
        self._applies = isinstance(self._function, (WindowFunction, AllWindowFunction))
        self._process = self._methods["apply" if self._applies else "process"]

    def processElement(self, value: Any, ctx: Any, out: Collector[Any]) -> None:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        elements = [*self._elements.get(), value][-self._size :]
        full = count >= self._size and (count - self._size) % self._slide == 0
        # In tumbling windows no element is needed again
        self._elements.update([] if full and self._slide >= self._size else elements)
        if full:
            window = CountWindow((count - self._size) // self._slide)
            given = self._folded(elements)
            key = (key_of_user(ctx.getCurrentKey()),) if self._keyed else ()
            context = CountWindowContext(window, ctx, self.getRuntimeContext())
            of = window if self._applies else context
            self._emit(self._process(*key, of, given), ctx, out)
            if not self._applies:
                self._function.clear(context)


class PassThrough(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


class PassThroughAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return inputs


def whole_list(elements: list[Any]) -> list[Any]:
    return elements


class Reduced:
    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __call__(self, elements: list[Any]) -> list[Any]:
        return [reduce(self._function, elements)]


class Aggregated:
    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, elements: list[Any]) -> list[Any]:
        accumulator = self._function.create_accumulator()
        for element in elements:
            accumulator = self._function.add(element, accumulator)
        return [self._function.get_result(accumulator)]


class KeyCall:
    """A key selector, whose keys are converted to their type and to keys that state can use."""

    def __init__(
        self, dependencies: PythonDependencies, selector: Any, key_type: TypeInformation | None
    ) -> None:
        self._dependencies = dependencies  # first, as it must be unpickled before the function
        self._selector = shippable(selector)
        self._key_type = key_type

    @property
    def __wrapped__(self) -> Any:
        selector = self._selector
        return selector.get_key if isinstance(selector, KeySelector) else selector

    def of_user(self, value: Any) -> Any:
        """The key as the user's functions see it."""
        key = self._dependencies.inside(self.__wrapped__)(value)
        return key if self._key_type is None else self._key_type.converted(key)

    def __call__(self, value: Any) -> Any:
        return key_of_state(self.of_user(value))


class FieldReduction:
    """``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of a field, or of plain values."""

    def __init__(self, kind: str, position: int | str) -> None:
        self._kind = kind
        self._position: Any = position

    def __call__(self, value1: Any, value2: Any) -> Any:
        kind, position = self._kind, self._position
        fields = hasattr(value1, "__getitem__") and not isinstance(value1, (str, bytes))
        if not fields and position != 0:
            raise TypeError(
                f"{kind}: the field {position!r} of {value1!r}, which has none. Leave the position out."
            )
        first = value1[position] if fields else value1
        second = value2[position] if fields else value2
        if kind in ("min_by", "max_by"):
            takes_second = second < first if kind == "min_by" else second > first
            return value2 if takes_second else value1
        best = _COMBINED[kind](first, second)
        if not fields:
            return best
        values = list(value1)
        if isinstance(position, str):
            position = value1._fields.index(position)
        values[position] = best
        return values if isinstance(value1, list) else _like(value1, values)


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {"sum": add, "min": min, "max": max}


def _like(row: Any, values: list[Any]) -> Any:
    """``values`` as a tuple or a Row, whichever ``row`` is."""
    if isinstance(row, tuple):
        return tuple(values)
    return created_row(row._fields, values, row.get_row_kind())
