"""Sources of Flink 1, which emit elements from their own loop: ``addSource`` takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, NoReturn, TypeAlias, Union

from flinkish.api.errors import NotSupportedError
from flinkish.api.functions.functions import Function, RichFunction
from flinkish.api.time.elements import Watermark
from flinkish.api.type_variables import T, T_co, T_contra


class SourceFunction(Function, ABC, Generic[T_co]):
    """Emits the elements of a stream until there are no more, or ``cancel`` is called (Flink 1: ``SourceFunction``).

    Deprecated, as in Flink: it has no position, so after a failure or a restart ``run`` starts
    over. Derive from ``Source`` instead.

    >>> from flinkish import StreamExecutionEnvironment
    >>> class Countdown(SourceFunction[int]):
    ...     def run(self, ctx):
    ...         for number in (3, 2, 1):
    ...             ctx.collect(number)
    ...     def cancel(self):
    ...         pass
    >>> env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    >>> list(env.addSource(Countdown()).executeAndCollect())
    [3, 2, 1]
    """

    class SourceContext(ABC, Generic[T_contra]):
        """Emits the elements of a SourceFunction (Flink: ``SourceFunction.SourceContext``). Its
        methods block while the job is behind, and end ``run`` once the job is cancelled."""

        __slots__ = ()

        @abstractmethod
        def collect(self, element: T_contra) -> None:
            """Emit ``element`` without a timestamp."""

        @abstractmethod
        def collectWithTimestamp(self, element: T_contra, timestamp: int) -> None:
            """Emit ``element`` with a timestamp in ms since the epoch.

            Raises IllegalArgumentError unless ``timestamp`` is a 64-bit int.
            """

        @abstractmethod
        def emitWatermark(self, mark: Watermark) -> None:
            """Emit a watermark: no element with its timestamp or an earlier one will follow. A
            WatermarkStrategy after the source ignores it, as in Flink.

            Raises IllegalArgumentError if ``mark`` is not a Watermark.
            """

        @abstractmethod
        def getCheckpointLock(self) -> AbstractContextManager[Any]:
            """A lock, for ported code that holds it while it emits; nothing else takes it."""

        def markAsTemporarilyIdle(self) -> NoReturn:
            """Not supported: a WatermarkStrategy with ``withIdleness`` detects it."""
            raise NotSupportedError(
                "markAsTemporarilyIdle: a source cannot say that it is idle. Give the stream"
                " assignTimestampsAndWatermarks(strategy.withIdleness(duration))."
            )

        def close(self) -> None:
            """Does nothing; it exists for ported code that calls it."""

    @abstractmethod
    def run(self, ctx: SourceContext[Any]) -> object:
        """Called once, in the one process that reads the source, ahead of the batches: emits to
        ``ctx``, yields elements, or both. The source ends when ``run`` returns."""

    def cancel(self) -> None:
        """Called from another thread when ``run`` is to end, unless the process that reads the
        source was killed. Set a flag that ``run`` checks."""


class RichSourceFunction(SourceFunction[T_co], RichFunction):
    """A SourceFunction with ``open``, ``close`` and a runtime context (Flink 1:
    ``RichSourceFunction``). The context has only information on the task: state and metrics belong
    to the operators after the source."""


SourceFunctionLike: TypeAlias = Union[
    SourceFunction[T], Callable[[SourceFunction.SourceContext[T]], object]
]
