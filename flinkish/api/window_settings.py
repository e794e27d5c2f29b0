"""The settings of windows, which windowed streams and window joins have in common."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from flinkish.api.time import TimeLike
from flinkish.api.window_builder import WindowOperatorBuilder
from flinkish.api.windowing.evictor import Evictor
from flinkish.api.windowing.trigger import Trigger
from flinkish.api.windowing.window_assigner import WindowAssigner
from flinkish.api.windowing.windows import Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class WindowSettings(Generic[T, W]):
    """The settings of windows of elements of type ``T``: they change this object and return it."""

    def __init__(self, windowAssigner: WindowAssigner[T, W]) -> None:
        self._builder = WindowOperatorBuilder(windowAssigner)

    def trigger(self, trigger: Trigger[T, W]) -> Self:
        """Let ``trigger`` say when windows fire, instead of the assigner's default.

        Raises InvalidProgramError if it cannot work with the assigner's windows.
        """
        self._builder.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[T, W]) -> Self:
        """Let ``evictor`` take out elements when a window fires. All elements are then kept."""
        self._builder.evictor(evictor)
        return self

    def allowedLateness(self, lateness: TimeLike) -> Self:
        """Keep event-time windows for so long (ms if an int) after the watermark has passed them:
        elements that come meanwhile fire them again. By default 0.

        Raises IllegalArgumentError if it is negative.
        """
        self._builder.allowedLateness(lateness)
        return self
