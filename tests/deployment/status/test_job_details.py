"""The details of a running job: inputs whose watermarks are apart, open windows, and operators behind a union."""

from __future__ import annotations

import time

import pytest

import flinkish as fl
from flinkish.api.execution.details import JobDetails

START = 1_767_225_600_000
AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])


def generated(env, name, step, rate=200):
    source = fl.DataGeneratorSource(lambda n: (name, START + n * step), elementsPerSecond=rate)
    return env.fromSource(source, None, name)


def timed(env, name, step):
    return generated(env, name, step).assignTimestampsAndWatermarks(AT).name(f"time of {name}")


@pytest.fixture
def env():
    made = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    made.setParallelism(2)
    return made


def details_of(env, until) -> JobDetails:
    """The details of a running job once ``until`` is true of them."""
    client = env.executeAsync("job")
    try:
        give_up = time.monotonic() + 60
        while not until(found := client.getJobDetails()):
            assert time.monotonic() < give_up, found
            time.sleep(0.02)
        return found
    finally:
        client.cancel()


def named(details, name):
    (found,) = (
        operator
        for vertex in details.vertices
        for operator in vertex.operators
        if operator.metrics.name == name
    )
    return found


def windows(env):
    """Windows over a source that is on time, and one whose event time stands still."""
    both = timed(env, "fast", 1_000).union(timed(env, "slow", 0))
    return both.keyBy(lambda e: e[0]).window(fl.TumblingEventTimeWindows.of(10_000)).reduce(max)


def test_inputs_that_are_apart_and_windows_that_stay_open(env):
    windows(env).name("windows").forEachBatch(lambda values, batch: None)
    found = details_of(env, lambda d: len(d.batches) > 3 and d.batches[-1].openWindows > 5)
    last = found.batches[-1]
    operator = named(found, "windows")
    assert operator.metrics.openWindows == last.openWindows == operator.metrics.stateEntries
    slow, fast = sorted(operator.inputs, key=lambda read: read.currentWatermark)
    assert slow.holdsBack
    assert not fast.holdsBack
    assert fast.lag == 0
    assert slow.lag == fast.currentWatermark - slow.currentWatermark == last.inputLag > 10_000
    assert [b.openWindows for b in found.batches] == sorted(b.openWindows for b in found.batches)
    assert found.outputWatermark == slow.currentWatermark
    by_batch = [batches[operator.metrics.uid] for batches in found.operatorBatches.values()]
    assert sum(batch.numRecordsIn for batch in by_batch) == operator.metrics.numRecordsIn > 0
    assert by_batch[-1].openWindows == last.openWindows
    assert {batch.run for batch in found.batches} == {found.batches[0].run}


def test_nothing_has_come_out_while_a_source_has_no_watermark(env):
    both = timed(env, "fast", 1_000).union(generated(env, "silent", 0))
    both.keyBy(lambda e: e[0]).reduce(max).name("latest").forEachBatch(lambda v, b: None)
    found = details_of(env, lambda d: len(d.batches) > 3)
    assert named(found, "time of fast").metrics.currentWatermark is not None
    assert found.outputWatermark is None


def test_an_operator_behind_a_union_has_the_watermark_of_its_vertex(env):
    both = timed(env, "fast", 1_000).union(timed(env, "slow", 0))
    both.map(lambda e: e).name("both").keyBy(lambda e: e[0]).reduce(max).forEachBatch(
        lambda values, batch: None
    )
    found = details_of(
        env,
        lambda d: len(d.batches) > 3 and min(v.numRecordsIn for v in d.vertices[:-1]) > 20,
    )
    shown = {}
    for vertex in found.vertices:
        if len(vertex.operators) == 2:
            before, behind = vertex.operators
            assert behind.metrics.name == "both"
            assert behind.metrics.numRecordsIn == before.metrics.numRecordsOut
            assert vertex.currentWatermark == before.metrics.currentWatermark
            shown[vertex.name] = vertex.currentWatermark
    assert shown["time of slow -> both"] == START - 1 < shown["time of fast -> both"]


def test_batches_of_a_restarted_job_are_of_two_runs(env):
    env.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, 0))
    failed = []

    def sink(values, batch):
        if batch == 3 and not failed:
            failed.append(batch)
            raise RuntimeError("once")

    generated(env, "clicks", 1).forEachBatch(sink)
    found = details_of(env, lambda d: len(d.batches) > 6)
    runs = [batch.run for batch in found.batches]
    assert len(set(runs)) == 2
    assert runs[2] != runs[3]
    assert runs == sorted(runs)


def test_stages_behind_a_source_press_back_on_it(env):
    def slowly(value):
        time.sleep(0.004)  # 200 elements a second keep it busy for most of the time
        return value

    keyed = generated(env, "clicks", 1).keyBy(lambda e: e[1] % 4).reduce(max)
    keyed.map(slowly).name("slow").forEachBatch(lambda values, batch: None)

    def presses(details):
        source, slow, _ = details.vertices
        return (
            len(details.batches) > 5
            and slow.busyShare > 0.3
            and source.backPressureShare > 0.3 > source.busyShare
        )

    source, slow, sink = (found := details_of(env, presses)).vertices
    assert source.backPressureShare > slow.backPressureShare
    assert sink.backPressureShare == 0
    for vertex in found.vertices:
        assert vertex.busyShare + vertex.backPressureShare <= 1


@pytest.mark.slow("more than twelve batches of a clock")
def test_bytes_of_state_by_key_group_are_those_of_its_pages(env):
    """The mean of the pages that batches touch stands for all; local execution knows the pages themselves."""
    env.setMaxParallelism(4)
    source = fl.DataGeneratorSource(lambda n: (n % 5_000, n), elementsPerSecond=5_000)
    numbers = env.fromSource(source, None, "numbers")
    numbers.keyBy(lambda e: e[0]).reduce(max).name("latest").forEachBatch(lambda v, b: None)

    def is_near(details):
        """Whether the mean of the pages is near what they are together: batches differ in what they touch."""
        state = _state(details)
        exact = details.batches[-1].stateBytes if len(details.batches) > 12 else 0
        total = sum(group.bytes for group in state.values())
        return len(state) == 4 and exact > 50_000 and total == pytest.approx(exact, rel=0.3)

    found = details_of(env, is_near)
    assert sum(group.entries for group in _state(found).values()) == 5_000


def _state(details):
    state = named(details, "latest").keyedState
    return state if sum(group.entries for group in state.values()) == 5_000 else {}
