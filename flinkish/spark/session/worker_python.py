"""The Python that Spark starts its workers with, and its memory; it keeps some of them from printing.

Before the first batch of a keyed job Spark runs a process that inspects its state, and that prints
to standard output before it reads anything of the job. And a worker whose query was stopped prints
a traceback.

Spark also puts pyspark on the workers' path as a zip file, which Python compiles again in every
process that imports it: over a second for each keyed job, for each source that is planned while the
job runs, and for the first worker. So the workers import the package that this process has
imported, whose files have their compiled form beside them.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from flinkish.api.errors import InvalidProgramError
from flinkish.spark.session.temporary_directories import TemporaryDirectory

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


_SCRIPT = """#!/bin/sh
case "$PYTHONPATH" in
    {archive}:*) PYTHONPATH={packages}:$PYTHONPATH; export PYTHONPATH ;;
esac
case "$*" in
    "-m {driver_worker}"*) exec {python} "$@" >/dev/null ;;
    "-m pyspark.daemon"*) shift 2; exec {python} -P {daemon} "$@" ;;
    "-m {source_runner}"*) shift 2; exec {python} -P {quiet_source_runner} "$@" ;;
    *) exec {python} "$@" ;;
esac
"""

_DAEMON = Path(__file__).with_name("worker_daemon.py")

_SOURCE_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"

_QUIET_SOURCE_RUNNER = Path(__file__).with_name("source_runner.py")

_DRIVER_WORKER = "pyspark.sql.streaming.transform_with_state_driver_worker"


def set_worker_python(session: SparkSession) -> None:
    """Let a script start the workers of a local ``session`` and keep their output off the screen:
    with this Python, or with the one that the user has set. Raises InvalidProgramError if that one
    lacks what workers need."""
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    python = getattr(context, "pythonExec", None)
    # Other machines do not have the script.
    if (
        isinstance(python, str)
        and python not in _SCRIPTS
        and (context.master or "").startswith("local")
    ):
        if _is_set(context):
            check_worker_python(python)
        else:
            # An editor may run a venv without activating it, so python3 may be another Python
            python = sys.executable
        context.pythonExec = quiet_python(python)


def _is_set(context: SparkContext) -> bool:
    settings = ("spark.pyspark.python", "spark.pyspark.driver.python")
    return "PYSPARK_PYTHON" in os.environ or any(context.getConf().get(s) for s in settings)


def check_worker_python(python: str) -> None:
    """Raise InvalidProgramError unless ``python`` is of this version and has the packages that workers import."""
    path = shutil.which(python)
    if path == sys.executable:
        return
    fault = "is not there" if path is None else _fault(path)
    if fault is None:
        return
    raise InvalidProgramError(
        f"the workers of this SparkSession run {python}, which {fault}. Set"
        f" PYSPARK_PYTHON={sys.executable} before the SparkSession is built, or leave it unset"
        " (spark.pyspark.python too): the workers then run the Python of this program."
    )


def _fault(python: str) -> str | None:
    """Why workers cannot run ``python``; None if they can."""
    find = (
        "import importlib.util as u, sys; print('%d.%d' % sys.version_info[:2]);"
        " print(*[n for n in sys.argv[1:] if not u.find_spec(n)])"
    )
    found = subprocess.run(
        [python, "-c", find, *_PACKAGES], capture_output=True, text=True, check=False
    )
    if found.returncode:
        return f"fails: {found.stderr.strip()[-500:]}"
    said = found.stdout.splitlines()
    if len(said) < 2:
        return f"does not run Python code: asked for its version it prints {found.stdout!r}"
    version, lacking = said[-2:]
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version != own:
        return f"is Python {version}, where the program runs {own}"
    return f"lacks {lacking}" if lacking else None


_PACKAGES = ("cloudpickle", "pyarrow", "pandas", "numpy", "flinkish")
"""The packages that workers import; Spark brings them pyspark."""


@lru_cache
def quiet_python(python: str) -> str:
    """The path of a script that starts ``python`` for workers."""
    directory = TemporaryDirectory()
    atexit.register(directory.remove)
    path = directory.path / "python"
    packages = directory.path / "packages"
    packages.mkdir()
    for package in map(_directory_of, ("pyspark", "py4j")):
        # Only these two: their neighbours have their own places on the path.
        (packages / package.name).symlink_to(package)
    path.write_text(
        _SCRIPT.format(
            archive=shlex.quote(str(_directory_of("pyspark") / "python" / "lib" / "pyspark.zip")),
            packages=shlex.quote(str(packages)),
            driver_worker=_DRIVER_WORKER,
            python=shlex.quote(python),
            daemon=shlex.quote(str(_DAEMON)),
            source_runner=_SOURCE_RUNNER,
            quiet_source_runner=shlex.quote(str(_QUIET_SOURCE_RUNNER)),
        )
    )
    path.chmod(0o700)
    _SCRIPTS.add(str(path))
    # A temporary folder may forbid running programs.
    return str(path) if os.access(path, os.X_OK) else python


def _directory_of(package: str) -> Path:
    return Path(*import_module(package).__path__)


_SCRIPTS: set[str] = set()


_LIMITS = {
    # From this size on a block is a separate mapping, which is returned when it is freed.
    "MALLOC_MMAP_THRESHOLD_": 32 << 20,
    # From this size on the free end of the heap is returned.
    "MALLOC_TRIM_THRESHOLD_": 64 << 20,
}
"""Environment variables of glibc, and bytes. Other C libraries do not read them.

Each frame allocates and frees arrays of some MiB, which glibc returns to the system, and gets anew
for the next frame. It raises both limits by itself, to these values at most, but only to the
largest block that was freed."""


def set_worker_memory() -> None:
    """Let workers started from now on keep the memory that they have freed, unless the environment or
    ``spark.executorEnv`` says otherwise."""
    from pyspark import SparkContext

    variables = getattr(SparkContext.getOrCreate(), "environment", None)
    if isinstance(variables, dict):
        for name, limit in _LIMITS.items():
            variables.setdefault(name, os.environ.get(name, str(limit)))
