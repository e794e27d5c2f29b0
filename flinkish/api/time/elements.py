"""The elements of a stream: records with timestamps, watermarks, and watermark statuses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Generic, TypeAlias

from flinkish.api.stored_names import stored_as
from flinkish.api.type_variables import T_co

MIN_TIMESTAMP: Final = -(2**63)
"""Java's ``Long.MIN_VALUE``: the watermark before the first, and the mark of a missing timestamp."""


MAX_TIMESTAMP: Final = 2**63 - 1
"""Java's ``Long.MAX_VALUE``: the watermark after the last element."""


def earliest(times: Iterable[int | None]) -> int | None:
    """The earliest of ``times`` (ms), without those that are None; None if there is none.

    >>> earliest([None, 2000, 1000])
    1000
    """
    return min((time for time in times if time is not None), default=None)


@stored_as("StreamRecord")
@dataclass(frozen=True)
class StreamRecord(Generic[T_co]):
    """An element and its timestamp in ms, None where it has none (Flink: ``StreamRecord``)."""

    value: T_co
    timestamp: int | None = None

    def getValue(self) -> T_co:
        """The element."""
        return self.value

    def getTimestamp(self) -> int | None:
        """The timestamp in ms since the epoch, or None."""
        return self.timestamp

    def hasTimestamp(self) -> bool:
        """Whether the element has a timestamp."""
        return self.timestamp is not None


@stored_as("Watermark")
@dataclass(frozen=True, order=True)
class Watermark:
    """The promise that no element with a timestamp <= ``timestamp`` (ms) will follow (Flink:
    ``Watermark``). ``Watermark.MAX_WATERMARK`` is the last of a stream that has ended.

    >>> Watermark(999) < Watermark.MAX_WATERMARK
    True
    """

    timestamp: int

    MAX_WATERMARK: ClassVar[Watermark]

    def getTimestamp(self) -> int:
        """The timestamp in ms."""
        return self.timestamp


Watermark.MAX_WATERMARK = Watermark(MAX_TIMESTAMP)


@stored_as("WatermarkStatus")
@dataclass(frozen=True)
class WatermarkStatus:
    """Whether an input takes part in the watermark: idle inputs do not hold it back (Flink:
    ``WatermarkStatus``)."""

    idle: bool

    IDLE: ClassVar[WatermarkStatus]
    ACTIVE: ClassVar[WatermarkStatus]

    def isIdle(self) -> bool:
        """True if the input is idle."""
        return self.idle

    def isActive(self) -> bool:
        """True if the input is active."""
        return not self.idle


WatermarkStatus.IDLE = WatermarkStatus(True)


WatermarkStatus.ACTIVE = WatermarkStatus(False)


StreamElement: TypeAlias = "StreamRecord[T_co] | Watermark | WatermarkStatus"
