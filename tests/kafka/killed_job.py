"""A job on Spark from topic to topic, exactly once, and killed: ``python -m tests.kafka.killed_job``.

Arguments: the brokers, the two topics, the checkpoint, and the moment and batch of the kill. The batches are
those that write something. Ends with 0 when the job has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from flinkish import (
    KafkaSource,
    OffsetsInitializer,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from flinkish.runtime import batch_writers
from flinkish.runtime.records.records import Records
from flinkish.runtime.sinks.batch_writer import SendCounts
from tests.kafka.killed_writer import Killed, exactly_once

RECORDS_A_BATCH = 400


class KilledInBatch(Killed):
    """Dies at a moment of one batch."""

    at = ("", -1)

    def write(self, runs: Iterable[Records], batchId: int) -> SendCounts:
        self.moment = self.at[0] if batchId == self.at[1] else ""
        counts = super().write(runs, batchId)
        print(f"wrote batch {batchId}", flush=True)
        return counts


def main(servers: str, topic: str, results: str, checkpoint: str, moment: str, batch: int) -> None:
    """Count each user's records, and write each count."""
    KilledInBatch.at = (moment, batch)
    setattr(batch_writers, "KafkaWriter", KilledInBatch)  # noqa: B010 - it exports no such name
    env = StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
    env.getConfig().setElementsPerBatch(RECORDS_A_BATCH)
    env.enableCheckpointing(checkpoint)
    source = (
        KafkaSource.builder()
        .setBootstrapServers(servers)
        .setTopics(topic)
        .setBounded(OffsetsInitializer.latest())
        .setValueOnlyDeserializer(SimpleStringSchema())
        .build()
    )
    words = env.fromSource(source, WatermarkStrategy.noWatermarks(), "words")
    counts = words.map(lambda word: (word, 1)).keyBy(lambda pair: pair[0]).sum(1)
    counts.map(lambda pair: f"{pair[0]}:{pair[1]}").sinkTo(exactly_once(servers, results))
    env.execute("counts")


if __name__ == "__main__":
    servers, topic, results, checkpoint, moment, batch = sys.argv[1:]
    main(servers, topic, results, checkpoint, moment, int(batch))
