"""Without keys, all elements of two inputs meet in one place, however they were partitioned."""

from __future__ import annotations

import pytest

from flinkish import BroadcastProcessFunction, CoMapFunction, MapStateDescriptor
from tests.runtime.micro_batches import MicroBatches

RULES = MapStateDescriptor("rules")


class Tag(CoMapFunction):
    def map1(self, value):
        return (1, value)

    def map2(self, value):
        return (2, value)


class Known(BroadcastProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect(
            (value, sorted(key for key, _ in ctx.getBroadcastState(RULES).immutableEntries()))
        )

    def processBroadcastElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(value, True)
        out.collect(value)


def even(stream):
    return stream.filter(lambda number: number % 2 == 0)


def odd(stream):
    return stream.filter(lambda number: number % 2 == 1)


CONNECTED = {
    "plain": lambda stream: even(stream).connect(odd(stream)),
    "one keyed": lambda stream: even(stream).keyBy(lambda n: n).connect(odd(stream)),
    "one broadcast": lambda stream: even(stream).connect(odd(stream).broadcast()),
    "rebalanced": lambda stream: even(stream).rebalance().connect(odd(stream).shuffle()),
}


@pytest.mark.parametrize("connect", CONNECTED.values(), ids=CONNECTED.keys())
def test_no_element_is_doubled_or_lost(connect):
    job = MicroBatches(lambda stream: connect(stream).map(Tag()), keyGroups=4)
    results = job.run([[[(number, number)]] for number in range(8)])[0]
    assert [result.value for result in results] == [(1 + n % 2, n) for n in range(8)]


def test_broadcast_elements_reach_the_one_task_once():
    job = MicroBatches(
        lambda stream: even(stream).connect(odd(stream).broadcast(RULES)).process(Known()),
        keyGroups=4,
    )
    results = job.run([[[(number, number)]] for number in (0, 1, 2, 3, 4)])[0]
    assert [result.value for result in results] == [(0, []), 1, (2, [1]), 3, (4, [1, 3])]


def test_partitioning_a_stream_changes_nothing():
    def build(stream):
        return stream.rebalance().global_().forward().rescale().shuffle().broadcast()

    results = MicroBatches(build, keyGroups=4).run([[[(1, 1)]], [[(2, 2)]]])[0]
    assert [result.value for result in results] == [1, 2]
