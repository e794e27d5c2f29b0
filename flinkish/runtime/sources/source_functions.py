"""Runs a SourceFunction, whose elements are read ahead like those of other sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from flinkish.api.arguments import instance, time_in_millis
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.connectors.source import Source
from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.functions import RichFunction
from flinkish.api.functions.runtime_context import OpenContext, RuntimeContext, TaskInfo
from flinkish.api.functions.source_function import SourceFunction
from flinkish.api.time.elements import StreamRecord, Watermark


class Cancelled(BaseException):
    """Ends ``run`` within a call of its context; no ``except Exception`` catches it."""


def run_source_function(source: FunctionSource[Any], emit: Callable[[Any], None]) -> None:
    """Run the function of ``source``; ``emit`` gets elements, StreamRecords and Watermarks."""
    function = source.function
    rich = function if isinstance(function, RichFunction) else None
    try:
        if rich is not None:
            rich.setRuntimeContext(SourceRuntimeContext(source.name))
            rich.open(OpenContext())
        yielded = source.run(_Context(emit))
        if isinstance(yielded, Iterator):
            for element in yielded:
                emit(element)
    except Cancelled:
        pass
    finally:
        if rich is not None:
            rich.close()


def cancel_source(source: Source[Any]) -> None:
    """Let ``run`` of a SourceFunction end. Other sources end with their generator."""
    if isinstance(source, FunctionSource):
        source.cancel()


class _Context(SourceFunction.SourceContext[Any]):
    __slots__ = ("_emit", "_lock")

    def __init__(self, emit: Callable[[Any], None]) -> None:
        self._emit = emit
        self._lock = threading.RLock()

    def collect(self, element: Any) -> None:
        self._emit(StreamRecord(element))

    def collectWithTimestamp(self, element: Any, timestamp: int) -> None:
        self._emit(StreamRecord(element, time_in_millis("collectWithTimestamp", timestamp)))

    def emitWatermark(self, mark: Watermark) -> None:
        self._emit(instance("emitWatermark", mark, Watermark, "Pass one, such as Watermark(999)."))

    def getCheckpointLock(self) -> threading.RLock:
        return self._lock


def _refused(method: str) -> Callable[..., NoReturn]:
    def refuse(self: SourceRuntimeContext, *_: object, **__: object) -> NoReturn:
        raise NotSupportedError(
            f"{self.name}: {method} belongs to operators, and a SourceFunction runs before the first. Call it in a function"
            " behind the source, and pass parameters to the function's constructor."
        )

    return refuse


class SourceRuntimeContext(RuntimeContext):
    """The context of a function outside a task: it has the source's name, and no more."""

    def __init__(self, name: str) -> None:
        self.name = name

    def getTaskInfo(self) -> TaskInfo:
        return TaskInfo(self.name)

    def isObjectReuseEnabled(self) -> bool:
        return False

    getState = _refused("getState")
    getListState = _refused("getListState")
    getMapState = _refused("getMapState")
    getReducingState = _refused("getReducingState")
    getAggregatingState = _refused("getAggregatingState")
    getMetricGroup = _refused("getMetricGroup")
    addAccumulator = _refused("addAccumulator")
    getGlobalJobParameters = _refused("getGlobalJobParameters")
