"""Whatever was opened is closed, the last operator first, whatever fails on the way; as in Flink."""

from __future__ import annotations

import cloudpickle
import pyarrow as pa
import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from flinkish.deployment.vertex_plans import vertex_plan
from flinkish.runtime.task.plan import TaskSettings
from flinkish.runtime.task.stage import StageTask
from flinkish.spark.sources.function import ControlFunction, SourceFunction
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

CALLS: list[str] = []


class Logged(fl.RichMapFunction):
    """Records its calls, and raises where it is configured to."""

    def __init__(self, name, failing=()):
        self.name = name
        self.failing = failing

    def open(self, openContext):
        self.call("open")

    def map(self, value):
        self.call("map")
        return value

    def close(self):
        self.call("close")

    def call(self, method):
        CALLS.append(f"{method} {self.name}")
        if f"{method} {self.name}" in self.failing:
            raise ValueError(f"no {method}")


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def chain(*failing):
    def build(stream):
        for name in "abc":
            stream = stream.map(Logged(name, failing)).name(name.upper())
        return stream

    return build


def test_all_are_closed_the_last_first():
    StreamTestHarness(chain()).close()
    assert CALLS == ["open c", "open b", "open a", "close c", "close b", "close a"]


@pytest.mark.parametrize("failing", "abc")
def test_all_are_closed_if_one_cannot_be(failing):
    harness = StreamTestHarness(chain(f"close {failing}"))
    CALLS.clear()
    message = f"^{failing.upper()}: the user function raised ValueError: no close in close\\(\\)$"
    with pytest.raises(UserFunctionError, match=message):
        harness.close()
    assert CALLS == ["close c", "close b", "close a"]
    harness.close()
    assert len(CALLS) == 3


def test_what_was_opened_is_closed_if_one_cannot_be_opened():
    message = r"^B: the user function raised ValueError: no open in open\(\)$"
    with pytest.raises(UserFunctionError, match=message):
        StreamTestHarness(chain("open b", "close b"))
    assert CALLS == ["open c", "open b", "close c", "close b"]


def plans_of(build):
    job = MicroBatches(build, 1)
    return job.graph, {v.uid: vertex_plan(v) for v in job.graph.vertices}


SETTINGS = TaskSettings(1, 1, 2, 200, 1)


def test_a_stage_closes_all_its_vertices():
    def branches(stream):
        keyed = stream.keyBy(lambda value: value)
        return [
            keyed.map(Logged("a", ["close a"])),
            keyed.sum(0).map(Logged("b", ["close b"])),
            keyed.map(Logged("c")),
        ]

    graph, plans = plans_of(branches)
    task = StageTask([plans[v.uid] for v in graph.stage(1)], SETTINGS)
    task.open()
    with pytest.raises(UserFunctionError, match="no close"):
        task.close()
    assert sorted(CALLS[3:]) == ["close a", "close b", "close c"]


class Filed(Logged):
    """Says it in files, since it is pickled on its way."""

    def __init__(self, name, failing, folder):
        super().__init__(name, failing)
        self.folder = folder

    def call(self, method):
        (self.folder / f"{method} {self.name}").touch()
        super().call(method)


def source_functions(plan):
    """Return the functions that Spark calls for a source: with its elements, and at its end."""
    yield SourceFunction(cloudpickle.dumps((plan, SETTINGS, None))), iter(())
    batch = pa.RecordBatch.from_pydict({"value": ["end"]})
    yield ControlFunction(cloudpickle.dumps(([plan], [], SETTINGS))), iter([batch])


@pytest.mark.parametrize("number", [0, 1])
def test_the_tasks_of_a_source_close_what_was_opened(number, tmp_path):
    def build(stream):
        return stream.map(Filed("a", ["open a"], tmp_path)).map(Filed("b", ["close b"], tmp_path))

    graph, plans = plans_of(build)
    function, batches = list(source_functions(plans[graph.sources[0].uid]))[number]
    with pytest.raises(UserFunctionError, match="no open"):
        list(function(batches))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "close a",
        "close b",
        "open a",
        "open b",
    ]
