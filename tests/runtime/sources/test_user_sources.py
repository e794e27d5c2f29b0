"""Sources that a user writes, without Spark: how they are read, planned and gone on with."""

from __future__ import annotations

import io
import os
import threading
import time
from types import SimpleNamespace

import cloudpickle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

import flinkish as fl
from flinkish.api.connectors.function_source import FunctionSource
from flinkish.api.errors import (
    CorruptCheckpointError,
    InvalidProgramError,
    NotSupportedError,
    UnfitElementError,
    UserFunctionError,
)
from flinkish.runtime.records.records import visible_timestamp
from flinkish.runtime.sources import user_sources
from flinkish.runtime.sources.user_sources import FrameFiles, ReadAhead, UserSourcePlanner
from flinkish.spark.sources.plan_log import PlanLog


class Numbers(fl.Source[int]):
    """Whole numbers up to ``end``; ``stops`` after some of them, once."""

    def __init__(self, end, stops=None):
        self.end = end
        self.stops = stops

    def read(self, position):
        for number in range(position or 0, self.end):
            if number == self.stops:
                raise OSError("unplugged")
            yield number, number + 1


def planner(source, frames, perBatch=3, parallelism=2):
    pickled = cloudpickle.dumps(source)
    return UserSourcePlanner("Numbers", pickled, frames_in(frames), perBatch, parallelism)


def frames_in(directory):
    return directory if isinstance(directory, FrameFiles) else FrameFiles(str(directory))


def awaited(take):
    until = time.monotonic() + 10
    while (taken := take()) is None and time.monotonic() < until:
        time.sleep(0.001)
    return taken


def elements(planned, step):
    pieces = (piece for task in planned.tasks(step) for piece in task)
    return [value for piece in pieces for value in planned.frames.read(*piece).records.values]


def steps_of(planned):
    steps = []
    while not steps or not steps[-1].last:
        steps.append(awaited(planned.plan))
    assert planned.plan() is None
    return steps


def test_the_batches_of_a_bounded_source_are_full(tmp_path):
    planned = planner(Numbers(7), tmp_path)
    assert [elements(planned, step) for step in steps_of(planned)] == [[0, 1, 2], [3, 4, 5], [6]]


def test_an_empty_source_ends_in_a_step_of_nothing(tmp_path):
    (step,) = steps_of(planner(Numbers(0), tmp_path))
    assert step.last
    assert planner(Numbers(0), tmp_path).tasks(step) == []


@given(st.integers(0, 20), st.integers(1, 6), st.lists(st.integers(0, 4), max_size=3))
def test_wherever_it_is_killed_each_element_is_planned_once(tmp_path_factory, end, size, kills):
    directory = tmp_path_factory.mktemp("source")
    seen = []
    for steps in [*kills, 30]:
        # A process that plans so many steps, and is killed
        log = PlanLog(directory / "plan", retained=1)
        planned = planner(Numbers(end), directory / "frames", size)
        planned.restore(*log.restored())
        while steps and not (log.latest and log.ended):
            step = awaited(planned.plan)
            seen += elements(planned, step)
            log.append(step)
            if log.isDue:
                log.fold(planned.snapshot())
                planned.clear()
            steps -= 1
    assert seen == list(range(end))
    assert planned.plan() is None


def test_the_frames_of_a_step_that_was_not_logged_are_left_alone(tmp_path):
    first = planner(Numbers(6), tmp_path)
    step = awaited(first.plan)
    assert elements(first, step) == [0, 1, 2]
    second = planner(Numbers(6), tmp_path)
    again = awaited(second.plan)
    assert elements(second, again) == elements(first, step) == [0, 1, 2]


def test_old_frames_are_removed(tmp_path):
    planned = planner(Numbers(250), tmp_path, perBatch=1)
    steps_of(planned)
    assert len(os.listdir(tmp_path)) == 250
    planned.clear()
    assert len(os.listdir(tmp_path)) == 200 - 1


class Store(fs.FSSpecHandler):
    """A store in memory, which notes how it is called."""

    def __init__(self):
        super().__init__(None)
        self.objects = {}
        self.listings = 0

    def get_file_info_selector(self, selector):
        self.listings += 1
        return [fs.FileInfo(name, fs.FileType.File) for name in sorted(self.objects)]

    def delete_file(self, path):
        del self.objects[path]

    def open_output_stream(self, path, metadata):
        return pa.PythonFile(Upload(self.objects, path), mode="w")

    def open_input_file(self, path):
        return pa.PythonFile(io.BytesIO(self.objects[path]), mode="r")


class Upload(io.BytesIO):
    """An object that is there once it is whole."""

    def __init__(self, objects, path):
        super().__init__()
        self.put = objects, path

    def close(self):
        if not self.closed:
            objects, path = self.put
            objects[path] = self.getvalue()
        super().close()


def test_in_a_store_there_is_an_object_for_each_batch_and_no_listing():
    store = Store()
    frames = FrameFiles("bucket/frames", fs.PyFileSystem(store))
    planned = planner(Numbers(250), frames, perBatch=1)
    steps = steps_of(planned)
    assert (len(store.objects), store.listings) == (250, 0)
    assert [value for step in steps for value in elements(planned, step)] == list(range(250))
    planned.clear()
    assert (len(store.objects), store.listings) == (200 - 1, 1)


