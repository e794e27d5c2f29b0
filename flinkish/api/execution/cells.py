"""Notebook cells that are run again, and so add or start something twice."""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient

_LOG = logging.getLogger("flinkish")


class CellRun(NamedTuple):
    """A line of a cell, by file and number, and the number of the cell run that reached it."""

    place: tuple[str, int]
    number: int


def cell_run() -> CellRun | None:
    """The line of the user's cell that is running; None outside of IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    frame = sys._getframe(1) if shell is not None else None
    while frame is not None and frame.f_globals.get("__name__") != "__main__":
        frame = frame.f_back
    if shell is None or frame is None:
        return None
    # IPython without a kernel puts the number of the run into the file name
    file = re.sub(r"-input-\d+-", "-input-", frame.f_code.co_filename)
    return CellRun((file, frame.f_lineno), shell.execution_count)


_started: list[tuple[CellRun, str | None, JobClient]] = []


def warn_of_copies(client: JobClient, jobName: str | None) -> None:
    """Warn of running jobs that an earlier run of this cell, or another cell with ``jobName``, has
    started, and offer to cancel them. ``jobName`` is None if the user gave none."""
    run = cell_run()
    if run is None:
        return
    _started[:] = [
        each for each in _started if not each[2].getJobStatus().isGloballyTerminalState()
    ]
    for before, name, copy in _started:
        same = before.place == run.place or (name is not None and name == jobName)
        if same and before.number != run.number:
            _LOG.warning(
                "The job %s that an earlier run of this cell has started still runs beside the new one. Cancel it, or begin"
                " the cell with client.cancel() to replace it.",
                copy.getJobID(),
            )
            _offer_to_cancel(copy)
    _started.append((run, jobName, client))


def _offer_to_cancel(client: JobClient) -> None:
    try:
        import ipywidgets
        from IPython.display import display
    except ImportError:
        return
    button = ipywidgets.Button(description="Cancel earlier job", button_style="danger")

    def cancel(_: object) -> None:
        client.cancelSoon()
        button.disabled = True

    button.on_click(cancel)
    display(button)
