"""Window functions: called with the contents of a window when it fires.

Each exists for keyed windows and, without the key, for ``windowAll``. All of them can write to ``out``, or
return or yield their results, which carry ``window.maxTimestamp()``. ``WindowFunction`` gets key and
window; ``ProcessWindowFunction`` also gets state, times and side outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Union

from typing_extensions import TypeAliasType, TypeVar

from flinkish.api.functions.functions import Collector, Function, RichFunction, declares_methods
from flinkish.api.functions.runtime_context import KeyedStateStore
from flinkish.api.output_tag import OutputTag
from flinkish.api.type_variables import IN_contra, OUT_co, X

if TYPE_CHECKING:
    from flinkish.api.windowing.windows import Window

KEY_contra = TypeVar("KEY_contra", contravariant=True)
W_contra = TypeVar("W_contra", bound="Window", contravariant=True)
W_co = TypeVar("W_co", bound="Window", covariant=True, default=Any)


class WindowContext(ABC, Generic[W_co]):
    """The window, times, state and side outputs for a process window function, of the current key and
    window (Flink: ``ProcessWindowFunction.Context``)."""

    __slots__ = ()

    @abstractmethod
    def window(self) -> W_co:
        """The window that fires."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock, in ms."""

    @abstractmethod
    def currentWatermark(self) -> int:
        """The current watermark, in ms."""

    @abstractmethod
    def windowState(self) -> KeyedStateStore:
        """State of the current key and window; remove it in ``clear``.

        Not available if windows merge: using it raises InvalidProgramError.
        """

    @abstractmethod
    def globalState(self) -> KeyedStateStore:
        """State of the current key, shared by all its windows."""

    @abstractmethod
    def output(self, outputTag: OutputTag[X], value: X) -> None:
        """Emit ``value`` to a side output, with the timestamp of the window."""


@declares_methods
class WindowFunction(Function, ABC, Generic[IN_contra, OUT_co, KEY_contra, W_contra]):
    """Turns a window of one key into results (Flink: ``WindowFunction``)."""

    @abstractmethod
    def apply(
        self,
        key: KEY_contra,
        window: W_contra,
        elements: Iterable[IN_contra],
        out: Collector[OUT_co],
    ) -> Iterable[OUT_co] | None:
        """Called with the elements of the window each time it fires. Results carry
        ``window.maxTimestamp()``."""


@declares_methods
class AllWindowFunction(Function, ABC, Generic[IN_contra, OUT_co, W_contra]):
    """Turns a window of a non-keyed stream into results (Flink: ``AllWindowFunction``)."""

    @abstractmethod
    def apply(
        self, window: W_contra, elements: Iterable[IN_contra], out: Collector[OUT_co]
    ) -> Iterable[OUT_co] | None:
        """Called with the elements of the window each time it fires. Results carry
        ``window.maxTimestamp()``."""


class RichWindowFunction(RichFunction, WindowFunction[IN_contra, OUT_co, KEY_contra, W_contra]):
    """A ``WindowFunction`` with open, close and a runtime context (Flink: ``RichWindowFunction``)."""


class RichAllWindowFunction(RichFunction, AllWindowFunction[IN_contra, OUT_co, W_contra]):
    """An ``AllWindowFunction`` with open, close and a runtime context (Flink: ``RichAllWindowFunction``)."""


@declares_methods
class ProcessWindowFunction(RichFunction, ABC, Generic[IN_contra, OUT_co, KEY_contra, W_contra]):
    """Turns a window of one key into results, with access to state, times and side outputs (Flink:
    ``ProcessWindowFunction``).

    With ``reduce(f, function)`` or ``aggregate(f, function)`` it gets a single aggregated element.

    >>> class Count(ProcessWindowFunction[object, tuple[str, int, int], str, "TimeWindow"]):
    ...     def process(self, key, context, elements, out):
    ...         out.collect((key, context.window().getEnd(), len(list(elements))))
    """

    Context = TypeAliasType("Context", WindowContext[W_co], type_params=(W_co,))

    @abstractmethod
    def process(
        self,
        key: KEY_contra,
        context: WindowContext[W_contra],
        elements: Iterable[IN_contra],
        out: Collector[OUT_co],
    ) -> Iterable[OUT_co] | None:
        """Called with the elements of the window each time it fires. Results carry
        ``window.maxTimestamp()``."""

    def clear(self, context: WindowContext[W_contra]) -> None:
        """Called when the window is removed: clear its ``windowState`` here."""


@declares_methods
class ProcessAllWindowFunction(RichFunction, ABC, Generic[IN_contra, OUT_co, W_contra]):
    """Turns a window of a non-keyed stream into results, with access to state, times and side outputs
    (Flink: ``ProcessAllWindowFunction``)."""

    Context = TypeAliasType("Context", WindowContext[W_co], type_params=(W_co,))

    @abstractmethod
    def process(
        self,
        context: WindowContext[W_contra],
        elements: Iterable[IN_contra],
        out: Collector[OUT_co],
    ) -> Iterable[OUT_co] | None:
        """Called with the elements of the window each time it fires. Results carry
        ``window.maxTimestamp()``."""

    def clear(self, context: WindowContext[W_contra]) -> None:
        """Called when the window is removed: clear its ``windowState`` here."""


ProcessWindowLike = Union[
    ProcessWindowFunction[IN_contra, OUT_co, KEY_contra, W_contra],
    Callable[[KEY_contra, WindowContext[W_contra], Iterable[IN_contra]], Iterable[OUT_co]],
    Callable[[KEY_contra, WindowContext[W_contra], Iterable[IN_contra], Collector[OUT_co]], None],
]


WindowLike = Union[
    WindowFunction[IN_contra, OUT_co, KEY_contra, W_contra],
    Callable[[KEY_contra, W_contra, Iterable[IN_contra]], Iterable[OUT_co]],
    Callable[[KEY_contra, W_contra, Iterable[IN_contra], Collector[OUT_co]], None],
]


ProcessAllWindowLike = Union[
    ProcessAllWindowFunction[IN_contra, OUT_co, W_contra],
    Callable[[WindowContext[W_contra], Iterable[IN_contra]], Iterable[OUT_co]],
    Callable[[WindowContext[W_contra], Iterable[IN_contra], Collector[OUT_co]], None],
]


AllWindowLike = Union[
    AllWindowFunction[IN_contra, OUT_co, W_contra],
    Callable[[W_contra, Iterable[IN_contra]], Iterable[OUT_co]],
    Callable[[W_contra, Iterable[IN_contra], Collector[OUT_co]], None],
]