@pytest.mark.parametrize("stored", [False, True])
def test_a_file_of_frames_that_was_cut_off_is_named(tmp_path, stored):
    frames = FrameFiles(str(tmp_path), fs.LocalFileSystem() if stored else None)
    planned = planner(Numbers(3), frames)
    step = awaited(planned.plan)
    assert elements(planned, step) == [0, 1, 2]
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptCheckpointError, match=rf"{file.name} .* ends before byte"):
        elements(planned, step)


class Stamped(fl.Source[dict]):
    """One dict, changed from element to element, and a position that is changed too."""

    def read(self, position):
        offsets = position or {"offset": 0}
        element = {}
        while offsets["offset"] < 3:
            offsets["offset"] += 1
            element["n"] = offsets["offset"]
            yield fl.StreamRecord(element, 10 * element["n"]), offsets


def test_elements_and_positions_are_as_they_were_when_they_were_given():
    portion = awaited(ReadAhead("Stamped", Stamped(), None, 2).take)
    assert list(portion.records.values) == [{"n": 1}, {"n": 2}]
    assert [visible_timestamp(t) for t in portion.records.timestamps.tolist()] == [10, 20]
    assert portion.position == {"offset": 2}
    assert not portion.last


class Live(fl.Source[int]):
    """Gives a number, waits until it is asked for the next, and has no end."""

    bounded = False
    asked = threading.Event()

    def read(self, position):
        yield 1, 1
        self.asked.wait()
        yield 2, 2


def test_an_unbounded_source_gives_what_there_is():
    reading = ReadAhead("Live", Live(), None, 100)
    assert list(awaited(reading.take).records.values) == [1]
    assert reading.take() is None
    Live.asked.set()
    assert list(awaited(reading.take).records.values) == [2]


def test_it_reads_no_further_ahead_than_a_batch(monkeypatch):
    seen = []
    waits = threading.Event()

    class Room(threading.Event):
        def wait(self, timeout=None):
            waits.set()
            return super().wait(timeout)

    monkeypatch.setattr(
        user_sources, "threading", SimpleNamespace(Event=Room, Thread=threading.Thread)
    )

    class Counted(fl.Source[int]):
        def read(self, position):
            for number in range(1000):
                seen.append(number)
                yield number, number

    reading = ReadAhead("Counted", Counted(), None, 10)
    assert waits.wait(10)
    assert len(seen) == 10
    reading.close()


def test_an_error_comes_after_what_was_read_before_it():
    reading = ReadAhead("Source: Numbers", Numbers(9, stops=2), None, 5)
    assert list(awaited(reading.take).records.values) == [0, 1]
    with pytest.raises(UserFunctionError, match=r"OSError: unplugged in read\(\)"):
        reading.take()


@pytest.mark.parametrize("given", [5, (1,), [1, 2], (1, 2, 3)])
def test_what_is_no_pair_is_named(given):
    class Wrong(fl.Source[int]):
        def read(self, position):
            yield given

    reading = ReadAhead("Wrong", Wrong(), None, 5)
    awaited(lambda: reading._ended or None)
    with pytest.raises(
        UnfitElementError, match=r"Wrong: read.* not a pair. Write yield element, posi"
    ):
        reading.take()


def test_only_a_source_of_ones_own_is_read_by_hand():
    with pytest.raises(NotSupportedError, match="derive from Source"):
        fl.FileSource.forLines("in").read(None)


def local(source, perBatch=None):
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    if perBatch:
        env.getConfig().setElementsPerBatch(perBatch)
    return env.fromSource(source, None, "numbers")


@pytest.mark.parametrize("perBatch", [None, 2])
def test_in_this_process(perBatch):
    assert list(local(Numbers(5), perBatch).map(lambda n: n * n).executeAndCollect()) == [
        0,
        1,
        4,
        9,
        16,
    ]


def test_in_this_process_with_timestamps_and_splits():
    env = fl.StreamExecutionEnvironment().setLocalExecution()
    source = Stamped().withSplits(lambda element: element["n"] % 2)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    counted = (
        env.fromSource(source, strategy)
        .map(lambda element: element["n"])
        .windowAll(fl.TumblingEventTimeWindows.of(20))
        .reduce(lambda a, b: a + b)
    )
    assert list(counted.executeAndCollect()) == [1, 5]


def test_in_this_process_errors_name_the_source():
    with pytest.raises(UserFunctionError, match=r"Numbers: .*OSError: unplugged in read\(\)"):
        list(local(Numbers(9, stops=2)).executeAndCollect())


def test_a_source_that_cannot_be_pickled_is_named():
    source = Numbers(3, stops=threading.Lock())
    with pytest.raises(
        InvalidProgramError, match=r"Numbers: the source cannot be pickled .* read\(\)"
    ):
        list(local(source).executeAndCollect())


def test_a_source_without_read_says_to_write_it():
    class Empty(fl.Source[int]):
        pass

    with pytest.raises(NotSupportedError, match="Empty"):
        list(local(Empty()).executeAndCollect())


def test_what_a_source_keeps_while_it_reads_is_its_own(recwarn):
    class Connected(fl.Source[int]):
        def read(self, position):
            self.connection = object()
            yield from ((1, 1), (2, 2))

    assert list(local(Connected(), 1).executeAndCollect()) == [1, 2]
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize("bounded", [False, True])
def test_the_end_of_a_source_that_is_not_bounded_is_logged_once(tmp_path, caplog, bounded):
    source = FunctionSource(lambda ctx: ctx.collect(1), bounded)
    planning = planner(source, tmp_path)
    while not awaited(planning.plan).last:
        pass
    assert planning.plan() is None
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (0 if bounded else 1)
    assert all("<lambda> has ended. The job goes on" in message for message in said)
