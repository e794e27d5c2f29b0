"""The progress of a job in one line of a terminal or notebook: what it is doing until its first batch, then how far
it is."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from flinkish.api.display.follower import follow
from flinkish.api.display.job_drawing import span
from flinkish.api.display.notebook import facts, in_notebook

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient
    from flinkish.api.execution.details import JobDetails

_FIRST_SECONDS = 1.0
"""A job that takes less time shows nothing."""

_SECONDS = 0.5

_phases: list[str] = []
_screens: list[_Terminal | _Notebook] = []


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Names what a program waits for inside the block, such as "starting Spark"."""
    _phases.append(name)
    try:
        yield
    finally:
        _phases.remove(name)


def clear_progress() -> None:
    """Called before a job prints something else on the terminal."""
    for screen in _screens:
        screen.write("")


class ProgressBar:
    """The line of one job; ``client`` is set when the job has started."""

    def __init__(self, jobName: str) -> None:
        self.client: JobClient | None = None
        self._name = jobName
        self._screen: _Terminal | _Notebook | None = None
        self._began = time.monotonic()

    def __str__(self) -> str:
        if self.client is None:
            waited = span(1000 * (time.monotonic() - self._began))
            return f"{self._name}: {_phases[-1] if _phases else 'planning'}, {waited}"
        return progress_line(self.client.getJobDetails())

    def show(self) -> bool:
        """Show the line now, on a screen that is created with the first."""
        if self._screen is None:
            self._screen = _Notebook() if in_notebook() else _Terminal()
            _screens.append(self._screen)
        self._screen.write(str(self))
        return True

    def close(self) -> None:
        """Remove the line."""
        if self._screen is not None:
            self._screen.write("")
            _screens.remove(self._screen)

    @contextmanager
    def toldWhenInterrupted(self) -> Iterator[None]:
        """Report an interrupt (Ctrl-C) inside the block that ends the program in one line, without
        a traceback of the code that waited for the job. The program's own ``sys.excepthook`` is
        kept."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            if sys.excepthook is sys.__excepthook__:
                told = f"{self._name}: interrupted before it ran."
                if self.client is not None:
                    batches = self.client.getJobDetails().completedBatches
                    told = f"{self._name}: interrupted after {batches:,} batches, and cancelled."
                sys.excepthook = partial(_tell, interrupt, told)
            raise


@contextmanager
def progress_bar(jobName: str) -> Iterator[ProgressBar]:
    """Shows the progress of a job inside the block, once it takes a second; nothing where there is no terminal or
    notebook."""
    bar = ProgressBar(jobName)
    if not (in_notebook() or _is_terminal()):
        yield bar
        return
    following = follow(bar.show, _SECONDS, _FIRST_SECONDS)
    try:
        yield bar
    finally:
        following.stop(2 * _SECONDS)
        bar.close()


def _tell(
    interrupt: KeyboardInterrupt,
    told: str,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """Show ``interrupt`` as ``told``, and any other error as usual."""
    if error is interrupt:
        print(told, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def progress_line(details: JobDetails) -> str:
    """The progress of a running job."""
    ran = details.now - details.startTime
    if not details.completedBatches:
        return f"{details.name}: first batch, {span(ran)}"
    told = facts(details)
    records = told["records in"].replace(" (", " records (", 1)
    parts = [f"batch {told['batches']}"]
    if "waits for" in told:
        parts.append(f"waits for {told['waits for']}")
    parts += [*([told["read"]] if "read" in told else []), records]
    if told["watermark"] != "none":
        parts.append(f"watermark {told['watermark']}")
    return f"{details.name}: {', '.join(parts)}"


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class _Terminal:
    """Standard error, whose last line is overwritten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown = ""

    def write(self, line: str) -> None:
        with self._lock:
            if line == self._shown:
                return
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{line[:width]}")
            sys.stderr.flush()
            self._shown = line


class _Notebook:
    """An output of the cell, which is replaced."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, line: str) -> None:
        self._handle.update({"text/plain": line}, raw=True)
