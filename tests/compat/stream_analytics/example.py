"""The worked example of Azure Stream Analytics: twelve events of three devices."""

from __future__ import annotations

from typing import NamedTuple

MINUTE = 60_000


class Reading(NamedTuple):
    """An event of the example; times in ms."""

    number: int
    at: int
    enqueued: int
    device: str


def clock(text: str) -> int:
    """ "12:07" in ms since midnight."""
    hours, minutes = text.split(":")
    return (int(hours) * 60 + int(minutes)) * MINUTE


def shown(milliseconds: int) -> str:
    """The same the other way round."""
    return f"{milliseconds // MINUTE // 60:02}:{milliseconds // MINUTE % 60:02}"


READINGS = [
    Reading(number, clock(at), clock(enqueued), device)
    for number, (at, enqueued, device) in enumerate(
        [
            ("12:07", "12:07", "d1"),
            ("12:08", "12:08", "d2"),
            ("12:17", "12:11", "d1"),
            ("12:08", "12:13", "d3"),
            ("12:19", "12:16", "d1"),
            ("12:12", "12:17", "d3"),
            ("12:17", "12:18", "d2"),
            ("12:20", "12:19", "d2"),
            ("12:16", "12:21", "d3"),
            ("12:23", "12:22", "d2"),
            ("12:22", "12:24", "d2"),
            ("12:21", "12:27", "d3"),
        ],
        1,
    )
]

Outcome = dict[int, tuple[str | None, str]]
"""By number of the event: its timestamp, None if it is dropped, and the watermark after it."""

ALL_POLICIES: Outcome = {
    1: ("12:07", "12:05"),
    2: ("12:08", "12:06"),
    3: (None, "12:06"),
    4: ("12:08", "12:06"),
    5: ("12:19", "12:17"),
    6: ("12:17", "12:17"),
    7: ("12:17", "12:17"),
    8: ("12:20", "12:18"),
    9: ("12:18", "12:18"),
    10: ("12:23", "12:21"),
    11: ("12:22", "12:21"),
    12: ("12:22", "12:21"),
}
NO_EARLY_POLICY: Outcome = {
    **ALL_POLICIES,
    3: ("12:17", "12:15"),
    4: ("12:15", "12:15"),
}
SUBSTREAMS: Outcome = {
    1: ("12:07", "12:05"),
    2: ("12:08", "12:05"),
    3: (None, "12:05"),
    4: ("12:08", "12:06"),
    5: ("12:19", "12:11"),
    6: ("12:12", "12:11"),
    7: ("12:17", "12:13"),
    8: ("12:20", "12:14"),
    9: ("12:16", "12:14"),
    10: ("12:23", "12:17"),
    11: ("12:22", "12:19"),
    12: ("12:22", "12:20"),
}
"""The watermark is the lowest of the devices', each no further behind the arrival than 5 minutes."""
