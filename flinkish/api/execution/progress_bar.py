"""The progress of a long job in a terminal or a notebook, if tqdm is installed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flinkish.api.execution.notebook import facts, in_notebook

if TYPE_CHECKING:
    from flinkish.api.execution.client import JobClient

_FIRST_SECONDS = 5.0
"""A job that is shorter shows nothing."""

_SECONDS = 0.5


@contextmanager
def progress_bar(client: JobClient) -> Iterator[None]:
    """Shows how far the job is inside the block; nothing where nobody looks."""
    if not (in_notebook() or _is_terminal()):
        yield
        return
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(client, ended), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join(2 * _SECONDS)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _follow(client: JobClient, ended: threading.Event) -> None:
    if ended.wait(_FIRST_SECONDS):
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return
    details = client.getJobDetails()
    with tqdm(desc=details.name, unit=" records", unit_scale=True, leave=False) as bar:
        while not ended.wait(_SECONDS):
            details = client.getJobDetails()
            read = sum(vertex.numRecordsIn for vertex in details.vertices if vertex.isSource)
            bar.update(read - bar.n)
            told = facts(details)
            waiting = f", waits for {told['waits for']}" if "waits for" in told else ""
            bar.set_postfix_str(f"batch {told['batches']}, watermark {told['watermark']}{waiting}")
