"""Says of a job that still runs when the program ends that it ends with it."""

from __future__ import annotations

import atexit
import logging
import sys
import weakref

from flinkish.api.execution.client import JobClient

_LOG = logging.getLogger("flinkish")

_started: weakref.WeakSet[JobClient] = weakref.WeakSet()


def warn_if_left_running(client: JobClient) -> None:
    """Log, at the end of the program, if the job of ``client`` still runs."""
    # Python calls the last first, and what cancels the jobs of this process was registered before them
    atexit.unregister(_warn)
    atexit.register(_warn)
    _started.add(client)


def _warn() -> None:
    if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt):
        return
    for client in list(_started):
        if not client.getJobStatus().isGloballyTerminalState():
            details = client.getJobDetails()
            goes_on = details.checkpoint.directory is not None
            _LOG.warning(
                "The job %s was still running when the program ended, and ends with it: the rest of its results is"
                " missing%s. Wait for a job with getJobExecutionResult() of the client that executeAsync() gives, or"
                " cancel() it.",
                details.name,
                " until the next start goes on from the checkpoint" if goes_on else "",
            )
