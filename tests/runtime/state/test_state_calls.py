"""A batch costs a few state calls a key group, and those of the pages it touches; none an element."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.runtime.micro_batches import MicroBatches

MONOTONOUS = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[1])
GROUPS = 4


def windowed(stream):
    return (
        stream.assignTimestampsAndWatermarks(MONOTONOUS)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(1000))
        .reduce(lambda a, b: a)
    )


class LateTimer(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(ctx.timestamp() + 1_000_000)


def timed(stream):
    return (
        stream.assignTimestampsAndWatermarks(MONOTONOUS).keyBy(lambda e: e[0]).process(LateTimer())
    )


def calls_of(build, batches):
    """(gets, puts, removes) of each batch, over all key groups."""
    job = MicroBatches(build, GROUPS)
    taken = []
    for batch in batches:
        job.process([[(element, None) for element in batch]])
        calls = [store.takeCalls() for store in job.stores.values()]
        taken.append(tuple(map(sum, zip(*calls))))
    return taken


@pytest.mark.parametrize("elements", [100, 10_000])
def test_elements_cost_no_calls(elements):
    """The same keys a hundred times as often are the same calls: directory and one page a group."""
    # The bytes let the elements stay objects
    batch = [(f"k{i % 100}", i % 500, b"") for i in range(elements)]
    first, second = calls_of(windowed, [sorted(batch, key=lambda e: e[1])] * 2)
    assert first == (GROUPS, 2 * GROUPS, 0)
    assert second == (2 * GROUPS, 2 * GROUPS, 0)


@pytest.mark.slow("counts the calls of 100,000 elements")
@pytest.mark.parametrize("elements", [10_000, 50_000])
def test_elements_of_columns_cost_no_calls(elements):
    """The page that a window had gives way to the next one."""
    batch = [(f"k{i % 100}", i % 500) for i in range(elements)]
    first, second = calls_of(windowed, [sorted(batch, key=lambda e: e[1])] * 2)
    assert first == (GROUPS, 2 * GROUPS, 0)
    assert second == (2 * GROUPS, 2 * GROUPS, GROUPS)


def test_a_fired_window_is_read_once_and_removed():
    fill = [(f"k{i}", 1) for i in range(100)]
    fire = [("k0", 5000)]
    _, fired = calls_of(windowed, [fill, fire])
    gets, puts, removes = fired
    assert removes == GROUPS
    assert gets == 2 * GROUPS
    assert puts == GROUPS + 1


def test_a_batch_with_no_due_timer_reads_no_timer_page():
    batches = [[(f"k{i}", n) for i in range(200)] for n in range(5)]
    for gets, puts, removes in calls_of(timed, batches):
        assert gets == GROUPS, "only the directory of each group is read"
        assert puts == 2 * GROUPS
        assert removes == 0
