"""Sinks of Flink 1, which are called with each element: ``addSink`` takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeAlias, Union

from flinkish.api.functions.adapt import checked_callable, takes
from flinkish.api.functions.functions import Collector, Function, RichFunction
from flinkish.api.functions.process import ProcessContext, ProcessFunction
from flinkish.api.functions.runtime_context import OpenContext
from flinkish.api.type_variables import T_contra


class SinkContext:
    """The context of an element in a SinkFunction (Flink: ``SinkFunction.Context``). Times are in
    ms."""

    __slots__ = ("_context",)

    def __init__(self, context: ProcessContext) -> None:
        self._context = context

    def timestamp(self) -> int | None:
        """The timestamp of the element, None if it has none."""
        return self._context.timestamp()

    def currentProcessingTime(self) -> int:
        """The processing-time clock."""
        return self._context.timerService().currentProcessingTime()

    def currentWatermark(self) -> int:
        """The current watermark."""
        return self._context.timerService().currentWatermark()


class SinkFunction(Function, ABC, Generic[T_contra]):
    """Writes each element somewhere (Flink 1: ``SinkFunction``). Implement ``invoke(self, value)``
    or ``invoke(self, value, context)``.

    Deprecated, as in Flink: a batch that is run again after a failure calls it again. Derive from
    ``Sink`` instead.
    """

    Context: TypeAlias = SinkContext

    @abstractmethod
    def invoke(self, value: T_contra, context: SinkContext) -> None:
        """Called for each element, in the worker that has it."""


class RichSinkFunction(SinkFunction[T_contra], RichFunction):
    """A SinkFunction with ``open``, ``close`` and a runtime context (Flink 1:
    ``RichSinkFunction``). Like other functions it stays open between batches."""


SinkFunctionLike: TypeAlias = Union[
    SinkFunction[T_contra],
    Callable[[T_contra], Any],
    Callable[[T_contra, SinkContext], Any],
]


class SinkCall(ProcessFunction[Any, Any]):
    """Calls a SinkFunction, and emits nothing."""

    def __init__(self, function: SinkFunctionLike[Any]) -> None:
        given: Any = function.invoke if isinstance(function, SinkFunction) else function
        wanted = "a SinkFunction, f(value) or f(value, context)"
        self._call = checked_callable("addSink", given, wanted, 1, 2)
        self._function = function if isinstance(function, RichFunction) else None
        self._with_context = takes(self._call, 2)

    def open(self, openContext: OpenContext) -> None:
        if self._function is not None:
            self._function.setRuntimeContext(self.getRuntimeContext())
            self._function.open(openContext)

    def close(self) -> None:
        if self._function is not None:
            self._function.close()

    def processElement(self, value: Any, ctx: ProcessContext, out: Collector[Any]) -> None:
        if self._with_context:
            self._call(value, SinkContext(ctx))
        else:
            self._call(value)
