"""Elements as the lines that a ``FileSink`` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from flinkish.api.errors import UnfitElementError, shown
from flinkish.runtime.formats.csv_lines import csv_line
from flinkish.runtime.formats.json_lines import JsonLine
from flinkish.runtime.records.user_code import mapped


def element_line(format_: str, timeZone: str) -> Callable[[Any], str]:
    """What makes a line of an element, in that format; times are of ``timeZone``."""
    if format_ == "json":
        return JsonLine(timeZone)
    return csv_line if format_ == "csv" else str


def element_lines(operator: str, line: Callable[[Any], str], values: Sequence[Any]) -> pa.Array:
    """A line for each of ``values``. Raises UnfitElementError, which names ``operator``, for a text that
    UTF-8 cannot write."""
    lines = mapped(operator, line, values)
    try:
        return pa.array(lines, pa.string())
    except UnicodeEncodeError as error:
        culprit = next(v for v, line in zip(values, lines) if line == error.object)
        raise UnfitElementError(
            f"the element {shown(culprit)} holds text that UTF-8 cannot write, half of a surrogate"
            ' pair. Take it out with text.encode("utf-8", "replace").decode() before the sink.',
            operator,
        ) from None
