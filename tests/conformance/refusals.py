"""The reason for which Flink refuses a case, and the matching message of flinkish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flinkish.api.errors import (
    FlinkishError,
    IllegalArgumentError,
    InvalidProgramError,
    MissingTimestampError,
    NotSupportedError,
)
from tests.conformance.cases import Case

ARGUMENT = "java.lang.IllegalArgumentException"
UNSUPPORTED = "java.lang.UnsupportedOperationException"
CAST = "java.lang.ClassCastException"
RUNTIME = "java.lang.RuntimeException"


@dataclass(frozen=True)
class Refusal:
    """A reason to refuse a job: Flink's exception and words of its message, and flinkish's error.

    ``words`` are in flinkish's message, with a case's fields put in where they are in braces.
    ``building`` tells whether it is known before an element comes.
    """

    exception: str
    message: str
    error: type[FlinkishError]
    building: bool
    words: tuple[str, ...]

    def covers(self, case: Case) -> bool:
        """Whether it is why Flink refuses ``case``."""
        return case.data["exception"] == self.exception and self.message in case.data["message"]

    def check(self, refusal: FlinkishError, case: Case) -> None:
        """Fail unless ``refusal`` is what ``case`` is to be refused with."""
        assert type(refusal) is self.error
        for words in self.words:
            assert words.format_map(_fields(case.data)) in str(refusal)


REFUSALS = (
    Refusal(
        ARGUMENT,
        "EventTimeSessionWindows parameters must satisfy 0 < size",
        IllegalArgumentError,
        True,
        ("EventTimeSessionWindows: gap is {gap} ms", "Pass a longer length of time"),
    ),
    Refusal(
        ARGUMENT,
        "SlidingEventTimeWindows parameters must satisfy abs(offset) < slide and size > 0",
        IllegalArgumentError,
        True,
        (
            "SlidingEventTimeWindows: size is {size} ms, slide {slide} ms and offset {offset} ms",
            "Choose a size and a slide above 0, and an offset within the slide.",
        ),
    ),
    Refusal(
        ARGUMENT,
        "TumblingEventTimeWindows parameters must satisfy abs(offset) < size",
        IllegalArgumentError,
        True,
        (
            "TumblingEventTimeWindows: size is {size} ms and offset {offset} ms",
            "Choose a size above 0, and an offset within it.",
        ),
    ),
    Refusal(
        ARGUMENT,
        "The allowed lateness cannot be negative.",
        IllegalArgumentError,
        True,
        ("allowedLateness: {allowedLateness} ms is negative", "Pass 0"),
    ),
    Refusal(
        ARGUMENT,
        "lowerBound <= upperBound must be fulfilled",
        IllegalArgumentError,
        True,
        ("intervalJoin: the lower bound ({lower} ms) is above the upper bound ({upper} ms)",),
    ),
    Refusal(
        UNSUPPORTED,
        "merging window assigner cannot be used with a trigger that does not support merging",
        InvalidProgramError,
        True,
        (
            "trigger: windows of {assigner}(",
            "merge, but {trigger}(",
            "does not support merging",
            "Use a trigger that can merge",
        ),
    ),
    Refusal(
        CAST,
        "GlobalWindow cannot be cast to class",
        InvalidProgramError,
        True,
        ("window: {trigger}(", "works on a TimeWindow, but GlobalWindows(", "CountTrigger.of("),
    ),
    Refusal(
        ARGUMENT,
        "Dynamic session time gap must satisfy 0 < gap",
        IllegalArgumentError,
        False,
        ("{assigner}: the gap of the element {element} is {element[1]} ms", "at least 1"),
    ),
    Refusal(
        RUNTIME,
        "Record has Long.MIN_VALUE timestamp",
        MissingTimestampError,
        False,
        (
            "{assigner}: the element {element} has no timestamp",
            "Call assignTimestampsAndWatermarks",
        ),
    ),
    Refusal(
        UNSUPPORTED,
        "Per-window state is not allowed when using merging windows",
        InvalidProgramError,
        False,
        (
            "windowState:",
            "state per window, but windows of {assigner}(",
            "Use globalState(), or a window assigner that does not merge.",
        ),
    ),
    Refusal(
        UNSUPPORTED,
        "end timestamp of an event-time window cannot become earlier than the current watermark",
        NotSupportedError,
        False,
        (
            "{assigner}: windows were merged into TimeWindow(",
            "plus the allowed lateness of {allowedLateness} ms exceeds the largest timestamp",
            "Choose a smaller allowedLateness.",
        ),
    ),
)


def refusal_of(case: Case) -> Refusal:
    """The reason of ``case``."""
    (refusal,) = (refusal for refusal in REFUSALS if refusal.covers(case))
    return refusal


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    """The settings of a job by name, the kinds of its parts, and the first element."""
    fields = {**data, **data["function"], **(data.get("assigner") or {})}
    fields["element"] = tuple(data["input"][0][1:-1])
    for part in ("assigner", "trigger"):
        fields[part] = (data.get(part) or {}).get("kind")
    return fields
