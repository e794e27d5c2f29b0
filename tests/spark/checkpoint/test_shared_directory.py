"""A checkpoint that executors do not see is refused, and no other."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from weakref import WeakKeyDictionary

import pyspark
import pytest

import flinkish as fl
from flinkish.spark.checkpoint import shared_directory
from flinkish.spark.checkpoint.shared_directory import LookingFunction, check_shared
from flinkish.spark.checkpoint.storage import CheckpointStorage


class Storage:
    """The storage of a directory of this machine."""

    def __init__(self, local):
        self.local = local

    def writeText(self, name, text):
        (self.local / name).mkdir()
        (self.local / name / "text").write_text(text)


class Context:
    """A cluster's."""

    master = "spark://master.example:7077"


class Session:
    """Runs a function in tasks, each of which sees the files that ``see`` leaves of those there."""

    def __init__(self, see, tasks=4):
        self.see = see
        self.tasks = tasks
        self.jobs = 0

    def range(self, rows):
        return self

    def mapInArrow(self, function, schema):
        self.jobs += 1
        self.found = []
        for task in range(self.tasks):
            self.see(task)
            for batch in function(iter(())):
                self.found += [tuple(row.values()) for row in batch.to_pylist()]
        return self

    def collect(self):
        return self.found


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(shared_directory, "_PATIENCE", 0.1)


@pytest.fixture
def context(monkeypatch):
    made = Context()
    monkeypatch.setattr(pyspark.SparkContext, "getOrCreate", lambda: made)
    return made


def test_a_directory_that_all_see_is_looked_for_once(context, tmp_path):
    """A standalone cluster on one machine, or with a mount, works with a path."""
    session = Session(lambda task: None)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        check_shared(session, Storage(tmp_path / name))
        assert list((tmp_path / name).iterdir()) == []
    assert session.jobs == 1


def test_one_that_a_single_executor_does_not_see_is_refused_each_time(context, tmp_path):
    def see(task):
        if task == 2:
            # Another machine may even have a directory of that name
            (tmp_path / "job" / shared_directory._MARKER / "text").write_text("another's")

    (tmp_path / "job").mkdir()
    session = Session(see)
    for jobs in (1, 2):
        with pytest.raises(fl.CheckpointStorageError) as raised:
            check_shared(session, Storage(tmp_path / "job"))
        assert session.jobs == jobs
        assert list((tmp_path / "job").iterdir()) == []
    message = str(raised.value)
    for part in (str(tmp_path / "job"), socket.gethostname(), "env.enableCheckpointing(directory)"):
        assert part in message


def test_nothing_is_looked_for_where_there_is_one_process_or_no_machine(context, tmp_path):
    session = Session(lambda task: None)
    check_shared(session, Storage(None))
    context.master = "local[2]"
    check_shared(session, Storage(tmp_path))
    assert session.jobs == 0


def test_a_mount_may_be_late(tmp_path, monkeypatch):
    file = tmp_path / "late"
    waits = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda seconds: file.write_text("text"))
    monkeypatch.setattr(shared_directory, "time", waits)
    assert list(LookingFunction(str(file), "text")(iter(()))) == []


def test_a_file_that_is_not_there_is_not_seen(tmp_path):
    (row,) = [batch.to_pylist() for batch in LookingFunction(str(tmp_path / "x"), "text")(iter(()))]
    assert row == [{"machine": socket.gethostname()}]


class Impatient(LookingFunction):
    """Looks once, in a worker too."""

    def __call__(self, batches):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shared_directory, "_PATIENCE", 0.0)
            yield from super().__call__(batches)


def test_tasks_of_spark_look_for_it(spark, tmp_path, monkeypatch):
    """``make test-cluster`` has executors in separate processes."""
    monkeypatch.setattr(shared_directory, "runs_in_driver", lambda master: False)
    monkeypatch.setattr(shared_directory, "_shared", WeakKeyDictionary())
    storage = CheckpointStorage(spark, str(tmp_path / "job"))
    storage.create()
    check_shared(spark, storage)
    monkeypatch.setattr(shared_directory, "_shared", WeakKeyDictionary())
    monkeypatch.setattr(storage, "writeText", lambda name, text: None)
    monkeypatch.setattr(shared_directory, "LookingFunction", Impatient)
    with pytest.raises(fl.CheckpointStorageError, match=socket.gethostname()):
        check_shared(spark, storage)
    assert list((tmp_path / "job").iterdir()) == []
