"""Real Flink, as the Java recorder runs it: compiled once, then fed cases over a pipe."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "java"
OPENED = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent.atomic")
"""Packages into which Flink's serializers look."""


class Flink:
    """Flink on a class path: the jars of the package apache-flink and the test jar of
    flink-runtime."""

    def __init__(self, jars: Iterable[Path], build: Path) -> None:
        self._class_path = ":".join([str(build), *map(str, jars)])
        build.mkdir(parents=True, exist_ok=True)
        sources = map(str, sorted(SOURCES.glob("*.java")))
        subprocess.run(
            [
                "javac",
                "-nowarn",
                "-Xlint:-unchecked",
                "-d",
                build,
                "-cp",
                self._class_path,
                *sources,
            ],
            check=True,
        )

    def record(self, cases: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The cases with what Flink put out, or with the exception."""
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        opened = [f"--add-opens={package}=ALL-UNNAMED" for package in OPENED]
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.level=OFF"]
        done = subprocess.run(
            ["java", *opened, *options, "-cp", self._class_path, "Recorder"],
            input=lines,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the recorder ended with {done.returncode}:\n{done.stderr[-4000:]}")
        yield from map(json.loads, done.stdout.splitlines())
