"""Transactions that a job leaves open when it ends in the middle of a batch: readers would wait for them."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from flinkish import (
    KafkaRecordSerializationSchema,
    KafkaSinkContext,
    ProducerRecord,
    StreamExecutionEnvironment,
)
from flinkish.cli.main import main
from flinkish.deployment.open_transactions import NOTED, TransactionalSink, transactional_sinks
from flinkish.runtime.kafka.exactly_once import (
    ExactlyOnceWriter,
    awaited_offsets,
    end_run,
)
from tests.kafka.broker import KafkaBroker
from tests.kafka.killed_writer import exactly_once
from tests.kafka.test_transactions import Job, write
from tests.kafka.topics import Topics
from tests.spark.waiting import wait_for

pytestmark = pytest.mark.kafka


@pytest.fixture
def job(broker: KafkaBroker, topics: Topics, topic: str) -> Job:
    return Job(broker, topics, topic)


@pytest.mark.slow("the doctor starts a JVM")
def test_those_of_a_killed_job_are_named_and_aborted(job: Job, broker, topic, tmp_path, capsys):
    write(job.writer(job.run("job", 2), 0), 0, "a")
    noted = TransactionalSink("ledger", broker.bootstrapServers, topic, 300_000, 2)
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan/text").write_text(json.dumps({NOTED: [asdict(noted)]}))
    examined = ["doctor", "--no-job", "--checkpoint", str(tmp_path)]
    assert main(examined) == 0
    assert f"none with the prefix {topic} is open" in capsys.readouterr().out

    job.leave_open(1, "lost")
    assert main(examined) == 1
    said = capsys.readouterr().out
    assert "transactions of the sink 'ledger': consumers with read_committed wait" in said
    assert f"{topic}-" in said
    assert "abort it 300 s after" in said
    assert main(["cancel", "--checkpoint", str(tmp_path)]) == 0
    assert f"2 transactional id(s) {topic}-writer-N" in capsys.readouterr().out
    assert noted.awaited({}) == {}
    assert job.texts() == ["a"]


def test_a_run_that_ends_aborts_its_own_and_no_others(job: Job):
    earlier = job.run("job", 2)
    job.leave_open(1, "lost")
    end_run(job.sink, earlier)
    assert awaited_offsets(job.sink, 2) == {}
    later = job.run("job", 2)
    writer = job.writer(later, 1)
    end_run(job.sink, earlier)
    assert write(writer, 0, "a") == 1
    assert job.texts() == ["a"]


class Stuck(KafkaRecordSerializationSchema[str]):
    """Writes one element, and never comes back from the next."""

    def __init__(self, topic: str, reached: Path) -> None:
        self.topic, self.reached = topic, reached

    def serialize(
        self, element: str, context: KafkaSinkContext, timestamp: int | None
    ) -> ProducerRecord:
        if element == "b":
            self.reached.touch()
            threading.Event().wait()
        return ProducerRecord(self.topic, element.encode() * 100_000)


@pytest.mark.slow("a job on Spark that is cancelled")
def test_a_job_that_is_cancelled_in_a_batch_leaves_none_open(
    env: StreamExecutionEnvironment, broker, topic, tmp_path
):
    sink = exactly_once(broker.bootstrapServers, topic)
    # So that it is known which topic it writes to
    write(ExactlyOnceWriter.alone(sink, "Writer", "job", "UTC"), 0, "before")
    stuck = replace(sink, serializer=Stuck(topic, tmp_path / "reached"))
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    env.fromData("a", "b").sinkTo(stuck).name("ledger")
    client = env.executeAsync("stuck")
    wait_for(lambda: os.path.exists(tmp_path / "reached"), seconds=60)
    wait_for(lambda: awaited_offsets(sink, 2) != {}, seconds=60)
    # As a job that was killed would be found
    [noted] = transactional_sinks("doctor", str(tmp_path / "checkpoint"))
    assert noted == TransactionalSink("ledger", broker.bootstrapServers, topic, 300_000, 2)
    client.cancel()
    assert awaited_offsets(sink, 2) == {}
