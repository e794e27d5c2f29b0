"""What a notebook shows of a job: its graph, its state in a few lines, and how it goes on."""

from __future__ import annotations

import sys
import threading
import time
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

from flinkish.api.execution.drawing import STYLE, Arrow, Box, drawing
from flinkish.api.time.elements import MAX_TIMESTAMP

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient, JobExecutionResult
    from flinkish.api.execution.details import JobDetails

_SECONDS = 1.0
_BARS = 120


def in_notebook() -> bool:
    """Whether this program is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def graph_html(svg: str) -> str:
    """A drawing with its style."""
    return f"<style>{STYLE}</style><div style='overflow-x:auto'>{svg}</div>"


def job_html(details: JobDetails) -> str:
    """A job: its status, its graph, and its last batches."""
    boxes = [
        Box(
            vertex.id,
            vertex.name.split(" -> "),
            vertex.level,
            [("records", f"in {vertex.numRecordsIn:,} · out {vertex.numRecordsOut:,}")]
            + ([] if vertex.isSink else [("busy", f"busy {vertex.busyShare:.0%}")]),
        )
        for vertex in details.vertices
    ]
    arrows = [Arrow(e.source, e.target, e.shipStrategy, f"{e.records:,}") for e in details.edges]
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(details).items()
    )
    svg = drawing(boxes, arrows, f"The graph of the job {details.name}")
    return f"<b>{escape(details.name)}</b><table>{rows}</table>{_bars(details)}{graph_html(svg)}"


def result_html(result: JobExecutionResult) -> str:
    """A job that has ended: what its operators did."""
    heads = ("operator", "records in", "records out", "late dropped")
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(name)}</td><td>{found.numRecordsIn:,}</td>"
        f"<td>{found.numRecordsOut:,}</td><td>{found.numLateRecordsDropped:,}</td></tr>"
        for name, found in result.getMetrics().items()
    )
    return (
        f"<b>{escape(result.jobName)}</b>, {result.getNetRuntime() / 1000:.1f} s"
        f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{rows}</table>"
    )


def facts(details: JobDetails) -> dict[str, str]:
    """What to know of a job, in a few words each."""
    read = sum(vertex.numRecordsIn for vertex in details.vertices if vertex.isSource)
    late = sum(o.metrics.numLateRecordsDropped for o in details.operators.values())
    last = details.batches[-1] if details.completedBatches else None
    seconds = ((details.endTime or details.now) - details.startTime) / 1000
    told = {
        "status": details.status.value,
        "running for": f"{seconds:.0f} s",
        "batches": f"{details.completedBatches:,}",
        "records in": f"{read:,} ({read / seconds if seconds > 0 else 0:,.0f}/s)",
        "late dropped": f"{late:,}",
        "watermark": _watermark(details),
    }
    if last is not None:
        told["last batch"] = f"{last.duration / 1000:.1f} s, {last.recordsIn:,} records"
    if details.exceptions and details.status.value == "FAILED":
        told["error"] = details.exceptions[0].message
    return told


def show(client: JobClient) -> None:
    """Show a job while it runs."""
    if in_notebook():
        try:
            import ipywidgets
            from IPython.display import display
        except ImportError:
            pass
        else:
            _show_widget(client, ipywidgets, display)
            return
    with client.cancelledOnInterrupt():
        _show_text(client)


def _show_widget(client: JobClient, ipywidgets: Any, display: Any) -> None:
    view = ipywidgets.HTML(job_html(client.getJobDetails()))
    stop = ipywidgets.Button(description="Stop", button_style="danger")
    stop.on_click(lambda _: client.cancelSoon())
    display(ipywidgets.VBox([view, stop]))

    def follow() -> None:
        running = True
        while running:
            time.sleep(_SECONDS)
            details = client.getJobDetails()
            running = details.status.value == "RUNNING"
            view.value = job_html(details)
        stop.disabled = True

    threading.Thread(target=follow, name="flinkish show", daemon=True).start()


def _show_text(client: JobClient) -> None:
    shown = ""
    while True:
        details = client.getJobDetails()
        told = facts(details)
        line = f"{details.name}: " + ", ".join(
            f"{name} {value}" for name, value in told.items() if name != "running for"
        )
        if line != shown:
            print(line, flush=True)
            shown = line
        if details.status.value != "RUNNING":
            return
        time.sleep(_SECONDS)


def _watermark(details: JobDetails) -> str:
    known = [o.metrics.currentWatermark for o in details.operators.values()]
    watermarks = [watermark for watermark in known if watermark is not None]
    if not watermarks:
        return "none"
    lowest = min(watermarks)
    if lowest == MAX_TIMESTAMP:
        return "end of input"
    behind = (details.now - lowest) / 1000
    try:
        at = datetime.fromtimestamp(lowest / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{lowest} ms"
    return f"{at}, {behind:,.0f} s behind the clock"


def _bars(details: JobDetails) -> str:
    """The durations of the last batches, as bars."""
    batches = details.batches[-_BARS:]
    if not batches:
        return ""
    most = max(max(batch.duration for batch in batches), 1)
    bars = "".join(
        f"<rect x='{4 * number}' y='{40 - 40 * batch.duration / most:.1f}' width='3'"
        f" height='{40 * batch.duration / most:.1f}'><title>batch {batch.id}: {batch.duration} ms"
        "</title></rect>"
        for number, batch in enumerate(batches)
    )
    return (
        f"<svg width='{4 * len(batches)}' height='40' fill='currentColor' fill-opacity='.5' role='img'"
        f" aria-label='Durations of the last {len(batches)} batches'>{bars}</svg>"
    )
