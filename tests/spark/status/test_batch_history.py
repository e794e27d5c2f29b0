"""The history of batches and errors that a checkpoint keeps."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flinkish.api.execution.details import BatchDetails, ExceptionDetails
from flinkish.spark.status.batch_history import BATCHES_KEPT, BatchHistory


def batch(number, started=0, **fields):
    return BatchDetails(number, started or number, 5, {"addBatch": 3}, **fields)


def test_a_restarted_job_finds_its_history(tmp_path):
    file = tmp_path / "history" / "batches.jsonl"
    first = BatchHistory(file)
    first.add(batch(0), whole=False)
    first.add(batch(0, recordsIn=7), whole=True)
    first.add(batch(1), whole=False)
    first.addException(ExceptionDetails(9, "UserFunctionError", "Map: no", "Map", "'a'"))
    again = BatchHistory(file)
    assert again.batches == (batch(0, recordsIn=7),)
    assert again.exceptions == (ExceptionDetails(9, "UserFunctionError", "Map: no", "Map", "'a'"),)


def test_a_batch_that_runs_again_replaces_what_was_noted_of_it(tmp_path):
    history = BatchHistory(tmp_path / "batches.jsonl")
    for number in range(4):
        history.add(batch(number, started=number + 1), whole=True)
    history.add(batch(2, started=50), whole=True)
    assert [(b.id, b.startTime) for b in history.batches] == [(0, 1), (1, 2), (2, 50)]
    assert BatchHistory(tmp_path / "batches.jsonl").batches == history.batches


def test_the_last_batches_are_kept_and_the_file_stays_small(tmp_path):
    file = tmp_path / "batches.jsonl"
    history = BatchHistory(file)
    for number in range(5 * BATCHES_KEPT):
        history.add(batch(number), whole=True)
        assert len(file.read_text().splitlines()) <= 2 * BATCHES_KEPT
    numbers = [b.id for b in history.batches]
    assert numbers == list(range(4 * BATCHES_KEPT, 5 * BATCHES_KEPT))
    assert [b.id for b in BatchHistory(file).batches] == numbers


@given(st.integers(0, 200))
def test_a_line_that_was_cut_off_is_left_out(cut):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "batches.jsonl"
        history = BatchHistory(file)
        history.add(batch(0), whole=True)
        history.add(batch(1), whole=True)
        text = file.read_text()
        file.write_text(text[: len(text) - cut] if cut else text)
        left = [b.id for b in BatchHistory(file).batches]
        assert left == [0, 1][: len(left)]
        assert len(left) >= len(file.read_text().splitlines()) - 1


def test_lines_of_another_version_and_foreign_bytes_do_no_harm(tmp_path):
    file = tmp_path / "batches.jsonl"
    file.write_text(json.dumps({"batch": {"unknown": 1}}) + "\n[1]\n{}\n")
    assert BatchHistory(file).batches == ()
    file.write_bytes(b"\xff\xfe\n")
    assert BatchHistory(file).batches == ()


def test_a_history_that_cannot_be_written_ends_no_job(tmp_path):
    (tmp_path / "history").write_text("a file where the directory should be")
    history = BatchHistory(tmp_path / "history" / "batches.jsonl")
    history.add(batch(0), whole=True)
    assert [b.id for b in history.batches] == [0]


def test_without_a_file_it_is_kept_while_the_job_runs():
    history = BatchHistory(None)
    history.add(batch(3), whole=True)
    assert [b.id for b in history.batches] == [3]
