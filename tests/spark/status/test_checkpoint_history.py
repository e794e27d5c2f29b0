"""The history of batches and errors that a checkpoint keeps."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.execution.details import BatchDetails, ExceptionDetails
from flinkish.deployment.status import batch_history
from flinkish.deployment.status.batch_history import BatchHistory
from flinkish.spark.status import checkpoint_history
from flinkish.spark.status.checkpoint_history import _PLACES, HistoryFile, StoredHistory


def batch(number, started=0, **fields):
    return BatchDetails(number, started or number, 5, {"addBatch": 3}, **fields)


def test_a_restarted_job_finds_its_history(tmp_path):
    log = HistoryFile(tmp_path / "history" / "batches.jsonl")
    first = BatchHistory(log)
    first.add(batch(0), whole=False)
    first.add(batch(0, recordsIn=7), whole=True)
    first.add(batch(1), whole=False)
    first.addException(ExceptionDetails(9, "UserFunctionError", "Map: no", "Map", "'a'"))
    again = BatchHistory(log)
    assert again.batches == (batch(0, recordsIn=7),)
    assert again.exceptions == (ExceptionDetails(9, "UserFunctionError", "Map: no", "Map", "'a'"),)


def test_a_batch_that_runs_again_replaces_what_was_noted_of_it(tmp_path):
    history = BatchHistory(HistoryFile(tmp_path / "batches.jsonl"))
    for number in range(4):
        history.add(batch(number, started=number + 1), whole=True)
    history.add(batch(2, started=50), whole=True)
    assert [(b.id, b.startTime) for b in history.batches] == [(0, 1), (1, 2), (2, 50)]
    assert BatchHistory(HistoryFile(tmp_path / "batches.jsonl")).batches == history.batches


def test_the_last_batches_are_kept_and_the_file_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr(batch_history, "BATCHES_KEPT", 20)
    monkeypatch.setattr(checkpoint_history, "_MOST_LINES", 40)
    file = tmp_path / "batches.jsonl"
    history = BatchHistory(HistoryFile(file))
    for number in range(100):
        history.add(batch(number), whole=True)
        assert len(file.read_text().splitlines()) <= 40
    numbers = [b.id for b in history.batches]
    assert numbers == list(range(80, 100))
    assert [b.id for b in BatchHistory(HistoryFile(file)).batches] == numbers


@given(st.integers(0, 200))
def test_a_line_that_was_cut_off_is_left_out(cut):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "batches.jsonl"
        history = BatchHistory(HistoryFile(file))
        history.add(batch(0), whole=True)
        history.add(batch(1), whole=True)
        text = file.read_text()
        file.write_text(text[: len(text) - cut] if cut else text)
        left = [b.id for b in BatchHistory(HistoryFile(file)).batches]
        assert left == [0, 1][: len(left)]
        assert len(left) >= len(file.read_text().splitlines()) - 1


def test_lines_of_another_version_and_foreign_bytes_do_no_harm(tmp_path):
    file = tmp_path / "batches.jsonl"
    file.write_text(json.dumps({"batch": {"unknown": 1}}) + "\n[1]\n{}\n")
    assert BatchHistory(HistoryFile(file)).batches == ()
    file.write_bytes(b"\xff\xfe\n")
    assert BatchHistory(HistoryFile(file)).batches == ()


def test_a_history_that_cannot_be_written_ends_no_job(tmp_path):
    (tmp_path / "history").write_text("a file where the directory should be")
    history = BatchHistory(HistoryFile(tmp_path / "history" / "batches.jsonl"))
    history.add(batch(0), whole=True)
    assert [b.id for b in history.batches] == [0]


def test_without_a_file_it_is_kept_while_the_job_runs():
    history = BatchHistory(None)
    history.add(batch(3), whole=True)
    assert [b.id for b in history.batches] == [3]


class Texts:
    """A storage that counts what is written, and may refuse."""

    def __init__(self):
        self.texts: dict[str, str] = {}
        self.written = 0
        self.refusing = False

    def readText(self, name):
        if self.refusing:
            raise OSError("no")
        return self.texts.get(name)

    def writeText(self, name, text):
        if self.refusing:
            raise OSError("no")
        self.texts[name] = text
        self.written += 1


def test_elsewhere_it_is_written_now_and_then_and_at_the_end(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("flinkish.spark.status.checkpoint_history.time.monotonic", lambda: clock[0])
    storage = Texts()
    history = BatchHistory(StoredHistory(storage))
    for number in range(90):
        clock[0] += 1
        history.add(batch(number), whole=True)
    assert storage.written == 3
    history.addException(ExceptionDetails(9, "UserFunctionError", "Map: no"))
    history.flush()
    history.flush()
    assert storage.written == 4
    again = BatchHistory(StoredHistory(storage))
    assert (again.batches, again.exceptions) == (history.batches, history.exceptions)


def test_elsewhere_one_text_is_whole_while_the_other_is_written():
    storage = Texts()
    for number in range(5):
        history = BatchHistory(StoredHistory(storage))
        history.add(batch(number), whole=True)
        history.addException(ExceptionDetails(number, "E", "no"))
        history.flush()
    assert [b.id for b in BatchHistory(StoredHistory(storage)).batches] == [0, 1, 2, 3, 4]
    older, newer = sorted(_PLACES, key=lambda place: int(storage.texts[place].split("\n")[0]))
    storage.texts[newer] = ""
    left = BatchHistory(StoredHistory(storage))
    assert [b.id for b in left.batches] == [0, 1, 2, 3]
    assert [e.timestamp for e in left.exceptions] == [3, 2, 1, 0]
    del storage.texts[older]
    assert BatchHistory(StoredHistory(storage)).batches == ()


def test_elsewhere_nothing_that_goes_wrong_ends_the_job():
    storage = Texts()
    storage.refusing = True
    history = BatchHistory(StoredHistory(storage))
    history.add(batch(0), whole=True)
    history.flush()
    assert [b.id for b in history.batches] == [0]


def test_whoever_looks_does_not_wait_for_a_write():
    history = BatchHistory(Slow())
    writer = threading.Thread(target=lambda: history.add(batch(0), whole=True))
    writer.start()
    try:
        assert Slow.writing.wait(20)
        assert [b.id for b in history.batches] == [0]
        history.add(batch(1), whole=False)
    finally:
        Slow.written.set()
        writer.join()


class Slow:
    writing, written = threading.Event(), threading.Event()

    def read(self):
        return iter(())

    def append(self, line, whole):
        self.writing.set()
        assert self.written.wait(20)


@pytest.mark.recovery
def test_a_job_whose_checkpoint_is_elsewhere_finds_its_history(elsewhere, jobs):
    environment = fl.StreamExecutionEnvironment.getExecutionEnvironment(elsewhere)
    environment.setParallelism(1).enableCheckpointing("/jobs/with history")
    environment.getConfig().setElementsPerBatch(2)

    def job(function):
        numbers = environment.fromCollection([1, 2, 3, 4]).map(function).name("careful")
        numbers.uid("careful").forEachBatch(lambda values, batch: None)
        client = environment.executeAsync("elsewhere")
        with suppress(fl.UserFunctionError):
            client.getJobExecutionResult()
        return client.getJobDetails()

    failed = job(lambda n: n if n < 3 else 1 // 0)
    assert failed.status is fl.JobStatus.FAILED
    assert [e.operator for e in failed.exceptions] == ["careful"]
    assert failed.checkpoint.restored is None
    assert (jobs / "with history" / "history").is_dir()
    second = job(lambda n: n)
    assert second.status is fl.JobStatus.FINISHED
    assert second.checkpoint.restored == failed.batches[-1].id == 0
    assert second.batches[:1] == failed.batches
    assert sum(b.recordsIn for b in second.batches) == 4
    assert second.exceptions == failed.exceptions
