"""What event time waits for, in a sentence with the fix: the page, the notebook and the console say it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.api.execution.job_drawing import span, watermark
from flinkish.api.time.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.execution.details import JobDetails, OperatorDetails, WatermarkHold

STUCK_MILLIS = 10_000
"""A watermark that has not moved for so long is worth a word."""


def holds(details: JobDetails) -> list[WatermarkHold]:
    """What keeps the watermark of some operator of a job that runs, each once."""
    if details.status.isGloballyTerminalState():
        return []
    found = {
        (hold.operator, hold.split): hold
        for operator in details.operators.values()
        if (hold := operator.heldBackBy) is not None
        and details.now - hold.since >= STUCK_MILLIS
        and _is_behind(operator, hold)
    }
    return list(found.values())


def waits_for(details: JobDetails) -> str | None:
    """What event time waits for, and what to do about it; None if it goes on."""
    parts = [
        hold.operator
        + ("" if hold.split is None else f", split {hold.split}")
        + f", whose watermark ({watermark(hold.currentWatermark)}) has not moved for"
        f" {span(details.now - hold.since)}"
        for hold in holds(details)
    ]
    if not parts:
        return None
    return (
        " and ".join(parts)
        + "; if it has nothing to say for now, give its strategy withIdleness(...)"
    )


def _is_behind(operator: OperatorDetails, hold: WatermarkHold) -> bool:
    if hold.currentWatermark is None:
        # Without any watermark, and no input that is ahead, the job may have no event time at all
        return any(each.holdsBack for each in operator.inputs)
    return hold.currentWatermark != MAX_TIMESTAMP
