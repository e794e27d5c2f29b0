"""``Window``: a bucket of elements, named by its bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from flinkish.api.arguments import integer, positive
from flinkish.api.errors import InvalidProgramError
from flinkish.api.stored_names import stored_as
from flinkish.api.time.durations import remainder, to_long
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.windowing.assigners import MergeCallback


class Window(ABC):
    """A bucket of elements (Flink: ``Window``).

    A window holds no elements itself: it is the name under which the operator stores their state and
    timers. Your own windows must therefore define equality and hash, and be picklable.
    """

    __slots__ = ()

    @abstractmethod
    def maxTimestamp(self) -> int:
        """The last timestamp (ms) that belongs to the window, which its results carry."""


class _Interval(NamedTuple):
    start: int
    end: int


@stored_as("TimeWindow")
class TimeWindow(_Interval, Window):
    """The interval ``[start, end)`` in ms (Flink: ``TimeWindow``).

    >>> window = TimeWindow(0, 10)
    >>> window.maxTimestamp()
    9
    >>> window.intersects(TimeWindow(10, 20)), window.cover(TimeWindow(10, 20))
    (True, TimeWindow(start=0, end=20))

    A subclass may add fields; equality and hash are those of the bounds, unless it defines them:

    >>> class Shift(TimeWindow):
    ...     def __init__(self, start, end, name):
    ...         super().__init__(start, end)
    ...         self.name = name
    >>> Shift(0, 10, "early").name, Shift(0, 10, "early").maxTimestamp()
    ('early', 9)
    """

    __slots__ = ()

    def __init__(self, start: int, end: int) -> None:
        if self[0] is _UNKNOWN:
            raise _Bounds(start, end)

    def __init_subclass__(cls, **named: object) -> None:
        super().__init_subclass__(**named)
        if "__init__" in vars(cls) and "__new__" not in vars(cls):
            cls.__new__ = _made  # type: ignore[assignment]
            cls.__reduce__ = _reduced  # type: ignore[assignment, method-assign]

    def getStart(self) -> int:
        """The first timestamp (ms) of the window."""
        return self.start

    def getEnd(self) -> int:
        """The first timestamp (ms) after the window."""
        return self.end

    def maxTimestamp(self) -> int:
        end = self.end
        return end - 1 if end != MIN_TIMESTAMP else MAX_TIMESTAMP

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the two overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def getWindowStartWithOffset(timestamp: int, offset: int, windowSize: int) -> int:
        """The start (ms) of the window of ``windowSize`` that contains ``timestamp``.

        Windows start at ``offset`` and every ``windowSize`` before and after it.

        >>> TimeWindow.getWindowStartWithOffset(-3, 0, 10)
        -10
        """
        name = "TimeWindow.getWindowStartWithOffset"
        integer(f"{name}: timestamp", timestamp)
        integer(f"{name}: offset", offset)
        return window_start(timestamp, offset, positive(f"{name}: windowSize", windowSize))

    @staticmethod
    def mergeWindows(windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Call ``callback.merge`` for every group of windows that overlap or touch."""
        group: list[TimeWindow] = []
        cover: TimeWindow | None = None
        for window in sorted(windows, key=lambda w: w.start):
            if cover is not None and cover.intersects(window):
                cover = cover.cover(window)
                if window not in group:
                    group.append(window)
            else:
                if cover is not None and len(group) > 1:
                    callback.merge(_as_java_hash_set(group), cover)
                group, cover = [window], window
        if cover is not None and len(group) > 1:
            callback.merge(_as_java_hash_set(group), cover)


W = TypeVar("W", bound=Window)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True)

_UNKNOWN = object()


class _Bounds(Exception):
    """Carries the bounds out of a subclass's ``__init__``, as a tuple needs them before, in
    ``__new__``."""


def _made(cls: type[TimeWindow], *arguments: object, **named: object) -> TimeWindow:
    """A window of a subclass whose own ``__init__`` determines the bounds."""
    try:
        cls.__init__(_of_bounds(cls, (_UNKNOWN, _UNKNOWN)), *arguments, **named)  # type: ignore[arg-type]
    except _Bounds as bounds:
        return _of_bounds(cls, bounds.args)
    raise InvalidProgramError(
        f"{cls.__name__}.__init__ does not call super().__init__(start, end), which the bounds of the window come from."
    )


def _of_bounds(cls: type[TimeWindow], bounds: tuple[object, ...]) -> TimeWindow:
    return tuple.__new__(cls, bounds)


def _reduced(window: TimeWindow) -> tuple[object, ...]:
    return _of_bounds, (type(window), tuple(window)), vars(window)


def window_start(timestamp: int, offset: int, windowSize: int) -> int:
    """``TimeWindow.getWindowStartWithOffset`` without checks, as it runs for every element."""
    # Java's remainder, so that a subtraction that wraps around aligns as it does in Flink
    rest = remainder(to_long(timestamp - offset), windowSize)
    return timestamp - rest if rest >= 0 else timestamp - (rest + windowSize)


@stored_as("GlobalWindow")
class GlobalWindow(Window):
    """The window that contains every element (Flink: ``GlobalWindow``)."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The global window; all instances are equal."""
        return _GLOBAL_WINDOW

    def maxTimestamp(self) -> int:
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow()"


_GLOBAL_WINDOW = GlobalWindow()


def _as_java_hash_set(windows: list[TimeWindow]) -> list[TimeWindow]:
    """``windows`` in the order in which Java's ``HashSet`` iterates over them.

    The order decides which elements come first in the merged window, and so which of them a
    CountEvictor keeps. A ported job must get the same results.
    """
    buckets = 16
    while len(windows) > buckets * 3 // 4:
        buckets *= 2
    return sorted(windows, key=lambda window: _spread_hash(window) & (buckets - 1))


def _spread_hash(window: TimeWindow) -> int:
    mixed = (window.start + window.end) & _MASK
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
    low = (mixed ^ (mixed >> 31)) & 0xFFFFFFFF
    return low ^ (low >> 16)


_MASK = 0xFFFFFFFFFFFFFFFF
