"""``WindowAssigner``: says which windows an element goes into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Generic, TypeVar

from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.windows import Window

T_contra = TypeVar("T_contra", contravariant=True)
W = TypeVar("W", bound=Window)


class WindowAssignerContext(ABC):
    """What an assigner may ask for (Flink: ``WindowAssigner.WindowAssignerContext``)."""

    __slots__ = ()

    @abstractmethod
    def getCurrentProcessingTime(self) -> int:
        """The clock, in ms."""


class WindowAssigner(ABC, Generic[T_contra, W]):
    """Says which windows an element goes into (Flink: ``WindowAssigner``)."""

    @abstractmethod
    def assignWindows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """The windows of ``element``.

        ``timestamp`` is ``MIN_TIMESTAMP`` if the element has none, as in Flink.
        """

    @abstractmethod
    def getDefaultTrigger(self) -> Trigger[Any, W]:
        """The trigger where the user sets none."""

    @abstractmethod
    def isEventTime(self) -> bool:
        """Whether windows end with the watermark (or else with the clock)."""

    def windowType(self) -> type[Window] | None:
        """What windows the assigner makes, or None if it does not say; where it does, a trigger
        that cannot work on them is refused when the job is put together."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MergeCallback(ABC, Generic[W]):
    """Takes what ``mergeWindows`` found (Flink: ``MergingWindowAssigner.MergeCallback``)."""

    __slots__ = ()

    @abstractmethod
    def merge(self, toBeMerged: Iterable[W], mergeResult: W) -> None:
        """The windows ``toBeMerged`` are to become ``mergeResult``."""


class MergingWindowAssigner(WindowAssigner[T_contra, W]):
    """An assigner whose windows may merge, as sessions do (Flink: ``MergingWindowAssigner``)."""

    @abstractmethod
    def mergeWindows(self, windows: Sequence[W], callback: MergeCallback[W]) -> None:
        """Called with all windows of a key when a new one comes: call ``callback.merge`` for every
        group that is to be one window."""
