"""Bucket assigners: which directory of a ``FileSink`` an element goes to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from typing import Any, Generic
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from flinkish.api.arguments import text
from flinkish.api.errors import IllegalArgumentError, NotSupportedError, shown
from flinkish.api.type_variables import T_contra


class BucketAssigner(ABC, Generic[T_contra]):
    """Says which bucket an element goes to (Flink: ``BucketAssigner``).

    A bucket is the directory ``bucket=<id>`` in that of the batch. So Spark reads the files as a
    table with the partition columns ``batch`` and ``bucket``, and only those buckets that a query
    needs.

    >>> class ByUser(BucketAssigner[dict[str, str]]):
    ...     def getBucketId(self, element, context):
    ...         return element["user"]
    """

    @dataclass
    class Context:
        """The times that an assigner may use besides the element (Flink:
        ``BucketAssigner.Context``)."""

        _processing_time: int
        _timestamp: int | None = None

        def currentProcessingTime(self) -> int:
            """The current time in ms, when the elements leave the last operator."""
            return self._processing_time

        def timestamp(self) -> int | None:
            """The timestamp of the element in ms, None if it has none."""
            return self._timestamp

        def currentWatermark(self) -> int:
            """Not supported: a sink gets no watermark. Raises NotSupportedError."""
            raise NotSupportedError(
                "BucketAssigner: a sink gets no watermark. Use timestamp(), or ask for the watermark in"
                " a ProcessFunction before the sink and emit it with the element."
            )

    @abstractmethod
    def getBucketId(self, element: T_contra, context: BucketAssigner.Context) -> str:
        """Called for each element; returns the id of its bucket, a text that is not empty."""


class BasePathBucketAssigner(BucketAssigner[Any]):
    """No buckets (Flink: ``BasePathBucketAssigner``): all files of a batch are in its directory."""

    def getBucketId(self, element: Any, context: BucketAssigner.Context) -> str:
        return ""


@dataclass(frozen=True)
class DateTimeBucketAssigner(BucketAssigner[Any]):
    """Buckets by the processing time (Flink: ``DateTimeBucketAssigner``), formatted by
    ``formatString`` in the time zone ``zoneId``, by default that of the machine.

    The format takes Java's letters ``yyyy``, ``MM``, ``dd``, ``HH``, ``mm`` and ``ss``, and text,
    which must be in single quotes if it contains letters.

    >>> assigner = DateTimeBucketAssigner("yyyy-MM-dd--HH", "UTC")
    >>> assigner.getBucketId("element", BucketAssigner.Context(0))
    '1970-01-01--00'
    """

    formatString: str = "yyyy-MM-dd--HH"
    zoneId: str | None = None

    def __post_init__(self) -> None:
        text("DateTimeBucketAssigner: formatString", self.formatString)
        _format_codes(self.formatString)
        if self.zoneId is not None:
            text("DateTimeBucketAssigner: zoneId", self.zoneId)
            _zone(self.zoneId)

    def getBucketId(self, element: Any, context: BucketAssigner.Context) -> str:
        time = datetime.fromtimestamp(context.currentProcessingTime() / 1000, self._zone)
        return time.strftime(self._codes)

    @cached_property
    def _codes(self) -> str:
        return _format_codes(self.formatString)

    @cached_property
    def _zone(self) -> tzinfo | None:
        return None if self.zoneId is None else _zone(self.zoneId)


_CODES = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
}

_PARTS = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+|'")


def _format_codes(pattern: str) -> str:
    """Converts a date format of Java to one of ``strftime``."""
    codes = ""
    for part in _PARTS.finditer(pattern):
        found, quoted = part[0], part[1]
        if quoted is not None:
            codes += (quoted.replace("''", "'") or "'").replace("%", "%%")
        elif found in _CODES:
            codes += _CODES[found]
        elif found[0].isalpha() or found == "'":
            raise IllegalArgumentError(
                f"DateTimeBucketAssigner: {shown(pattern)} has {found!r}, which is none of"
                f" {', '.join(_CODES)}. Use these, put text in single quotes, or derive a class from"
                " BucketAssigner."
            )
        else:
            codes += found.replace("%", "%%")
    return codes


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise IllegalArgumentError(
            f"DateTimeBucketAssigner: there is no time zone {shown(name)}. Pass one such as"
            ' "Europe/Berlin" or "UTC".'
        ) from None
