"""Count windows: the global window with a count trigger, and an evictor if they slide, as in Flink."""

from __future__ import annotations

from typing import Any, TypeVar

from flinkish.api.windowing.evictors import CountEvictor
from flinkish.api.windowing.triggers import CountTrigger, PurgingTrigger

S = TypeVar("S", bound=Any)


def count_window(stream: S, size: int, slide: int | None) -> S:
    """Set the trigger of count windows on a windowed stream, and the evictor if they have a slide."""
    windowed: S = stream
    if slide is None:
        windowed.trigger(PurgingTrigger.of(CountTrigger.of(size)))
    else:
        windowed.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))
    return windowed
