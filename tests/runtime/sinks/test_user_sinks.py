"""Sinks that a user writes, without Spark: what is called when, retries, and errors."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import flinkish as fl
from flinkish.api.errors import (
    InvalidProgramError,
    JobExecutionError,
    NotSupportedError,
    UserFunctionError,
)
from flinkish.runtime.sinks import user_sinks

CALLS: list = []
"""The calls of the sink, which in a job is a copy."""


@pytest.fixture(autouse=True)
def no_calls(monkeypatch):
    CALLS.clear()
    monkeypatch.setattr(user_sinks, "_FIRST_PAUSE", 0.001)


class Noting(fl.CommittingSinkWriter[int, str]):
    def __init__(self, name):
        self.name = name
        self.kept = []

    def write(self, element, context):
        if element == 13:
            raise ValueError("bad luck")
        self.kept.append((element, context.timestamp()))

    def flush(self, endOfInput):
        CALLS.append(("flush", self.name, endOfInput))

    def prepareCommit(self):
        CALLS.append(("prepare", self.kept))
        return [self.name]

    def close(self):
        CALLS.append("close writer")


class NotingCommitter(fl.Committer[str]):
    def __init__(self, decide):
        self.decide = decide

    def commit(self, committables):
        for request in committables:
            CALLS.append(("commit", request.getCommittable(), request.getNumberOfRetries()))
            self.decide(request)

    def close(self):
        CALLS.append("close committer")


class TwoPhases(fl.Sink[int], fl.SupportsCommitter[str]):
    def __init__(self, decide=lambda request: None):
        self.decide = decide

    def createWriter(self, context):
        return Noting(f"{context.getTaskInfo().getIndexOfThisSubtask()} of {context.getBatchId()}")

    def createCommitter(self, context):
        return NotingCommitter(self.decide)


class OnePhase(fl.Sink[int]):
    def createWriter(self, context):
        return Plain(context)


class Plain(fl.SinkWriter[int]):
    def __init__(self, context):
        self.batch = context.getBatchId()

    def write(self, element, context):
        CALLS.append((self.batch, element))


def run(sink, *elements, perBatch=None):
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    if perBatch:
        env.getConfig().setElementsPerBatch(perBatch)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    stream = env.fromCollection(elements)
    stream = stream.assignTimestampsAndWatermarks(
        strategy.withTimestampAssigner(lambda element, _: 10 * element)
    )
    stream.sinkTo(sink).name("ledger")
    env.execute()


def test_a_batch_is_written_prepared_and_committed():
    run(TwoPhases(), 1, 2)
    assert CALLS == [
        ("flush", "0 of 0", False),
        ("prepare", [(1, 10), (2, 20)]),
        "close writer",
        ("commit", "0 of 0", 0),
        "close committer",
    ]


def test_each_batch_has_a_writer_of_its_own():
    run(TwoPhases(), 1, 2, 3, perBatch=2)
    assert [call for call in CALLS if call[0] == "commit"] == [
        ("commit", "0 of 0", 0),
        ("commit", "0 of 1", 0),
    ]


def test_a_writer_alone_needs_no_committer():
    run(OnePhase(), 1, 2, 3, perBatch=2)
    assert CALLS == [(0, 1), (0, 2), (1, 3)]


def commits():
    return [call[1:] for call in CALLS if call[0] == "commit"]


def test_what_is_to_be_tried_again_is():
    def twice(request):
        if request.getNumberOfRetries() == 0:
            request.retryLater()
        elif request.getNumberOfRetries() == 1:
            request.updateAndRetryLater("another")

    run(TwoPhases(twice), 1)
    assert commits() == [("0 of 0", 0), ("0 of 0", 1), ("another", 2)]


@pytest.mark.slow("waits between eleven tries")
def test_what_never_succeeds_fails_the_job():
    with pytest.raises(JobExecutionError, match=r"ledger: '0 of 0' was not committed in 11 tries"):
        run(TwoPhases(lambda request: request.retryLater()), 1)
    assert CALLS[-1] == "close committer"


def test_a_failure_of_unknown_reason_fails_the_job():
    with pytest.raises(JobExecutionError, match=r"'0 of 0' was not committed: 'no answer'"):
        run(TwoPhases(lambda request: request.signalFailedWithUnknownReason("no answer")), 1)


def test_a_failure_of_a_known_reason_is_a_warning(caplog):
    run(TwoPhases(lambda request: request.signalFailedWithKnownReason("too old")), 1)
    assert "ledger: '0 of 0' is given up: 'too old'" in caplog.text


def test_what_was_committed_before_is_committed(caplog):
    run(TwoPhases(lambda request: request.signalAlreadyCommitted()), 1)
    assert commits() == [("0 of 0", 0)]
    assert not caplog.text


def test_an_error_of_a_writer_names_the_element_and_closes_it():
    with pytest.raises(UserFunctionError, match=r"ledger: .*bad luck on the element 13"):
        run(TwoPhases(), 12, 13)
    assert CALLS == ["close writer"]


@pytest.mark.parametrize("writer", [None, Plain])
def test_a_writer_of_another_kind_is_named(writer):
    class Wrong(fl.Sink[int], fl.SupportsCommitter[str]):
        def createWriter(self, context):
            return writer and writer(context)

        def createCommitter(self, context):
            raise AssertionError

    with pytest.raises(
        InvalidProgramError, match=r"ledger: createWriter.* not a CommittingSinkWriter"
    ):
        run(Wrong(), 1)


def test_a_writer_does_not_know_the_watermark():
    class Curious(Plain):
        def write(self, element, context):
            context.currentWatermark()

    class CuriousSink(fl.Sink[int]):
        def createWriter(self, context):
            return Curious(context)

    with pytest.raises(NotSupportedError, match="ProcessFunction before the sink"):
        run(CuriousSink(), 1)


def test_a_sink_that_cannot_be_pickled_is_named():
    sink = TwoPhases(threading.Lock())
    with pytest.raises(
        InvalidProgramError, match=r"ledger: the TwoPhases cannot be pickled .*createW"
    ):
        run(sink, 1)


def test_a_sink_without_a_writer_says_to_write_it():
    class Empty(fl.Sink[int]):
        pass

    with pytest.raises(NotSupportedError, match="Empty"):
        run(Empty(), 1)
    with pytest.raises(NotSupportedError, match="derive from Sink"):
        fl.PrintSink().createWriter(None)


SCRIPT = """
import warnings
import flinkish as fl

