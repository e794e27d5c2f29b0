"""Says in a sentence what event time waits for, with the fix, for the page, the notebook, the console and the log."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import TYPE_CHECKING

from flinkish.api.display.follower import follow
from flinkish.api.display.job_drawing import span, watermark
from flinkish.api.time.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient
    from flinkish.api.execution.details import JobDetails, OperatorDetails, WatermarkHold

_LOG = logging.getLogger("flinkish")

_POLL_SECONDS = 2.0

_BATCHES = 3
"""A watermark may stand still for the time that this many batches usually take."""

STUCK_MILLIS = 10_000
"""A watermark that has not advanced for this long is reported."""


def waits_for(details: JobDetails, stuckMillis: int = STUCK_MILLIS) -> str | None:
    """Describe what event time waits for and what to do about it; None if it advances."""
    parts = [
        hold.operator
        + ("" if hold.split is None else f", split {hold.split}")
        + f", whose watermark ({watermark(hold.currentWatermark)}) has not moved for"
        f" {span(_waiting_until(details) - hold.since)}; {_fix(details, hold, ahead, stuckMillis)}"
        for hold, ahead in _holds(details, stuckMillis)
    ]
    return "; and for ".join(parts) or None


def is_held(
    details: JobDetails, operator: OperatorDetails, stuckMillis: int = STUCK_MILLIS
) -> bool:
    """Whether the watermark of an operator waits for one that does not move."""
    hold = operator.heldBackBy
    if details.status.isGloballyTerminalState() or hold is None:
        return False
    waited = _waiting_until(details) - hold.since
    return waited >= _patience(details, stuckMillis) and _is_behind(operator, hold)


def _waiting_until(details: JobDetails) -> int:
    """The time (ms) until which the job has waited: while a batch runs, it works."""
    return details.now if details.batchSince is None else details.batchSince


def _patience(details: JobDetails, stuckMillis: int) -> int:
    """The time (ms) that a watermark may stand still: a job with batches an hour apart is not stuck for an hour."""
    starts = [batch.startTime for batch in details.batches[-20:]]
    apart = sorted(later - earlier for earlier, later in pairwise(starts))
    return max(stuckMillis, _BATCHES * apart[len(apart) // 2] if apart else 0)


def warn_of_silence(client: JobClient) -> None:
    """Log once what event time waits for, when a job has emitted nothing for ten seconds, and the
    error of a job that has failed while nobody waits for it."""
    follow(_Silence(client).look, _POLL_SECONDS)


class _Silence:
    """The time for which a job has emitted nothing."""

    def __init__(self, client: JobClient) -> None:
        self._client = client
        self._written = -1
        self._since = 0

    def look(self) -> bool:
        """Whether the job is to be looked at again."""
        if self._client.getJobStatus().isGloballyTerminalState():
            _tell_failure(self._client)
            return False
        details = self._client.getJobDetails()
        if (written := _written(details)) != self._written:
            self._written, self._since = written, details.now
        silence = _waiting_until(details) - self._since
        silent = silence >= STUCK_MILLIS and _has_timers(details)
        waiting = waits_for(details, STUCK_MILLIS) if silent else None
        if waiting is None:
            return True
        _LOG.warning(
            "%s: nothing has come out for %s. Event time waits for %s.",
            details.name,
            span(silence),
            waiting,
        )
        return False


def _tell_failure(client: JobClient) -> None:
    details = client.getJobDetails()
    if details.status.value == "FAILED" and not client.isAwaited and details.exceptions:
        error = details.exceptions[0]
        _LOG.error("%s has failed: %s: %s", details.name, error.type, error.message)


def _has_timers(details: JobDetails) -> bool:
    """Whether an operator that is held back has registered timers: without timers nothing in it
    waits for event time."""
    return any(o.metrics.timers and o.heldBackBy for o in details.operators.values())


def _written(details: JobDetails) -> int:
    """The records that sinks and SinkFunctions, which are operators, have received."""
    called = (
        operator.metrics.numRecordsIn
        for operator in details.operators.values()
        if operator.metrics.name.startswith("Sink: ")
    )
    return sum(called) + sum(vertex.numRecordsIn for vertex in details.vertices if vertex.isSink)


def _holds(details: JobDetails, stuckMillis: int) -> list[tuple[WatermarkHold, int | None]]:
    """Find the inputs that hold back the watermark of some operator, each with the watermark of the
    input that is furthest ahead there, None if no other input is."""
    found: dict[tuple[str, str | None], tuple[WatermarkHold, int | None]] = {}
    for operator in details.operators.values():
        hold = operator.heldBackBy
        if hold is None or not is_held(details, operator, stuckMillis):
            continue
        key = hold.operator, hold.split
        known = [found[key][1]] if key in found else []
        ahead = [each for each in (*known, _ahead(operator)) if each is not None]
        found[key] = hold, max(ahead, default=None)
    return list(found.values())


def _ahead(operator: OperatorDetails) -> int | None:
    """The highest watermark of the inputs of an operator if one of them holds back the others."""
    if not any(each.holdsBack for each in operator.inputs):
        return None
    known = (each.currentWatermark for each in operator.inputs if not each.idle)
    return max((watermark for watermark in known if watermark is not None), default=None)


def _fix(details: JobDetails, hold: WatermarkHold, ahead: int | None, stuckMillis: int) -> str:
    """Describe what to do about a hold, whether its elements are missing or too old."""
    moved = "a later timestamp or the end of the input moves it"
    if not hold.isGenerated and hold.currentWatermark is None:
        return "give it timestamps and watermarks with assignTimestampsAndWatermarks(...)"
    last = hold.lastElement
    if last is None or _waiting_until(details) - last >= _patience(details, stuckMillis):
        idle = "give its strategy withIdleness(...)" if ahead is not None else moved
        return f"no elements come from there: {idle}"
    latest = hold.lastTimestamp
    coming = "elements keep coming from there"
    if latest is not None:
        coming += f", the latest at {watermark(latest)}"
        if ahead is not None and latest < ahead != MAX_TIMESTAMP:
            coming += f", older than the watermark of others ({watermark(ahead)})"
    if hold.currentWatermark is None:
        return (
            f"{coming}, but its strategy has emitted no watermark: withIdleness does not help,"
            " check its WatermarkGenerator"
        )
    return f"{coming}, and do not move it: withIdleness does not help, check their timestamps"


def _is_behind(operator: OperatorDetails, hold: WatermarkHold) -> bool:
    if hold.currentWatermark is None:
        # Without any watermark, and without an input that is ahead, the job may not use event time at all
        return operator.waitsForEventTime or any(each.holdsBack for each in operator.inputs)
    return hold.currentWatermark != MAX_TIMESTAMP
