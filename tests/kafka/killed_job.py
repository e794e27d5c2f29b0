"""A job on Spark from topic to topic, exactly once, and killed: ``python -m tests.kafka.killed_job``.

Arguments: the brokers, the two topics, the checkpoint, the moment and batch of the kill and, unless they are 2 and
none, the parallelism and the savepoint or checkpoint to begin from. The batches are those that write something. Ends
with 0 when the job has ended.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace

from flinkish import (
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
    KafkaSource,
    OffsetsInitializer,
    ProducerRecord,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from tests.kafka.killed_writer import exactly_once, kill_at

RECORDS_A_BATCH = 400


class Deadly(KafkaRecordSerializationSchema[str]):
    """Texts to a topic. The process that writes them ends the program at a moment of one batch."""

    def __init__(self, topic: str, moment: str, batch: int) -> None:
        self.topic = topic
        self.at = moment, batch
        self.program = os.getpid()
        self.armed = False

    def serialize(
        self, element: str, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord:
        if not self.armed:
            # Here, and not before: a copy is unpickled in each process that writes
            self.armed = True
            kill_at(*self.at, self.die)
        return ProducerRecord(self.topic, element.encode())

    def die(self) -> None:
        """``kill -9`` of the program and of this process."""
        os.kill(self.program, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def main(
    servers: str,
    topic: str,
    results: str,
    checkpoint: str,
    moment: str,
    batch: int,
    parallelism: str = "2",
    savepoint: str = "",
) -> None:
    """Count each user's records, and write each count."""
    env = StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(int(parallelism))
    if savepoint:
        env.setSavepoint(savepoint)
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
    texts = counts.map(lambda pair: f"{pair[0]}:{pair[1]}")
    texts.sinkTo(replace(exactly_once(servers, results), serializer=Deadly(results, moment, batch)))
    env.execute("counts")


if __name__ == "__main__":
    servers, topic, results, checkpoint, moment, batch, *begin = sys.argv[1:]
    main(servers, topic, results, checkpoint, moment, int(batch), *begin)
