"""``FlinkKafka``: the jobs of the benchmark on Flink in Java, with Flink's own connector."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import IO

from tests.benchmarks.flink import ENVIRONMENT, OPENED, compiled
from tests.maven import FLINK_CONNECTOR

SOURCES = Path(__file__).parent / "java"


class FlinkKafka:
    """A cluster of Flink in a separate JVM, which runs a job on each request.

    Raises MissingError if Flink or a JDK cannot be had. ``log``: where its errors go.
    """

    def __init__(self, servers: str, log: Path) -> None:
        classes = ENVIRONMENT.parent / "kafka" / "classes"
        path = compiled(SOURCES, classes, FLINK_CONNECTOR.directory())
        command = ["java", "-Xms1g", "-Xmx2g", "-XX:+UseParallelGC", "-Dlog4j2.level=OFF"]
        command += [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [*command, "-cp", path, "FlinkKafka", servers],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The JVM."""
        return self._process.pid

    def run(self, job: str, topic: str, output: str) -> int:
        """Run a job from one topic to the other; how many elements it has read, if it counts them, else -1."""
        with suppress(BrokenPipeError):
            print(job, topic, output, file=_there(self._process.stdin), flush=True)
        for line in _there(self._process.stdout):
            if line.startswith("{"):
                return int(json.loads(line)["read"])
        raise RuntimeError(f"java failed:\n{self._log.read_text()[-3_000:]}")

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def _there(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
