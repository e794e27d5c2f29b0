"""The progress of reading a source: ``ReadProgress`` for a source with an end,
``SourceBacklog`` for any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReadProgress:
    """The progress of reading a bounded source."""

    done: int
    total: int
    """The total so far."""
    unit: str
    """The unit of the counts, such as "files"."""
    before: int = 0
    """The part of ``done`` that was read before this run of the job."""


@dataclass(frozen=True)
class SourceBacklog:
    """The amount of a source that had been read when a batch was planned, and the amount left; None
    where unknown."""

    progress: ReadProgress | None = None
    pendingRecords: int | None = None
    """The records that were available but in no batch yet (Flink's metric of that name)."""
    pendingBytes: int | None = None
    """The bytes that were available but in no batch yet."""

    @staticmethod
    def of(found: Mapping[str, Any]) -> SourceBacklog:
        """The inverse of ``asDict``."""
        progress = found.get("progress")
        return SourceBacklog(
            None if progress is None else ReadProgress(*progress),
            found.get("pendingRecords"),
            found.get("pendingBytes"),
        )

    def asDict(self) -> dict[str, Any]:
        """The known values, for JSON."""
        read = self.progress
        known = {
            "progress": None if read is None else [read.done, read.total, read.unit, read.before],
            "pendingRecords": self.pendingRecords,
            "pendingBytes": self.pendingBytes,
        }
        return {name: value for name, value in known.items() if value is not None}


UNKNOWN_BACKLOG = SourceBacklog()
"""The backlog of a source that does not know how much there is."""
