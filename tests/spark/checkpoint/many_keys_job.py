"""The job that test_many_keys kills.

python -m tests.spark.checkpoint.many_keys_job MASTER PARALLELISM HELD INPUT OUTPUT CHECKPOINT, with 0 for no parallelism,
and HELD the batch that is never committed, -1 for none: when its state is written, there is a file OUTPUT.held.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from pyspark.sql import SparkSession

import flinkish as fl


class ThreeTimers(fl.KeyedProcessFunction):
    """Counts a key's elements and registers three timers with the first; the next deletes one."""

    def open(self, openContext):
        self.count = self.getRuntimeContext().getState(fl.ValueStateDescriptor("count", default=0))

    def processElement(self, value, ctx, out):
        count = self.count.value() + 1
        self.count.update(count)
        timers = ctx.timerService()
        spread = value.key % 500
        if count == 1:
            for time in (1000, 2000, 3000):
                timers.registerEventTimeTimer(time + spread)
        elif count == 2:
            timers.deleteEventTimeTimer(2000 + spread)

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), timestamp, self.count.value()))


def main(
    master: str, parallelism: str, held: str, source: str, target: str, checkpoint: str
) -> None:
    def hold(values: list[object], batch: int) -> None:
        if batch == int(held):
            Path(f"{target}.held").touch()
            threading.Event().wait()

    session = SparkSession.builder.master(master).config("spark.ui.enabled", "false").getOrCreate()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    env.enableCheckpointing(checkpoint)
    if int(parallelism):
        env.setParallelism(int(parallelism))
    files = fl.FileSource.forCsv(source, "key long, at long").withFilesPerBatch(1)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    rows = env.fromSource(files, strategy, "CSV")
    rows.filter(lambda row: row.key == 0).forEachBatch(hold)
    fired = rows.keyBy(lambda row: row.key).process(ThreeTimers())
    fired.sinkTo(fl.FileSink.forCsv(target))
    env.execute("many keys")


if __name__ == "__main__":
    main(*sys.argv[1:])
