"""Sinks that a user writes, on Spark: exactly once by the id of the batch. Kills: ``test_user_sources.py``."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import flinkish as fl
from flinkish.api.errors import JobExecutionError, UserFunctionError


class Renamed(fl.Sink[int], fl.SupportsCommitter[str]):
    """Writes files that only get their name when they are committed; the file ``log`` has the calls."""

    def __init__(self, directory):
        self.directory = str(directory)

    def createWriter(self, context):
        name = f"{context.getBatchId()}-{context.getTaskInfo().getIndexOfThisSubtask()}"
        return DraftWriter(self.directory, name)

    def createCommitter(self, context):
        return Renaming(self.directory)


class DraftWriter(fl.CommittingSinkWriter[int, str]):
    def __init__(self, directory, name):
        self.directory, self.name = directory, name
        self.draft = Path(directory, f".{name}").open("w")  # noqa: SIM115 - closed by close()

    def write(self, element, context):
        self.draft.write(f"{element}\n")

    def flush(self, endOfInput):
        self.draft.flush()

    def prepareCommit(self):
        note(self.directory, f"prepared {self.name}")
        return [self.name]

    def close(self):
        self.draft.close()


class Renaming(fl.Committer[str]):
    def __init__(self, directory):
        self.directory = directory

    def commit(self, committables):
        for request in committables:
            name = request.getCommittable()
            if Path(self.directory, "refuses").exists():
                request.signalFailedWithUnknownReason("refused")
            elif Path(self.directory, name).exists():
                request.signalAlreadyCommitted()
            else:
                os.rename(Path(self.directory, f".{name}"), Path(self.directory, name))
                note(self.directory, f"committed {name}")


def note(directory, line):
    with Path(directory, "log").open("a") as log:
        log.write(f"{line}\n")


def log_of(directory):
    return (directory / "log").read_text().splitlines()


def committed(directory):
    files = sorted(directory.glob("[0-9]*"))
    return sorted(int(line) for file in files for line in file.read_text().split())


def job(env, tmp_path, then=None):
    env.enableCheckpointing(str(tmp_path / "checkpoint")).getConfig().setElementsPerBatch(4)
    numbers = env.fromCollection(range(12)).uid("numbers").keyBy(lambda n: n % 3)
    counted = numbers.reduce(lambda a, b: max(a, b)).uid("highest")
    counted.sinkTo(Renamed(tmp_path / "out"))
    if then is not None:
        counted.forEachBatch(then)
    env.execute()


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.recovery
def test_what_was_prepared_is_committed_by_the_next_run(env, tmp_path, out):
    (out / "refuses").touch()
    with pytest.raises(JobExecutionError, match="was not committed: 'refused'"):
        job(env, tmp_path)
    prepared = log_of(out)
    assert committed(out) == []
    (out / "refuses").unlink()
    job(env, tmp_path)
    assert committed(out) == list(range(12))
    # The first batch was not written again
    assert [line for line in log_of(out) if line.startswith("prepared 0-")] == prepared


@pytest.mark.recovery
def test_a_batch_that_was_committed_is_left_alone_when_it_comes_again(env, tmp_path, out):
    broken = [True]

    def fail(values, batch):
        if batch == 1 and broken:
            raise OSError("disk full")

    with pytest.raises(UserFunctionError, match="disk full"):
        job(env, tmp_path, fail)
    before = log_of(out)
    # The sink before the one that fails has committed the second batch
    assert any(line.startswith("committed 1-") for line in before)
    broken.clear()
    job(env, tmp_path, fail)
    assert committed(out) == list(range(12))
    assert log_of(out)[: len(before)] == before
    again = [line.split()[1] for line in log_of(out)[len(before) :]]
    assert again
    assert all(name.startswith("2-") for name in again)


def test_errors_of_a_writer_come_from_the_worker(env):
    class Broken(fl.Sink[int]):
        def createWriter(self, context):
            return Refusing()

    class Refusing(fl.SinkWriter[int]):
        def write(self, element, context):
            raise ValueError("bad luck")

    env.fromElements(13).sinkTo(Broken()).name("ledger")
    with pytest.raises(UserFunctionError, match=r"ledger: .*bad luck on the element 13"):
        env.execute()


def test_workers_write_and_the_driver_commits(env, tmp_path, out):
    """A sink with a committer, and a function for each partition."""
    directory = str(tmp_path)

    def append(elements):
        with Path(directory, f"of-{os.getpid()}").open("a") as file:
            file.write(f"{list(elements)}\n")

    env.getConfig().setElementsPerBatch(20)
    keyed = env.fromCollection([(n % 4, n) for n in range(60)]).keyBy(lambda e: e[0])
    latest = keyed.reduce(lambda a, b: b)
    latest.forEachPartition(append)
    latest.map(lambda e: e[1]).sinkTo(Renamed(out))
    env.execute()
    assert committed(out) == list(range(60))
    assert {line.split()[1].partition("-")[0] for line in log_of(out)} == {"0", "1", "2"}
    assert f"of-{os.getpid()}" not in {file.name for file in tmp_path.iterdir()}
    lines = [line for file in tmp_path.glob("of-*") for line in file.read_text().splitlines()]
    calls = sorted((ast.literal_eval(line) for line in lines), key=lambda call: call[0][1])
    assert len(calls) == 3 * 2  # three batches, two tasks
    of_key: dict[int, list[int]] = {}
    for key, n in (element for call in calls for element in call):
        of_key.setdefault(key, []).append(n)
    assert of_key == {key: list(range(key, 60, 4)) for key in range(4)}
