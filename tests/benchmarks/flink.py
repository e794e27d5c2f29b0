"""The sides that run on Flink: Java, in a JVM for each job, and PyFlink.

Both come with apache-flink, which is installed into a separate virtual environment below ``build``. What is missing
(a JDK, the packages) is no error: the side says why it cannot run, and the report shows it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.benchmarks.files import BUILD, ROOT
from tests.benchmarks.inputs import elements_of, halves_of
from tests.benchmarks.jobs import Job

FLINK_VERSION = "2.3.0"
ENVIRONMENT = ROOT / "build" / "flink-venv"
SOURCES = Path(__file__).parent / "java"
PYFLINK_SCRIPT = Path(__file__).parent / "pyflink_job.py"

OPENED = ("java.base/java.util", "java.base/java.lang", "java.base/java.time", "java.base/java.nio")
"""Packages that Flink's serializers look into."""


PLAIN, CHECKPOINTED = "plain", "checkpointed"
"""How a job runs in Java, and the directory of its output."""


class MissingError(Exception):
    """Why a side cannot run on this machine."""


def install() -> Path:
    """The Python of the environment with apache-flink, installed if it is not there.

    Raises MissingError if it cannot be.
    """
    return installed("apache-flink", FLINK_VERSION, ENVIRONMENT)


def installed(package: str, number: str, environment: Path, *others: str) -> Path:
    """The Python of ``environment``, with that version of a package and ``others``, installed if it is not there.

    Raises MissingError if it cannot be.
    """
    python = environment / "bin" / "python"
    ready = environment / f".ready-{number}"
    if not ready.exists():
        print(f"Installing {package} {number} into {environment} ...", flush=True)
        # Isolated, as a session of Spark puts what this program has on the path
        pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", str(environment)],
            [*pip, f"{package}=={number}", *others],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no message"])[-1]
                raise MissingError(f"{package} {number} could not be installed: {last}")
        ready.touch()
    return python


def compile_jobs() -> str:
    """The class path of the jobs, compiled with the machine's JDK."""
    return compiled(SOURCES, BUILD / "classes")


def compiled(sources: Path, classes: Path, jars: Path | None = None) -> str:
    """The class path of the Java in ``sources``, compiled into ``classes`` with the machine's JDK, beside Flink's jars and
    those in the directory ``jars``.

    Raises MissingError if Flink or a JDK is not there.
    """
    python = install()
    home = os.environ.get("JAVA_HOME")
    compiler = shutil.which("javac", path=f"{home}/bin" if home else None)
    if compiler is None:
        raise MissingError("there is no JDK on this machine (javac)")
    own = ENVIRONMENT.glob("lib/python*/site-packages/pyflink/lib")
    beside = [f"{directory}/*" for directory in (*own, jars) if directory is not None]
    shutil.rmtree(classes, ignore_errors=True)
    found = [str(path) for path in sorted(sources.glob("*.java"))]
    command = [compiler, "-cp", os.pathsep.join(beside), "-d", str(classes), *found]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the Java sources do not compile with {python.parent}:\n{done.stderr}")
    return os.pathsep.join([str(classes), *beside])


class JavaFlink:
    """A JVM in which the Java twin of a job runs on each request; a context manager, that ends it.

    Results of a run are in ``output/KIND/results``. After ``patience`` seconds a run is ended.
    """

    def __init__(
        self,
        classPath: str,
        job: Job,
        inputs: Mapping[str, Path],
        output: Path,
        patience: float,
    ) -> None:
        command = ["java", "-Xms2g", "-Xmx4g", "-XX:+UseParallelGC", "-Dlog4j2.level=OFF"]
        command += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
        command += ["-cp", classPath, "Bench", job.name, str(output)]
        command += [f"{name}={halves_of(directory)}" for name, directory in inputs.items()]
        self._patience = patience
        self._log = output.parent / f"{output.name}.log"
        self._late = False
        with self._log.open("w") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> JavaFlink:
        return self

    def __exit__(self, *raised: object) -> None:
        _end(self._process)

    def run(self, kind: str) -> float | None:
        """The seconds of a run, PLAIN or CHECKPOINTED. None: it was not done in time, and no other will be."""
        if self._late:
            return None
        timer = threading.Timer(self._patience, self._end_late)
        timer.start()
        try:
            return self._seconds_of(kind)
        finally:
            timer.cancel()

    def _seconds_of(self, kind: str) -> float | None:
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        with suppress(BrokenPipeError):
            print(kind, file=asked, flush=True)
        for line in answers:
            if line.startswith("{"):
                return float(json.loads(line)["seconds"])
        if self._late:
            return None
        raise RuntimeError(f"java failed:\n{_tail(self._log)}")

    def _end_late(self) -> None:
        self._late = True
        _end(self._process)


def run_pyflink(
    python: Path, inputs: Mapping[str, Path], output: Path, patience: float, mode: str
) -> float | None:
    """Seconds that PyFlink takes for the elements, in the mode ``process`` or ``thread``; the start of the job does not
    count. None: it was not done in time."""
    (directory,) = inputs.values()
    command = [str(python), str(PYFLINK_SCRIPT), str(elements_of(directory)), str(output), mode]
    return seconds_of(command, output, patience)


def seconds_of(command: list[str], output: Path, patience: float) -> float | None:
    """Return the seconds of a run that a script prints as the last line of JSON; its results are in ``output``. None:
    it was not done in time."""
    output.mkdir(parents=True, exist_ok=True)
    lines = _lines(command, output.parent / f"{output.name}.log", patience)
    said = [line for line in lines if line.startswith("{")]
    return float(json.loads(said[-1])["seconds"]) if said else None


def _lines(command: list[str], log: Path, patience: float) -> list[str]:
    """Return the output of a command; it is ended, with all that it started, when it takes too
    long."""
    printed = log.with_suffix(".out")
    # Spark's session has put its own packages there, another cloudpickle among them
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with log.open("w") as errors, printed.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=errors, start_new_session=True, env=environment
        )
        try:
            began = time.monotonic()
            if process.wait(patience):
                raise RuntimeError(
                    f"{command[0]} failed after {time.monotonic() - began:.0f} s:\n{_tail(log)}"
                )
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end(process)
    return printed.read_text().splitlines()


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process, and all that it started, if it still runs."""
    if process.poll() is None:
        # Another thread may be ending it, as it was not done in time
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-15:])
