"""A job in BATCH beside the same job as a stream of ten batches: ``python -m tests.benchmarks.batch_mode [ELEMENTS]``.

Both in one session, in turn, after a run of each that does not count.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import flinkish as fl
from flinkish import RuntimeExecutionMode as Mode

FILES = 10
USERS = 1_000
RUNS = 2

BY_TIME: fl.WatermarkStrategy[fl.Row] = fl.WatermarkStrategy.forBoundedOutOfOrderness(5_000)


def write(directory: Path, elements: int) -> None:
    """Clicks of users, ten a second, in files of equal size."""
    a_file = elements // FILES
    for file in range(FILES):
        numbers = range(file * a_file, (file + 1) * a_file)
        lines = "".join(f"user{n * 7919 % USERS},{n * 100}\n" for n in numbers)
        (directory / f"{file:02d}.csv").write_text(lines)


def seconds(directory: Path, mode: Mode) -> tuple[float, int]:
    """Return the job's duration, with its results in files, and their number."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setRuntimeMode(mode)
    files = fl.FileSource.forCsv(str(directory), "user string, at long").withFilesPerBatch(1)
    timed = env.fromSource(files, BY_TIME.withTimestampAssigner(lambda row, timestamp: row.at))
    minutes = timed.keyBy(lambda row: row.user).window(
        fl.TumblingEventTimeWindows.of(fl.Duration.ofMinutes(10))
    )
    counts = minutes.process(Counts())
    with tempfile.TemporaryDirectory() as results:
        counts.sinkTo(fl.FileSink.forCsv(f"{results}/counts"))
        began = time.monotonic()
        env.execute()
        took = time.monotonic() - began
        written = Path(results, "counts").glob("batch=*/part-*")
        return took, sum(len(file.read_text().splitlines()) for file in written)


class Counts(fl.ProcessWindowFunction[fl.Row, tuple[str, int, int], str, fl.TimeWindow]):
    """The clicks of a user in a window, as a list that Python counts."""

    def process(self, key, context, elements):
        yield key, context.window().start, len(list(elements))


def main(elements: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write(directory, elements)
        took: dict[Mode, list[float]] = {Mode.BATCH: [], Mode.STREAMING: []}
        results = set()
        for run in range(RUNS + 1):
            for mode, figures in took.items():
                figure, count = seconds(directory, mode)
                results.add(count)
                if run:
                    figures.append(figure)
        assert len(results) == 1, results
    batch, stream = median(took[Mode.BATCH]), median(took[Mode.STREAMING])
    print(f"{elements} elements, {results.pop()} results")
    print(
        f"BATCH {batch:.1f} s, a stream of {FILES} batches {stream:.1f} s: {stream / batch:.1f} x"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
