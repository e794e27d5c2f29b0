"""Writers of a ``KafkaSink`` with EXACTLY_ONCE, from run to run, without Spark."""

from __future__ import annotations

import pytest

from flinkish.api.errors import JobExecutionError, ProducerFencedError
from flinkish.deployment.restarts import is_recoverable
from flinkish.runtime.kafka.exactly_once import (
    ExactlyOnceWriter,
    begin_run,
    transactional_id,
)
from flinkish.runtime.kafka.transactions import SinkRun, Transactions
from flinkish.runtime.kafka.writer import open_producer
from flinkish.runtime.records.records import untimed
from tests.kafka.broker import KafkaBroker
from tests.kafka.killed_writer import exactly_once
from tests.kafka.topics import Topics

pytestmark = pytest.mark.kafka


class Job:
    """A sink on a topic."""

    def __init__(self, broker: KafkaBroker, topics: Topics, topic: str) -> None:
        self.sink = exactly_once(broker.bootstrapServers, topic)
        self._topics, self._topic = topics, topic

    def run(self, job: str, writers: int) -> SinkRun:
        return begin_run(self.sink, job, writers)

    def writer(self, run: SinkRun, number: int) -> ExactlyOnceWriter:
        return ExactlyOnceWriter(self.sink, "Writer", "UTC", run, number)

    def leave_open(self, number: int, text: str) -> None:
        """Send a record in a transaction that nobody ends."""
        producer = open_producer(
            self.sink, {"transactional.id": transactional_id(self.sink, number)}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(self._topic, text)
        while len(producer):
            producer.poll(0.05)
        self.left = producer

    def texts(self) -> list[str]:
        return sorted(message.value().decode() for message in self._topics.read(self._topic))


@pytest.fixture
def job(broker: KafkaBroker, topics: Topics, topic: str) -> Job:
    return Job(broker, topics, topic)


def write(writer: ExactlyOnceWriter, batch: int, text: str) -> int:
    return writer.write([untimed([text])], batch).sent


def test_each_writer_knows_what_it_has_committed(job: Job):
    """A batch ended when one of two writers had committed its part."""
    first = job.run("job", 2)
    write(job.writer(first, 0), 7, "a")
    again = job.run("job", 2)
    assert [write(job.writer(again, n), 7, text) for n, text in enumerate("ab")] == [0, 1]
    assert job.texts() == ["a", "b"]


def test_a_writer_may_move_to_another_worker(job: Job):
    run = job.run("job", 1)
    write(job.writer(run, 0), 0, "a")
    write(job.writer(run, 0), 1, "b")
    assert job.texts() == ["a", "b"]


def test_of_two_attempts_of_a_task_one_commits(job: Job):
    """As with Spark's speculative tasks: the later attempt fences the earlier one."""
    run = job.run("job", 1)
    slow, quick = job.writer(run, 0), job.writer(run, 0)
    write(quick, 0, "a")
    with pytest.raises(JobExecutionError, match="was fenced, although no other run has") as raised:
        write(slow, 0, "a")
    assert is_recoverable(raised.value)
    assert write(job.writer(run, 0), 0, "a") == 0
    assert job.texts() == ["a"]


@pytest.mark.parametrize("writers", [1, 4])
def test_an_earlier_run_of_other_writers_is_fenced(job: Job, writers: int):
    """Restored from a savepoint, so in another checkpoint, with fewer or more writers."""
    earlier = job.run("job", 3)
    zombies = [job.writer(earlier, number) for number in range(3)]
    write(zombies[2], 0, "a")
    later = job.run("another checkpoint", writers)
    for zombie in zombies:
        with pytest.raises(
            ProducerFencedError, match="has begun, and this one was fenced"
        ) as raised:
            write(zombie, 1, "lost")
        # Else it would begin again, and fence the later one
        assert not is_recoverable(raised.value)
    for number in range(3):
        # A task that was on its way opens its writer only now
        with pytest.raises(ProducerFencedError, match="has begun"):
            job.writer(earlier, number)
    write(job.writer(later, writers - 1), 1, "b")
    assert job.texts() == ["a", "b"]


@pytest.mark.parametrize("number", [0, 2])
def test_a_transaction_left_open_is_aborted(job: Job, number: int):
    """Also one of a writer that the next run does not have: else consumers would wait for it."""
    job.run("job", 3)
    job.leave_open(number, "lost")
    run = job.run("another checkpoint", 1)
    write(job.writer(run, 0), 0, "a")
    assert job.texts() == ["a"]


def test_a_batch_of_an_earlier_version_is_known(job: Job, topic: str):
    """One producer on the driver wrote it, and noted the job alone."""
    producer = open_producer(job.sink, {"transactional.id": topic})
    transactions = Transactions(job.sink, producer, f"flinkish-{topic}")
    transactions.initialise()
    transactions.begin()
    producer.produce(topic, "a")
    while len(producer):
        producer.poll(0.05)
    transactions.commit([topic], 6, OldRun("job"))
    run = job.run("job", 2)
    assert [write(job.writer(run, n), 5, "a") for n in range(2)] == [0, 0]
    assert write(job.writer(run, 1), 6, "b") == 1
    assert job.texts() == ["a", "b"]


class OldRun(SinkRun):
    """A run that notes its job alone."""

    def __init__(self, job: str) -> None:
        super().__init__(job, 0, "", 1)

    @property
    def text(self) -> str:
        return self.job


def test_the_newest_of_two_runs_goes_on(job: Job):
    one, other = job.run("job", 1), job.run("job", 1)
    assert other.number > one.number
    with pytest.raises(ProducerFencedError, match="has begun"):
        job.writer(one, 0)
    assert write(job.writer(other, 0), 0, "a") == 1
