"""``StandaloneCluster``: Spark's own cluster of one master and some workers, each a JVM of pyspark's jars.

Its executors run a Python whose path has the packages that flinkish needs, and not flinkish itself.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark

from tests.reliability.processes import QUICK_JVM, ROOT, Process, kill, tree_of

START_SECONDS = 300.0

_SPARK = Path(pyspark.__file__).parent

_PYTHON = """#!/bin/sh
# Without the files of site-packages that name further directories, of which flinkish may be one
PYTHONPATH={packages}:$PYTHONPATH exec {python} -S "$@"
"""


class StandaloneCluster:
    """A master and ``workers`` workers with one core and ``memory`` each, whose files are in ``directory``."""

    def __init__(self, directory: Path, workers: int = 2, memory: str = "2g") -> None:
        self._directory = directory
        self._memory = memory
        directory.mkdir(parents=True)
        self.python = directory / "python"
        """The script that executors run in place of Python."""
        packages = Path(pyspark.__file__).parents[1]
        self.python.write_text(
            _PYTHON.format(packages=shlex.quote(str(packages)), python=shlex.quote(sys.executable))
        )
        self.python.chmod(0o700)
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self.master = self._started_master()
            """Its address."""
            self.workers = [self._started_worker(number) for number in range(workers)]
            self._await_workers()
        except BaseException:
            self.close()
            raise

    def executors(self) -> list[Process]:
        """The processes of executors that run now."""
        return [
            process
            for worker in self.workers
            for process in tree_of(worker.pid)
            if "CoarseGrainedExecutorBackend" in process.command
        ]

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of a program that submits a job."""
        return quick_variables(PYSPARK_PYTHON=str(self.python), **more)

    def close(self) -> None:
        """End all processes of it."""
        for process in reversed(self._processes):
            kill(found.pid for found in tree_of(process.pid))
            process.wait()

    def log(self, name: str) -> str:
        """Return the output of a process so far."""
        return (self._directory / f"{name}.log").read_text("utf-8", "replace")

    def _started_master(self) -> str:
        arguments = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        self._start("master", "org.apache.spark.deploy.master.Master", arguments)
        return self._awaited("master", r"Starting Spark master at (spark://\S+)")

    def _started_worker(self, number: int) -> subprocess.Popen[bytes]:
        work = self._directory / f"work-{number}"
        arguments = ["--host", "127.0.0.1", "--cores", "1", "--webui-port", "0"]
        arguments += ["--memory", self._memory]
        return self._start(
            f"worker-{number}",
            "org.apache.spark.deploy.worker.Worker",
            [*arguments, "--work-dir", str(work), self.master],
        )

    def _start(self, name: str, main: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self._directory / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(_SPARK / "bin" / "spark-class"), main, *arguments],
                cwd=self._directory,
                env={
                    **_variables(),
                    "SPARK_DAEMON_MEMORY": "256m",
                    "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _await_workers(self) -> None:
        for number in range(len(self.workers)):
            self._awaited(f"worker-{number}", r"(Successfully registered with master)")

    def _awaited(self, name: str, said: str) -> str:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            found = re.search(said, self.log(name))
            if found:
                return found[1]
            time.sleep(0.1)
        raise TimeoutError(f"the {name} has not started:\n{self.log(name)[-3000:]}")


def quick_variables(**more: str) -> dict[str, str]:
    """The variables of a program of this repository that runs for a minute."""
    return {
        **_variables(),
        "PYTHONPATH": str(ROOT),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": QUICK_JVM,
        **more,
    }


def _variables() -> Mapping[str, str]:
    """Return the environment of this process, without the variables that tell Python and Spark
    where to find packages."""
    hidden = ("PYTHON", "PYSPARK_", "SPARK_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**kept, "SPARK_HOME": str(_SPARK), "SPARK_LOCAL_IP": "127.0.0.1"}
