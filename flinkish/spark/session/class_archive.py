"""An archive of Spark's classes (class data sharing): loaded and verified once, in a file that the
next JVM maps into memory.

    python -m flinkish.spark.session.class_archive

creates the file for this Java and this pyspark, in the user's cache; sessions that flinkish starts
use it from then on. Until the first result of a fresh process a JVM spends half of its time loading
classes (docs/decisions/0053).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from flinkish.api.errors import JobExecutionError
from flinkish.spark.session.java import check_java

_DRAFT = "FLINKISH_CLASS_ARCHIVE_DRAFT"
"""The environment variable with the path of the archive that this process's JVM writes."""

_QUIET = ("cds", "cds+dynamic", "class+path")
"""The log tags under which a JVM reports an unfit archive, to load classes without it."""

_JOB = """
import flinkish as fl

env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda n, t: n)
numbers = env.fromSequence(0, 99).assignTimestampsAndWatermarks(at)
windows = numbers.keyBy(lambda n: n % 3).window(fl.TumblingEventTimeWindows.of(10))
list(windows.reduce(lambda a, b: a + b).executeAndCollect())
sums = windows.reduce(lambda a, b: a + b)
sums.forEachBatch(lambda values, batch: None)
env.execute()
"""
"""Loads the classes: a planned source, a shuffle, state, and results collected by the driver."""


def archive_path(java: str) -> Path:
    """The path of the archive for this pyspark and the Java with this ``java -version``."""
    spec = find_spec("pyspark")
    place = os.path.realpath(str(spec.origin)) if spec else ""
    digest = hashlib.sha256(f"{java}\n{place}".encode()).hexdigest()[:12]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "flinkish", f"spark-{version('pyspark')}-{digest}.jsa")


def archive_options(java: str) -> tuple[str, ...]:
    """The options of a JVM that uses the archive, or creates it; none if there is no archive."""
    draft = os.environ.get(_DRAFT)
    if draft is not None:
        return (shlex.quote(f"-XX:ArchiveClassesAtExit={draft}"), "-Xlog:disable")
    path = archive_path(java)
    if not path.is_file():
        return ()
    quiet = (f"-Xlog:{tag}=off" for tag in _QUIET)
    return (shlex.quote(f"-XX:SharedArchiveFile={path}"), *quiet)


def make_archive(java: str) -> Path:
    """Create the archive, by a job in a separate process. Raises JobExecutionError if that process
    fails, or its JVM writes no archive."""
    path = archive_path(java)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.draft")
    try:
        # The JVM shares this output, so this waits for the end of the JVM too
        run = subprocess.run(
            [sys.executable, "-c", _JOB],
            env={**os.environ, _DRAFT: str(draft)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if run.returncode or not draft.is_file():
            said = run.stdout.strip()[-1000:] or "it wrote no archive"
            raise JobExecutionError(f"the archive {path} could not be made: {said}")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def main() -> None:
    """Create the archive for the Java that flinkish starts, and print its path."""
    path = make_archive(check_java())
    print(f"{path}: {path.stat().st_size >> 20} MB")


if __name__ == "__main__":
    main()
