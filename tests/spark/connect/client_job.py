"""A client with a job that is killed: ``python -m tests.spark.connect.client_job DIRECTORY``.

``DIRECTORY`` is the server's, whose address is in ``SPARK_REMOTE``. The job counts numbers without end, 50 a second, and writes the counts
into files; of each that is written it prints a line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import flinkish as fl


class Count(fl.KeyedProcessFunction[int, int, str]):
    """Counts by key."""

    def open(self, openContext: fl.OpenContext) -> None:
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count"))

    def processElement(self, value: int, ctx: Any, out: fl.Collector[str]) -> None:
        self.count.update((self.count.value() or 0) + 1)
        out.collect(f"{value} {self.count.value()}")


def build(env: fl.StreamExecutionEnvironment, directory: Path) -> None:
    """The job, on the checkpoint in ``directory``, which writes to files beside it."""
    env.setParallelism(2).setMaxParallelism(4)
    env.enableCheckpointing((directory / "checkpoint").as_uri())
    source = fl.DataGeneratorSource(int, elementsPerSecond=50)
    numbers = env.fromSource(source, fl.WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
    counts = numbers.keyBy(lambda n: n % 2).process(Count()).uid("counts")
    counts.sinkTo(fl.FileSink.forText((directory / "counts").as_uri())).uid("files")
    counts.print()


def written(directory: Path) -> list[tuple[int, int]]:
    """Each number in the files, with its count."""
    files = (directory / "counts").glob("batch=*/part-*")
    lines = [line.split() for file in files for line in file.read_text().splitlines()]
    return sorted((int(number), int(count)) for number, count in lines)


def main(directory: str) -> None:
    """Run the job."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    build(env, Path(directory))
    env.execute("counts")


if __name__ == "__main__":
    main(*sys.argv[1:])
