"""Events with a lifetime: points, intervals, and edges that mark the start and the end of an
interval.

A lifetime is ``[startTime, endTime)``, in ms. The shapes are StreamInsight's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeAlias, Union

from flinkish.api.arguments import instance, time_in_millis
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.stored_names import stored_as
from flinkish.api.type_variables import T, X

_set = object.__setattr__

TICK: Final = 1
"""The smallest step of time, in ms."""


@stored_as("streaminsight.PointEvent")
@dataclass(frozen=True)
class PointEvent(Generic[T]):
    """Something that happens at a point in time, ``startTime`` in ms: it lives for a tick
    (StreamInsight: ``PointEvent``).

    >>> PointEvent(1_000, "ada").endTime
    1001
    """

    startTime: int
    payload: T

    @property
    def endTime(self) -> int:
        """A tick after the start."""
        return self.startTime + TICK

    @property
    def syncTime(self) -> int:
        """The time from which on the event changes what is known: its timestamp."""
        return self.startTime


@stored_as("streaminsight.IntervalEvent")
@dataclass(frozen=True)
class IntervalEvent(Generic[T]):
    """Something that lasts, its end known from the start; both in ms (StreamInsight:
    ``IntervalEvent``). Raises IllegalArgumentError unless the end is after the start."""

    startTime: int
    endTime: int
    payload: T

    def __post_init__(self) -> None:
        time_in_millis("IntervalEvent: startTime", self.startTime)
        if time_in_millis("IntervalEvent: endTime", self.endTime) <= self.startTime:
            raise IllegalArgumentError(
                f"IntervalEvent: it would end at {self.endTime}, but start at {self.startTime}. The"
                " end must be after the start."
            )

    @property
    def syncTime(self) -> int:
        """The time from which on the event changes what is known: its timestamp."""
        return self.startTime


def part_of_interval(startTime: int, endTime: int, payload: X) -> IntervalEvent[X]:
    """An ``IntervalEvent`` that is known to be right. Windows make one for each event that they have, and the checks
    of the constructor take most of its time."""
    event = object.__new__(IntervalEvent)
    _set(event, "startTime", startTime)
    _set(event, "endTime", endTime)
    _set(event, "payload", payload)
    return event


@stored_as("streaminsight.EdgeType")
class EdgeType(Enum):
    """The end of a lifetime that an edge event marks (StreamInsight: ``EdgeType``)."""

    Start = "Start"
    End = "End"


@stored_as("streaminsight.EdgeEvent")
@dataclass(frozen=True)
class EdgeEvent(Generic[T]):
    """The start or the end of something that lasts, in ms (StreamInsight: ``EdgeEvent``).

    An end repeats start and payload: they tell what it is the end of. An end at the start takes the
    event back: it has not lasted, so it is in no window and joins with nothing.
    """

    edgeType: EdgeType
    startTime: int
    payload: T
    endTime: int | None = None
    """None at a start, when the end is not known yet."""

    def __post_init__(self) -> None:
        fix = "Write EdgeEvent.createStart(start, payload) or EdgeEvent.createEnd(start, end, payload)."
        instance("EdgeEvent: edgeType", self.edgeType, EdgeType, fix)
        time_in_millis("EdgeEvent: startTime", self.startTime)
        if self.endTime is not None:
            time_in_millis("EdgeEvent: endTime", self.endTime)
        if (self.edgeType is EdgeType.End) != (self.endTime is not None):
            raise IllegalArgumentError(
                f"EdgeEvent: a {self.edgeType.value} edge with the end time {self.endTime}. Write"
                " EdgeEvent.createStart(start, payload), EdgeEvent.createEnd(start, end, payload)."
            )
        if self.endTime is not None and self.endTime < self.startTime:
            raise IllegalArgumentError(
                f"EdgeEvent: it would end at {self.endTime}, but start at {self.startTime}. The end"
                " cannot be before the start; at the start it takes the event back."
            )

    @staticmethod
    def createStart(startTime: int, payload: X) -> EdgeEvent[X]:
        """Something begins."""
        return EdgeEvent(EdgeType.Start, startTime, payload)

    @staticmethod
    def createEnd(startTime: int, endTime: int, payload: X) -> EdgeEvent[X]:
        """Create the end of the event that began at ``startTime`` with ``payload``."""
        return EdgeEvent(EdgeType.End, startTime, payload, endTime)

    @property
    def syncTime(self) -> int:
        """The time from which on the event changes what is known: the start, or the end at an
        end."""
        return self.startTime if self.endTime is None else self.endTime


TemporalEvent: TypeAlias = Union[PointEvent[T], IntervalEvent[T], EdgeEvent[T]]
"""An event of any shape."""
