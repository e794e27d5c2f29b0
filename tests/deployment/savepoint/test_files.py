"""Savepoints by URI: on this machine, and on a store of objects; and of sources of several splits."""

from __future__ import annotations

import threading
from functools import cache

import pyarrow.fs as fs
import pytest

import flinkish as fl
from flinkish.deployment.savepoint.files import SavepointDirectory
from tests.savepoint_jobs import gone_on, stop_held, stopped

pytestmark = pytest.mark.slow("writes and alters many savepoints")

COUNT = 150


def local(parallelism=1):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(parallelism).getConfig().setElementsPerBatch(15)
    return env


@pytest.fixture
def store(monkeypatch):
    """A store that is reached by URIs ``memory://`` and has no directories."""
    objects, _ = fs.FileSystem.from_uri("mock:///")
    known = fs.FileSystem.from_uri

    class Stores:
        @staticmethod
        def from_uri(uri):
            if uri.startswith("memory://"):
                return objects, uri.removeprefix("memory://")
            return known(uri)

    monkeypatch.setattr("flinkish.deployment.savepoint.files.fs.FileSystem", Stores)
    return objects


def test_a_savepoint_on_a_store_is_written_read_changed_and_begun_from(store, tmp_path):
    first = stopped(local(2), ["totals"], COUNT, 40, "memory://bucket/one")
    names = {f.path for f in store.get_file_info(fs.FileSelector("bucket", recursive=True))}
    assert {"bucket/one/metadata/text", "bucket/one/state/part-00000.parquet"} <= names
    writer = fl.SavepointWriter.fromExistingSavepoint("memory://bucket/one/")
    writer.changeOperatorIdentifier("numbers", "numbers2").write("memory://bucket/two")
    reader = fl.SavepointReader.read("memory://bucket/two")
    total = fl.ValueStateDescriptor("total", fl.Types.LONG())
    assert dict(reader.readKeyedState("totals", total)) == {
        key: sum(n for n in range(45) if n % 7 == key) for key in range(7)
    }
    second = gone_on(local(3), ["totals"], COUNT, "memory://bucket/one")
    assert len([row for row in [*first, *second] if row[0] == "total"]) == COUNT
    with pytest.raises(fl.CheckpointStorageError, match="not empty"):
        SavepointDirectory("test", "memory://bucket/one").checkEmpty()
    with pytest.raises(fl.CorruptCheckpointError, match="memory://bucket/three/metadata/text"):
        fl.SavepointReader.read("memory://bucket/three").readTimers("totals")


def test_file_uris_are_paths(tmp_path):
    uri = (tmp_path / "a savepoint").as_uri()
    stopped(local(2), ["totals"], COUNT, 40, uri)
    assert (tmp_path / "a savepoint" / "metadata" / "text").exists()
    assert gone_on(local(3), ["totals"], COUNT, uri)
    assert len(list(fl.SavepointReader.read(uri).readTimers("totals"))) == 44


def test_an_unknown_file_system_is_refused_with_what_to_pass():
    with pytest.raises(fl.NotSupportedError, match="pyarrow knows no file system for nowhere://x"):
        fl.SavepointReader.read("nowhere://x/savepoint").readTimers("totals")


# ---------------------------------------------------------------------- sources of splits

PARTITIONS, ELEMENTS = 3, 90


class Partitioned(fl.Source[tuple[int, int]]):
    """Elements (partition, time). Partition 2 is 20 ms behind the others, and partition 0 ends early."""

    def read(self, position):
        for number in range(position or 0, ELEMENTS):
            partition = number % PARTITIONS
            if partition or number < ELEMENTS // 2:
                yield (partition, number - 20 * (partition == 2)), number + 1


BY_TIME = (
    fl.WatermarkStrategy.forMonotonousTimestamps()
    .withTimestampAssigner(lambda element, at: element[1])
    .withIdleness(fl.Duration.ofHours(1))
)


BY_ARRIVAL = fl.ArrivalTimeStrategy(arrivalTime=lambda element, at: element[1])
IN_ORDER = fl.ArrivalTimeStrategy(
    arrivalTime=lambda element, at: element[1], outOfOrderTolerance=9, inOrder=True
)
"""Elements wait in the operator for the watermark."""


def windows(env, results, strategy, holdAt=None, oneKeyGroup=False):
    """Tumbling windows of the elements of all partitions, which wait for the slowest."""
    reached, goOn, seen = threading.Event(), threading.Event(), []
    source = Partitioned().withSplits(lambda element: element[0])
    elements = env.fromSource(source, strategy, "partitions").uid("partitions")
    if oneKeyGroup:
        elements.setParallelism(1)
    keyed = elements.keyBy(lambda element: element[1] % 4)
    counts = keyed.window(fl.TumblingEventTimeWindows.of(10)).apply(
        lambda key, window, values: [(key, window.start, sorted(values))]
    )
    counts.uid("windows").forEachBatch(lambda values, batch: results.extend(values))

    def hold(values, batch):
        seen.extend(values)
        if holdAt is not None and len(seen) >= holdAt:
            reached.set()
            goOn.wait(30)

    elements.forEachBatch(hold)
    return reached, goOn


@cache
def whole_run(strategy):
    """Return the output of a job that is not stopped."""
    results = []
    env = local()
    env.getConfig().setElementsPerBatch(7)
    windows(env, results, strategy)
    env.execute()
    assert len(results) > 20
    return sorted(results)


@pytest.mark.parametrize(
    "strategy", [BY_TIME, BY_ARRIVAL, IN_ORDER], ids=["time", "arrival", "in order"]
)
@pytest.mark.parametrize(
    ("parallelism", "oneKeyGroup", "then"),
    [(1, False, 4), (2, True, 2), (2, False, 1), (2, False, 2), (2, False, 4)],
)
@pytest.mark.parametrize("holdAt", [10, 40, 60])
def test_a_source_of_splits_goes_on_with_the_watermark_of_each(
    parallelism, oneKeyGroup, then, holdAt, strategy, tmp_path
):
    before: list[object] = []
    env = local(parallelism)
    env.getConfig().setElementsPerBatch(7)
    holdAt = holdAt // 2 if strategy is IN_ORDER else holdAt  # as many have come, and wait
    reached, goOn = windows(env, before, strategy, holdAt, oneKeyGroup)
    stop_held(env.executeAsync(), reached, goOn, f"{tmp_path}/s")
    after: list[object] = []
    env = local(then).setSavepoint(f"{tmp_path}/s")
    env.getConfig().setElementsPerBatch(7)
    windows(env, after, strategy)
    env.execute()
    assert after
    assert sorted([*before, *after]) == whole_run(strategy)
