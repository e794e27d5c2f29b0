"""The Python that Spark starts its workers with, where some of them would print what they do.

Before a keyed job's first batch Spark runs a process that looks at its state, and that says so on
standard output before it reads anything of the job's. And a worker whose query was stopped prints a
trace.
"""

from __future__ import annotations

import atexit
import os
import shlex
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from flinkish.spark.checkpoint.temporary_directories import TemporaryDirectory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SCRIPT = """#!/bin/sh
case "$*" in
    "-m {driver_worker}"*) exec {python} "$@" >/dev/null ;;
    "-m pyspark.daemon"*) shift 2; exec {python} -P {daemon} "$@" ;;
    *) exec {python} "$@" ;;
esac
"""


_DAEMON = Path(__file__).with_name("worker_daemon.py")


_DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"


def set_quiet_worker_python(session: SparkSession) -> None:
    """Let the workers of a local ``session`` be started by a script that starts the Python they would
    be started with, and keeps them from the screen."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    python = getattr(context, "pythonExec", None)
    # Elsewhere than on this machine there is no such script.
    if (
        isinstance(python, str)
        and python not in _SCRIPTS
        and (context.master or "").startswith("local")
    ):
        context.pythonExec = _script(python)


@lru_cache
def _script(python: str) -> str:
    directory = TemporaryDirectory()
    atexit.register(directory.remove)
    path = directory.path / "python"
    path.write_text(
        _SCRIPT.format(
            driver_worker=_DRIVER_WORKER,
            python=shlex.quote(python),
            daemon=shlex.quote(str(_DAEMON)),
        )
    )
    path.chmod(0o700)
    _SCRIPTS.add(str(path))
    # A temporary folder may be one from which nothing can be run.
    return str(path) if os.access(path, os.X_OK) else python


_SCRIPTS: set[str] = set()
