"""The processes of a job: launched, found from the driver's on down, and killed by their ids."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that is to be killed soon compiles its code once only: it starts with half of the work."""


def launched(log: Path, module: str, *arguments: str) -> subprocess.Popen[str]:
    """A module as a separate process, which reads commands and writes answers as lines; its errors
    go to ``log``."""
    with log.open("a") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
                "JDK_JAVA_OPTIONS": QUICK_JVM,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


@dataclass(frozen=True)
class Process:
    """A process that was there when it was looked at."""

    pid: int
    parent: int
    command: str


def tree_of(pid: int) -> list[Process]:
    """The process and all below it."""
    children: dict[int, list[Process]] = {}
    for process in _running():
        children.setdefault(process.parent, []).append(process)
        if process.pid == pid:
            children.setdefault(-1, []).append(process)
    found = children.get(-1, [])
    for process in found:
        found += children.get(process.pid, [])
    return found


def _running() -> Iterable[Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                status = Path("/proc", entry, "stat").read_text()
                command = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ")
                parent = int(status.rpartition(")")[2].split()[1])
                yield Process(int(entry), parent, command.decode("utf-8", "replace"))


def _is_jvm(process: Process) -> bool:
    return "org.apache.spark.deploy" in process.command


def victims(kind: str, driver: int, choice: random.Random) -> list[int]:
    """The ids of the processes that a kill of that kind hits; none if there are none of them now."""
    tree = tree_of(driver)
    if kind == "tree":
        return [process.pid for process in tree]
    if kind == "driver":
        return [driver]
    jvms = {process.pid for process in tree if _is_jvm(process)}
    if kind == "jvm":
        return sorted(jvms)
    beside = [process for process in tree if process.parent in jvms]
    daemons = {process.pid for process in beside if "daemon" in process.command}
    if kind == "planner":
        return [p.pid for p in beside if "source_runner" in p.command]
    workers = [process for process in tree if process.parent in daemons]
    # Those that run the operators, if there are any: the others look up sources as a job starts
    working = [p.pid for p in workers if p.command.rstrip().endswith("pyspark.worker")]
    working = working or [process.pid for process in workers]
    if kind == "worker":
        return [choice.choice(working)] if working else []
    assert kind == "workers", kind
    return [*working, *(daemons if choice.random() < 0.25 else ())]


def kill(pids: Iterable[int]) -> None:
    """``kill -9`` of each."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def gone(pid: int) -> bool:
    """Whether there is no such process, or only what its parent has not looked at."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