GOT = []

class Writer(fl.SinkWriter):
    def __init__(self):
        self.kept = []  # the writer's own, of which nothing is said

    def write(self, element, context):
        self.kept.append(element)
        GOT.append(element)

class CollectSink(fl.Sink):
    values = []

    def createWriter(self, context):
        self.values.append("a writer")
        return Writer()

class Counting(fl.MapFunction):
    def map(self, value):
        GOT.append(value)
        return value

if __name__ == "__main__":
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(1)
    env.fromData(1, 2).map(Counting()).sinkTo(CollectSink())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env.execute()
    for each in caught:
        print(each.message.owner, each.message.attribute)
    print(GOT)
"""


@pytest.mark.slow("a separate program")
def test_a_sink_of_the_main_script_that_keeps_elements_there_is_told_once(tmp_path):
    (tmp_path / "job.py").write_text(SCRIPT)
    command = [sys.executable, str(tmp_path / "job.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    *told, kept = done.stdout.splitlines()
    assert sorted(told) == ["CollectSink values", "Counting.map GOT", "Writer.write GOT"]
    assert kept == "[]"


# ---------------------------------------------------------------------- forEachPartition


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def take(elements):
    CALLS.append([(n, str(n)) for n in elements])


def test_a_function_gets_an_iterator_of_each_batch(local):
    local.getConfig().setElementsPerBatch(2)
    local.fromCollection(range(5)).forEachPartition(take)
    local.execute()
    assert CALLS == [[(0, "0"), (1, "1")], [(2, "2"), (3, "3")], [(4, "4")]]


def test_it_is_not_called_without_elements(local):
    local.fromCollection(range(5)).filter(lambda n: n > 5).forEachPartition(take)
    local.execute()
    assert CALLS == []


def test_an_error_of_it_names_the_element_that_it_took(local):
    def divide(elements):
        for n in elements:
            CALLS.append(1 // n)

    local.fromData(1, 0, 2).forEachPartition(divide).name("quotients")
    with pytest.raises(UserFunctionError, match=r"quotients: .*ZeroDivisionError.* element 0"):
        local.execute()


def test_an_iterator_that_it_exhausts_by_hand_is_an_error_of_the_function(local):
    local.fromData(1).forEachPartition(lambda elements: (next(elements), next(elements)))
    with pytest.raises(UserFunctionError, match="StopIteration"):
        local.execute()


def test_a_function_with_a_lock_says_where_to_create_it(local):
    lock = threading.Lock()
    local.fromData(1).forEachPartition(lambda elements: (lock, list(elements)))
    with pytest.raises(InvalidProgramError, match=r"lock.*: create that in the function"):
        local.execute()
