"""The tumbling aggregate on PyFlink; runs in the environment that has PyFlink.

    python pyflink_job.py INPUT OUTPUT MODE

MODE is ``process`` or ``thread``. The job runs once on all elements to warm up, then on one element, and the time of that
is subtracted from the run that counts: what the job takes to start does not count.

As PyFlink's documentation advises: bundles of 100,000 elements or a second, Arrow batches of as many, object reuse, no
checkpoints.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from pyflink.common import Configuration, Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.functions import AggregateFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class SumAndCount(AggregateFunction):
    def create_accumulator(self):
        return (0, 0)

    def add(self, value, accumulator):
        return (accumulator[0] + value[1], accumulator[1] + 1)

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return (a[0] + b[0], a[1] + b[1])


class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


def fields(line):
    key, value, at = line.split(",")
    return (key, int(value), int(at))


SETTINGS = {
    "python.executable": sys.executable,
    "python.fn-execution.bundle.size": "100000",
    "python.fn-execution.bundle.time": "1000",
    "python.fn-execution.arrow.batch.size": "100000",
    "pipeline.object-reuse": "true",
}


def run(directory, mode):
    """Seconds, and the results."""
    configuration = Configuration()
    for name, value in {**SETTINGS, "python.execution-mode": mode}.items():
        configuration.set_string(name, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory))
    row = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    results = (
        env.from_source(lines.build(), WatermarkStrategy.no_watermarks(), "lines")
        .map(fields, row)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(At()))
        .key_by(lambda value: value[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .aggregate(SumAndCount(), accumulator_type=pair, output_type=pair)
    )
    began = time.monotonic()
    with results.execute_and_collect() as collected:
        found = list(collected)
    return time.monotonic() - began, found


def main():
    # In thread mode Python runs in the JVM, which does not know the virtual environment
    os.environ["PYTHONPATH"] = sysconfig.get_path("purelib")
    source, output, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    run(source, mode)
    with tempfile.TemporaryDirectory() as directory:
        first = sorted(source.iterdir())[0]
        with first.open() as lines:
            Path(directory, "one.csv").write_text(next(lines))
        start, _ = run(directory, mode)
    seconds, results = run(source, mode)
    Path(output, "results.csv").write_text("".join(f"{a},{b}\n" for a, b in results))
    print(json.dumps({"seconds": max(seconds - start, 0.0)}))


main()
