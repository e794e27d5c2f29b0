"""Shows a job in a notebook: its graph, its state in a few lines, and its progress."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from flinkish.api.display.follower import follow
from flinkish.api.display.holds import waits_for
from flinkish.api.display.job_drawing import (
    JOB_STYLE,
    batch_chart,
    job_drawing,
    read_so_far,
    recent_rate,
    span,
    watermark,
)
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
    return f"<style>{JOB_STYLE}</style><div style='overflow-x:auto'>{svg}</div>"


def job_html(details: JobDetails) -> str:
    """A job: its status, its graph, and its last batches."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(details).items()
    )
    chart = batch_chart(details.batches[-_BARS:]) if details.batches else ""
    graph = graph_html(job_drawing(details))
    return f"<b>{escape(details.name)}</b><table>{rows}</table>{chart}{graph}"


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
    """The main facts about a job, in a few words each."""
    read = sum(vertex.numRecordsIn for vertex in details.vertices if vertex.isSource)
    late = sum(o.metrics.numLateRecordsDropped for o in details.operators.values())
    last = details.batches[-1] if details.completedBatches else None
    ran = (details.endTime or details.now) - details.startTime
    so_far = read_so_far(details)
    told = {
        "status": details.status.value,
        "running for": span(ran),
        "batches": f"{details.completedBatches:,}",
        **({} if so_far is None else {"read": so_far}),
        "records in": f"{read:,} ({recent_rate(details):,.0f}/s)",
        "late dropped": f"{late:,}",
        "watermark": _watermark(details),
    }
    waiting = waits_for(details)
    if waiting is not None:
        told["waits for"] = waiting
    if last is not None:
        told["last batch"] = f"{span(last.duration)}, {last.recordsIn:,} records"
    if details.numRestarts:
        told["restarts"] = f"{details.numRestarts:,}"
    left = {k: v for o in details.operators.values() for k, v in o.metrics.leftColumns.items()}
    if left:
        told["left the columns"] = "; ".join(f"{name} {found}" for name, found in left.items())
    if details.exceptions and details.status.value in ("FAILED", "RESTARTING"):
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

    def look() -> bool:
        details = client.getJobDetails()
        view.value = job_html(details)
        stop.disabled = details.status.isGloballyTerminalState()
        return not stop.disabled

    follow(look, _SECONDS, _SECONDS)


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
        if details.status.isGloballyTerminalState():
            return
        time.sleep(_SECONDS)


def _watermark(details: JobDetails) -> str:
    known = [o.metrics.currentWatermark for o in details.operators.values()]
    watermarks = [watermark for watermark in known if watermark is not None]
    if not watermarks:
        return "none"
    without = [
        o.metrics.name
        for o in details.operators.values()
        if o.metrics.currentWatermark is None and any(each.holdsBack for each in o.inputs)
    ]
    if without:
        return f"none yet at {without[0]}"
    lowest = min(watermarks)
    if lowest == MAX_TIMESTAMP:
        return "end of input"
    return f"{watermark(lowest)}, {_lag(details.now - lowest)}"


def _lag(milliseconds: int) -> str:
    if milliseconds < 0:
        return f"{span(-milliseconds)} ahead of the clock"
    return f"{span(milliseconds)} behind the clock"
