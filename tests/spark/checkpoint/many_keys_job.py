"""The job that test_many_keys kills.

python -m tests.spark.checkpoint.many_keys_job MASTER PARALLELISM INPUT OUTPUT CHECKPOINT, with 0 for no parallelism
"""

from __future__ import annotations

import sys

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


def main(master: str, parallelism: str, source: str, target: str, checkpoint: str) -> None:
    session = SparkSession.builder.master(master).config("spark.ui.enabled", "false").getOrCreate()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(session)
    env.enableCheckpointing(checkpoint)
    if int(parallelism):
        env.setParallelism(int(parallelism))
    files = fl.FileSource.forCsv(source, "key long, at long").withFilesPerBatch(1)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    fired = env.fromSource(files, strategy, "CSV").keyBy(lambda row: row.key).process(ThreeTimers())
    fired.sinkTo(fl.FileSink.forCsv(target))
    env.execute("many keys")


if __name__ == "__main__":
    main(*sys.argv[1:])
