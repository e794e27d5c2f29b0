"""Warns of timestamps that seem to be in seconds rather than in milliseconds."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from flinkish.api.functions.adapt import named

_LOG = logging.getLogger("flinkish")

EARLIEST, LATEST = 500_000_000, 2_678_400_000
"""In seconds this range is 1985 to 2054, in milliseconds it is in January 1970."""

_told: set[tuple[str, str]] = set()


def warn_of_seconds(operator: str, assigner: object, timestamp: int) -> None:
    """Log once, if ``timestamp`` is in January 1970, its date in milliseconds and in seconds."""
    if not EARLIEST <= timestamp < LATEST:
        return
    by = "that the elements came with" if assigner is None else f"of {named(assigner)}"
    if (operator, by) in _told:
        return
    _told.add((operator, by))
    begin = datetime(1970, 1, 1)
    millis, seconds = (begin + timedelta(seconds=s) for s in (timestamp // 1000, timestamp))
    _LOG.warning(
        "%s: the timestamp %d %s is on %s in milliseconds, and on %s in seconds. If these are seconds, multiply them"
        " by 1000.",
        operator,
        timestamp,
        by.rstrip(","),
        f"{millis:%Y-%m-%d}",
        f"{seconds:%Y-%m-%d}",
    )
