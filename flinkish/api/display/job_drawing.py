"""Draws a running job: its graph with the records, and its batches. The web page and the notebook show both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from flinkish.api.display.drawing import STYLE, Arrow, Box, drawing
from flinkish.api.time.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.execution.details import (
        BatchDetails,
        EdgeDetails,
        JobDetails,
        VertexDetails,
    )

PHASES: Sequence[tuple[str, tuple[str, ...]]] = (
    ("Find input", ("latestOffset", "getBatch")),
    ("Plan", ("queryPlanning",)),
    ("Stages", ("stages",)),
    ("Sinks", ("sinks",)),
    ("Commit", ("walCommit", "commitOffsets")),
)
"""The phases of a batch as they are shown, and their names in ``BatchDetails.phases``."""

_RATE_MILLIS = 60_000
_RECENT = 20
_GAP_MILLIS = 10_000
_GAP_BATCHES = 10

JOB_STYLE = f"""{STYLE}
.flinkish-phase-0 {{ --phase: #8593a6; fill: var(--phase); }}
.flinkish-phase-1 {{ --phase: #a678d8; fill: var(--phase); }}
.flinkish-phase-2 {{ --phase: #3f8be0; fill: var(--phase); }}
.flinkish-phase-3 {{ --phase: #35ab77; fill: var(--phase); }}
.flinkish-phase-4 {{ --phase: #e09a35; fill: var(--phase); }}
.flinkish-chart .restart {{ stroke: #d0473f; }}
.flinkish-chart .gap {{ stroke: currentColor; stroke-dasharray: 2 2; }}
.flinkish-chart .cut {{ stroke: #fff; stroke-width: 3; }}
.flinkish-legend {{ display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 12px; margin: 6px 0 0; padding: 0; list-style: none; }}
.flinkish-legend li::before {{ content: ""; display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; background: var(--phase); }}
"""
"""The style of the drawings of a job."""


def job_drawing(details: JobDetails) -> str:
    """The SVG of a job's graph."""
    boxes = [
        Box(
            id=vertex.id,
            title=vertex.name.split(" -> "),
            column=vertex.level,
            lines=_lines(vertex),
            share=None if vertex.isSink else vertex.busyShare,
            hint=vertex.drawing,
        )
        for vertex in details.vertices
    ]
    arrows = [Arrow(e.source, e.target, _label(e), f"{e.records:,}") for e in details.edges]
    return drawing(boxes, arrows, f"The graph of the job {details.name}")


def _lines(vertex: VertexDetails) -> list[tuple[str, str]]:
    if vertex.isSink:
        return [("records", f"in {vertex.numRecordsIn:,}")]
    return [
        ("records", f"in {vertex.numRecordsIn:,} · out {vertex.numRecordsOut:,}"),
        ("busy", f"busy {vertex.busyShare:.0%} · parallelism {vertex.parallelism}"),
        ("watermark", f"watermark {watermark(vertex.currentWatermark)}"),
    ]


def _label(edge: EdgeDetails) -> str:
    return edge.shipStrategy + ("" if edge.sideOutput is None else f" · {edge.sideOutput}")


def watermark(value: int | None) -> str:
    """A watermark as a date."""
    if value is None:
        return "none yet"
    if value == MAX_TIMESTAMP:
        return "end of input"
    try:
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{value} ms"


def recent_rate(details: JobDetails) -> float:
    """The records a second that the sources read in the batches of the last minute."""
    until = details.endTime or details.now
    since = max(until - _RATE_MILLIS, details.startTime)
    recent = [batch for batch in details.batches if batch.startTime >= since]
    took = until - recent[0].startTime if recent else 0
    return 1000 * sum(batch.recordsIn for batch in recent) / took if took > 0 else 0.0


def read_so_far(details: JobDetails) -> str | None:
    """The share of each source of known size that has been read, and the time that the slowest
    still takes, estimated from what this run has read per batch and how long its last batches took;
    None if no source knows its size."""
    own = details.batches[max(len(details.batches) - details.completedBatches, 0) :]
    # The first batch waits for Spark's workers to start
    durations = sorted(batch.duration for batch in (own[1:] or own)[-_RECENT:])
    found: list[str] = []
    left: list[float] = []
    for vertex in details.vertices:
        progress = None if vertex.source is None else vertex.source.backlog.progress
        if progress is None:
            continue
        found.append(f"{progress.unit} {progress.done:,}/{progress.total:,}")
        read, missing = progress.done - progress.before, progress.total - progress.done
        if read > 0 and missing > 0 and durations:
            batches = missing * details.completedBatches / read
            left.append(batches * durations[len(durations) // 2])
    if left and details.endTime is None:
        found.append(f"about {span(max(left))} left")
    return ", ".join(found) or None


def span(milliseconds: float) -> str:
    """A time span for people."""
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    hours = minutes // 60
    return f"{hours} h {minutes % 60} min" if hours < 24 else f"{hours // 24:,} d {hours % 24} h"


def batch_chart(batches: Sequence[BatchDetails], width: int = 480, height: int = 90) -> str:
    """The durations of ``batches`` by phase, as bars. A batch far above all others, such as the first, is
    cut off; a red line marks a restart, a dotted one a long time without a batch."""
    most = _ceiling([batch.duration for batch in batches])
    step = width / max(len(batches), 30)
    bars = []
    for number, batch in enumerate(batches):
        y = float(height)
        parts = []
        for kind, (_, names) in enumerate(PHASES):
            tall = min(sum(batch.phases.get(name, 0) for name in names) / most * height, y)
            y -= tall
            parts.append(
                f'<rect class="flinkish-phase-{kind}" x="{number * step:.1f}" y="{y:.1f}"'
                f' width="{max(step - 1, 0.8):.1f}" height="{tall:.1f}"/>'
            )
        if batch.duration > most:
            parts.append(
                f'<path class="cut" d="M{number * step:.1f},5 h{max(step - 1, 0.8):.1f}"/>'
            )
        bars.append(
            f"<g><title>batch {batch.id}: {batch.duration:,} ms, {batch.recordsIn:,} records</title>"
            f"{''.join(parts)}</g>"
        )
    marks = "".join(
        f'<line class="{kind}" x1="{number * step:.1f}" x2="{number * step:.1f}" y1="0" y2="{height}">'
        f"<title>{text}</title></line>"
        for number, kind, text in _breaks(batches)
    )
    longest = max((batch.duration for batch in batches), default=0)
    legend = "".join(
        f'<li class="flinkish-phase-{n}">{label}</li>' for n, (label, _) in enumerate(PHASES)
    )
    return (
        f'<svg class="flinkish-chart" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="Durations of the last {len(batches)} batches, the longest {longest:,} ms">'
        f'{"".join(bars)}{marks}</svg><ul class="flinkish-legend">{legend}</ul>'
    )


def _ceiling(durations: Sequence[int]) -> float:
    """The end of a chart's axis."""
    if not durations:
        return 1.0
    ordered = sorted(durations)
    most = ordered[-1]
    usual = ordered[int(0.95 * (len(ordered) - 1))]
    return max(1.25 * usual if usual and most > 2.5 * usual else most, 1.0)


def _breaks(batches: Sequence[BatchDetails]) -> Iterator[tuple[int, str, str]]:
    """Restarts and long times without a batch: the position of the next batch, the kind, and a text."""
    pauses = [
        following.startTime - batch.startTime - batch.duration
        for batch, following in pairwise(batches)
    ]
    usual = sorted(pauses)[len(pauses) // 2] if pauses else 0
    for number, (pause, (batch, following)) in enumerate(zip(pauses, pairwise(batches)), 1):
        if following.run != batch.run:
            yield number, "restart", f"restarted before batch {following.id}"
        elif pause > max(_GAP_MILLIS, _GAP_BATCHES * usual):
            yield number, "gap", f"{span(pause)} without a batch before batch {following.id}"
