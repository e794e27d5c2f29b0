"""The functions that turn the contents of a window into results.

Each comes for keyed windows and, without the key, for ``windowAll``. All of them may write to
``out``, or return or yield their results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar, Union

from flinkish.api.functions import Collector, Function, RichFunction
from flinkish.api.output_tag import OutputTag
from flinkish.api.runtime_context import KeyedStateStore
from flinkish.api.windowing.windows import Window

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W", bound=Window)
W_co = TypeVar("W_co", bound=Window, covariant=True)
X = TypeVar("X")


class WindowContext(ABC, Generic[W_co]):
    """What a process window function may ask for: all of it of the current key and window
    (Flink: ``ProcessWindowFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def window(self) -> W_co:
        """The window."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The clock, in ms."""

    @abstractmethod
    def currentWatermark(self) -> int:
        """The watermark, in ms."""

    @abstractmethod
    def windowState(self) -> KeyedStateStore:
        """State of the current key and window. Whoever keeps some clears it in ``clear``.

        Windows that merge have none.
        """

    @abstractmethod
    def globalState(self) -> KeyedStateStore:
        """State of the current key, over all its windows."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the window."""


class WindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Turns a window of one key into results (Flink: ``WindowFunction``)."""

    @abstractmethod
    def apply(
        self, key: KEY, window: W, elements: Iterable[IN], out: Collector[OUT]
    ) -> Iterable[OUT] | None:
        """Called when the window fires, with what is in it. Results get the timestamp
        ``window.maxTimestamp()``."""


class AllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Turns a window into results (Flink: ``AllWindowFunction``)."""

    @abstractmethod
    def apply(self, window: W, elements: Iterable[IN], out: Collector[OUT]) -> Iterable[OUT] | None:
        """Called when the window fires, with what is in it. Results get the timestamp
        ``window.maxTimestamp()``."""


class RichWindowFunction(RichFunction, WindowFunction[IN, OUT, KEY, W]):
    """A ``WindowFunction`` with open, close and a runtime context (Flink: ``RichWindowFunction``)."""


class RichAllWindowFunction(RichFunction, AllWindowFunction[IN, OUT, W]):
    """An ``AllWindowFunction`` with open, close and a runtime context (Flink: ``RichAllWindowFunction``)."""


class ProcessWindowFunction(RichFunction, ABC, Generic[IN, OUT, KEY, W]):
    """Turns a window of one key into results, with all there is to know of it (Flink:
    ``ProcessWindowFunction``).

    >>> class Count(ProcessWindowFunction[object, tuple[str, int, int], str, "TimeWindow"]):
    ...     def process(self, key, context, elements, out):
    ...         out.collect((key, context.window().getEnd(), len(list(elements))))
    """

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, key: KEY, context: WindowContext[W], elements: Iterable[IN], out: Collector[OUT]
    ) -> Iterable[OUT] | None:
        """Called when the window fires, with what is in it. Results get the timestamp
        ``window.maxTimestamp()``."""

    def clear(self, context: WindowContext[W]) -> None:
        """Called when the window goes: clear its ``windowState`` here."""


class ProcessAllWindowFunction(RichFunction, ABC, Generic[IN, OUT, W]):
    """Turns a window into results, with all there is to know of it (Flink: the same name)."""

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, context: WindowContext[W], elements: Iterable[IN], out: Collector[OUT]
    ) -> Iterable[OUT] | None:
        """Called when the window fires, with what is in it. Results get the timestamp
        ``window.maxTimestamp()``."""

    def clear(self, context: WindowContext[W]) -> None:
        """Called when the window goes: clear its ``windowState`` here."""


ProcessWindowLike = Union[
    ProcessWindowFunction[IN, OUT, KEY, W],
    Callable[[KEY, WindowContext[W], Iterable[IN]], Iterable[OUT]],
    Callable[[KEY, WindowContext[W], Iterable[IN], Collector[OUT]], None],
]
WindowLike = Union[
    WindowFunction[IN, OUT, KEY, W],
    Callable[[KEY, W, Iterable[IN]], Iterable[OUT]],
    Callable[[KEY, W, Iterable[IN], Collector[OUT]], None],
]
ProcessAllWindowLike = Union[
    ProcessAllWindowFunction[IN, OUT, W],
    Callable[[WindowContext[W], Iterable[IN]], Iterable[OUT]],
    Callable[[WindowContext[W], Iterable[IN], Collector[OUT]], None],
]
AllWindowLike = Union[
    AllWindowFunction[IN, OUT, W],
    Callable[[W, Iterable[IN]], Iterable[OUT]],
    Callable[[W, Iterable[IN], Collector[OUT]], None],
]
