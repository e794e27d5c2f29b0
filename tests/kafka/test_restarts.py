"""Jobs that end in the middle, and brokers that go: what a job on Spark makes of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flinkish import (
    KafkaSource,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from tests.kafka.broker import KafkaBroker
from tests.kafka.killed_job import RECORDS_A_BATCH
from tests.kafka.killed_writer import MOMENTS
from tests.kafka.topics import Topics
from tests.maven import ROOT
from tests.spark.waiting import wait_for

pytestmark = pytest.mark.kafka


def texts(servers: str, topic: str) -> KafkaSource[str]:
    builder = KafkaSource.builder().setBootstrapServers(servers).setTopics(topic)
    builder.setValueOnlyDeserializer(SimpleStringSchema()).setGroupId(f"of-{topic}")
    return builder.setProperty("partition.discovery.interval.ms", "100").build()


@pytest.mark.rotating("test_kafka_sink.py kills a writer with each commit")
@pytest.mark.timeout(600)
@pytest.mark.slow("starts a program with Spark for each kill")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_killed_job_loses_and_doubles_nothing(
    broker: KafkaBroker, topics: Topics, topic, tmp_path, elsewhere
):
    """A batch is killed before, while and after its transaction is committed, and counted again: where it was, or in
    a new checkpoint directory with another parallelism."""
    results = f"{topic}-results"
    topics.create(results, 1)
    words = [b"w%d" % (n % 7) for n in range(RECORDS_A_BATCH * 2)]
    for partition in (0, 1):
        topics.send(topic, partition, words)
    command = [sys.executable, "-m", "tests.kafka.killed_job", broker.bootstrapServers]
    command += [topic, results]
    kills = [(moment, batch, -9) for batch, moment in enumerate(MOMENTS)]
    for number, (moment, batch, code) in enumerate([*kills, ("", -1, 0)]):
        place, begin = f"{tmp_path}/checkpoint", []
        if elsewhere:
            begin = [str((2, 3, 1)[number % 3]), f"{place}-{number - 1}" if number else ""]
            place = f"{place}-{number}"
        done = run([*command, place, moment, str(batch), *begin])
        assert done.returncode == code, done.stdout + done.stderr
    counts = Counter(word.decode() for word in words * 2)
    expected = [f"{word}:{n}" for word, count in counts.items() for n in range(1, count + 1)]
    assert sorted(m.value().decode() for m in topics.read(results)) == sorted(expected)


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )


@pytest.mark.slow("two jobs on Spark that plan their source in separate processes")
def test_a_job_goes_on_from_its_checkpoint(
    env: StreamExecutionEnvironment, broker: KafkaBroker, topics: Topics, topic, tmp_path: Path
):
    found: list[str] = []

    def start() -> Any:
        env.enableCheckpointing(str(tmp_path / "checkpoint"))
        stream = env.fromSource(
            texts(broker.bootstrapServers, topic), WatermarkStrategy.noWatermarks(), "texts"
        )
        stream.forEachBatch(lambda values, _: found.extend(values))
        return env.executeAsync("texts")

    topics.send(topic, 0, [b"a", b"b"])
    client = start()
    wait_for(lambda: len(found) == 2)
    wait_for(lambda: topics.committed(f"of-{topic}", topic).get(0) == 2)
    client.stopWithSavepoint()
    # The group's offsets do not count, the checkpoint does
    topics.send(topic, 0, [b"c"])
    topics.send(topic, 1, [b"d"])
    client = start()
    wait_for(lambda: len(found) == 4)
    client.cancel()
    assert sorted(found) == ["a", "b", "c", "d"]


@pytest.mark.slow("starts a broker, and again")
def test_a_broker_that_goes_and_comes_back(tmp_path: Path):
    """Messages sent before and after arrive once."""
    broker = KafkaBroker(tmp_path)
    broker.start()
    try:
        topics = Topics(broker.bootstrapServers)
        topics.create("t", 1)
        topics.send("t", 0, [b"before"])
        local = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
        found: list[str] = []
        stream = local.fromSource(
            texts(broker.bootstrapServers, "t"), WatermarkStrategy.noWatermarks(), "texts"
        )
        stream.forEachBatch(lambda values, _: found.extend(values))
        client = local.executeAsync("texts")
        wait_for(lambda: found == ["before"])
        broker.kill()
        time.sleep(1.5)
        assert client.getJobStatus().name == "RUNNING"
        broker.start()
        wait_for(lambda: topics_has(topics, "t"))
        topics.send("t", 0, [b"after"])
        wait_for(lambda: len(found) == 2)
        client.cancel()
        assert found == ["before", "after"]
    finally:
        broker.kill()


def topics_has(topics: Topics, name: str) -> bool:
    try:
        return topics.isLed(name, 1)
    except Exception:
        return False
