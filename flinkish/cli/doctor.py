"""``flinkish doctor``: checks this machine for what a job needs, and says what to fix."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType

from flinkish.api.environment.environment import StreamExecutionEnvironment
from flinkish.api.errors import FlinkishError
from flinkish.deployment.open_transactions import TransactionalSink, transactional_sinks
from flinkish.spark.session.java import check_java
from flinkish.spark.session.worker_python import check_worker_python

_LEAST_FREE = 1 << 30
"""The free bytes that a job should have for its state and its files."""

_MOST_SKEW = 5.0
"""The seconds by which the clock of a file system may differ."""

_OLDEST_PYSPARK, _NEWEST_PYSPARK = (4, 1), (5, 0)


@dataclass(frozen=True)
class Finding:
    """The result of a check. ``fix``: what to do about it, empty if nothing."""

    subject: str
    said: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{'ok  ' if not self.fix else 'FAIL'}  {self.subject}: {self.said}" + (
            f"\n      {self.fix}" if self.fix else ""
        )


def examine(
    checkpoint: str | None, runsJob: bool, properties: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Finding]:
    """Yields the findings one by one. ``checkpoint``: a directory for the checkpoints of jobs, or the
    checkpoint of one; ``properties``: those with which Kafka's client logs in."""
    yield Finding("Python", f"{sys.version.split()[0]}, {sys.executable}")
    java = os.environ.get("JAVA_HOME") or shutil.which("java") or ""
    yield _tried("Java", check_java, java)
    yield _pyspark()
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    yield _tried("Python of the workers", lambda: check_worker_python(python), python)
    yield _port()
    temporary = tempfile.gettempdir()
    yield _disk(temporary)
    yield _directory("temporary files", temporary)
    if checkpoint is not None:
        yield _checkpoint(checkpoint)
        if (Path(checkpoint) / "plan").exists():
            for sink in transactional_sinks("doctor", checkpoint):
                yield _transactions(sink, checkpoint, properties)
    if runsJob:
        yield _job()


def _pyspark() -> Finding:
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return Finding("pyspark", "is not installed", "Install it: pip install 'pyspark>=4.1,<5'")
    numbers = tuple(map(int, found.split(".")[:2]))
    if _OLDEST_PYSPARK <= numbers < _NEWEST_PYSPARK:
        return Finding("pyspark", found)
    return Finding("pyspark", found, "flinkish runs on 4.1 up to 5: pip install 'pyspark>=4.1,<5'")


def _port() -> Finding:
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", 0))
        except OSError as error:
            fix = "Allow programs to listen on 127.0.0.1: Spark and the web page do."
            return Finding("ports", f"none on loopback can be opened ({error})", fix)
        return Finding("ports", f"loopback is open, {taken.getsockname()[1]} for one")


def _disk(directory: str) -> Finding:
    free = shutil.disk_usage(directory).free
    said = f"{free / 2**30:.1f} GiB free in {directory}"
    fix = "Free some, or set TMPDIR to a directory with more: the state of a job lies there."
    return Finding("disk", said, fix if free < _LEAST_FREE else "")


def _checkpoint(directory: str) -> Finding:
    if "://" in directory:
        return Finding(
            "checkpoints",
            f"{directory} is left to Spark, which knows its file system",
        )
    return _directory("checkpoints", directory)


def _transactions(
    sink: TransactionalSink, checkpoint: str, properties: Mapping[str, str]
) -> Finding:
    subject = f"transactions of the sink {sink.name!r}"
    try:
        awaited = sink.awaited(properties)
    except FlinkishError as error:
        return Finding(subject, type(error).__name__, str(error))
    if not awaited:
        return Finding(subject, f"none with the prefix {sink.prefix} is open at {sink.servers}")
    places = ", ".join(f"{topic}-{n} at offset {at}" for (topic, n), at in awaited.items())
    return Finding(
        subject,
        f"consumers with read_committed wait for the end of one: {places}",
        f"Its prefix is probably {sink.prefix}, and the brokers abort it {sink.timeoutMillis / 1000:.0f} s after its"
        " begin (transaction.timeout.ms). If the job does not run any more, start it again, or abort it:"
        f" flinkish cancel --checkpoint {shlex.quote(checkpoint)}",
    )


def _directory(subject: str, directory: str) -> Finding:
    probe = Path(directory) / f".flinkish-{uuid.uuid4().hex}"
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"flinkish")
        skew = probe.stat().st_mtime - time.time()
        probe.unlink()
    except OSError as error:
        fix = f"Let this user create, write and remove files in {directory}, or take another directory."
        return Finding(subject, f"{directory} cannot be written ({error.strerror})", fix)
    if abs(skew) > _MOST_SKEW:
        fix = "Set the clocks of this machine and of the file server by NTP: windows by the clock go by it."
        return Finding(subject, f"the clock of {directory} differs by {skew:.0f} s", fix)
    return Finding(subject, f"{directory} can be written, and has the time of this machine")


def _job() -> Finding:
    began = time.monotonic()

    def run() -> None:
        environment = StreamExecutionEnvironment.getExecutionEnvironment()
        counts = (
            environment.fromSequence(0, 999)
            .keyBy(lambda number: number % 7)
            .reduce(lambda one, two: one + two)
        )
        counts.executeAndCollect(1)

    found = _tried("a job on Spark", run, "")
    return found if found.fix else Finding(found.subject, f"{time.monotonic() - began:.1f} s")


def _tried(subject: str, attempt: Callable[[], object], said: str) -> Finding:
    try:
        attempt()
    except FlinkishError as error:
        return Finding(subject, type(error).__name__, str(error))
    except Exception as error:
        return Finding(subject, type(error).__name__, str(error).strip().split("\n")[0])
    return Finding(subject, said)
