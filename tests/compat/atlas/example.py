"""The worked examples of MongoDB Atlas: its tables, in minutes after 12:00."""

from __future__ import annotations

from typing import NamedTuple

from flinkish.testing import StreamTestHarness

MINUTE = 60_000
NOON = 12 * 60 * MINUTE


def at(minute: int) -> int:
    """12:00 and so many minutes, in ms."""
    return NOON + minute * MINUTE


class Arrival(NamedTuple):
    """An event and the processing time at which it is consumed."""

    event: int
    processed: int


WATERMARKS = [
    Arrival(*row)
    for row in [(0, 0), (0, 1), (1, 3), (3, 4), (2, 5), (1, 6), (4, 6), (5, 7), (6, 7), (6, 8)]
]
"""Windows of 5 minutes with a watermark and without."""

LATENESS = [
    # event, watermark, the same less the allowed lateness
    (0, 0, -2),
    (1, 1, -1),
    (3, 3, 1),
    (2, 3, 1),
    (4, 4, 2),
    (1, 4, 2),
    (5, 5, 3),
    (6, 6, 4),
    (4, 6, 4),
    (7, 7, 5),
]
"""Windows of 5 minutes with an allowed lateness of 2."""

IDLENESS: list[tuple[int, int | None, int]] = [
    # processing time, event or None if the source is idle, watermark
    (0, 0, 0),
    (1, None, 0),
    (2, None, 0),
    (3, None, 0),
    (4, 2, 2),
    (5, 5, 5),
    (6, None, 5),
    (7, None, 6),
    (8, None, 6),
    (9, 9, 9),
]
"""Windows of 3 minutes with an idle timeout of 1. (The document's table says 12:00 for the watermark
at 12:07 and 12:08, its text 12:06; a watermark never falls.)"""


def step(harness: StreamTestHarness, minute: int, event: int | None) -> None:
    """The clock comes to that minute. An event comes a second before, as it counts before a timeout
    that is over at that moment, and the watermark follows it within the auto-watermark interval."""
    if event is not None:
        harness.setProcessingTime(at(minute) - 1_000)
        harness.processElement(at(event))
    harness.setProcessingTime(at(minute))
