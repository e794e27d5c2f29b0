"""The job that test_recovery kills: python -m tests.spark.checkpoint.killed_job INPUT OUTPUT CHECKPOINT"""

from __future__ import annotations

import sys

import flinkish as fl


class CountAndExpire(fl.KeyedProcessFunction):
    """Counts the elements of a key, and reports when 50 ms went by without one."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.count = context.getState(fl.ValueStateDescriptor("count"))
        self.last = context.getState(fl.ValueStateDescriptor("last"))

    def processElement(self, value, ctx, out):
        self.count.update((self.count.value() or 0) + 1)
        self.last.update(max(self.last.value() or 0, ctx.timestamp()))
        ctx.timerService().registerEventTimeTimer(self.last.value() + 50)

    def onTimer(self, timestamp, ctx, out):
        if timestamp == self.last.value() + 50:
            out.collect(("expired", ctx.getCurrentKey(), timestamp, self.count.value()))
            self.count.clear()


def main(source: str, target: str, checkpoint: str) -> None:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.setParallelism(2).setMaxParallelism(4).enableCheckpointing(checkpoint)
    files = fl.FileSource.forCsv(source, "key string, value long, at long").withFilesPerBatch(1)
    strategy = fl.WatermarkStrategy.forBoundedOutOfOrderness(5).withTimestampAssigner(
        lambda row, timestamp: row.at
    )
    keyed = env.fromSource(files, strategy, "CSV").keyBy(lambda row: row.key)
    sums = (
        keyed.window(fl.TumblingEventTimeWindows.of(100))
        .reduce(lambda a, b: a._replace(value=a.value + b.value))
        .map(lambda row: ("sum", row.key, row.value))
    )
    expired = keyed.process(CountAndExpire())
    sums.union(expired).sinkTo(fl.FileSink.forCsv(target))
    env.execute("killed again and again")


if __name__ == "__main__":
    main(*sys.argv[1:])
