"""Very many timers, and a very large map: what a batch reads follows what it touches."""

from __future__ import annotations

import copy
from collections import defaultdict

import pytest

import flinkish as fl
from tests.runtime.micro_batches import MicroBatches

MONOTONOUS = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
    lambda element, timestamp: element[2]
)
GROUPS = 8
KEYS = 1_000
TIMERS_A_KEY = 1_000


def time_of(key, number):
    """Return the time of a key's ``number``-th timer: all different, spread over 1 to 1,001
    seconds."""
    return 1_000 + 1_000 * number + key


class Timers(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        key, what, _ = value
        timers = ctx.timerService()
        if what == "register":
            for number in range(TIMERS_A_KEY):
                timers.registerEventTimeTimer(time_of(key, number))
        elif what == "delete":
            for number in range(1, TIMERS_A_KEY, 2):
                timers.deleteEventTimeTimer(time_of(key, number))

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), timestamp))


def timed(stream):
    return stream.assignTimestampsAndWatermarks(MONOTONOUS).keyBy(lambda e: e[0]).process(Timers())


@pytest.mark.thorough("a million timers")
@pytest.mark.slow("a million timers")
def test_a_million_timers_half_of_them_deleted_fire_once_each_in_order():
    """Every batch is a restart here: tasks are made anew, and know only what the pages hold. Two
    batches are also killed: their pages are as they were before, and they come again."""
    job = MicroBatches(timed, GROUPS)

    def calls_of(batch):
        job.process([[(element, None) for element in batch]])
        return [sum(c) for c in zip(*(store.takeCalls() for store in job.stores.values()))]

    for first in range(0, KEYS, 100):
        calls_of([(key, "register", 0) for key in range(first, first + 100)])
    assert timers_pending(job) == KEYS * TIMERS_A_KEY
    for first in range(0, KEYS, 500):
        killed(job, [(key, "delete", 0) for key in range(first, first + 500)])
        calls_of([(key, "delete", 0) for key in range(first, first + 500)])
    assert timers_pending(job) == KEYS * TIMERS_A_KEY // 2

    gets, _, removes = calls_of([(key, "nothing", 900) for key in range(KEYS)])
    assert (gets, removes) == (GROUPS, 0), "with no timer due only each group's directory is read"

    for until in (1_000, 1_500, 250_000, 251_999, 600_000):
        killed(job, [(0, "nothing", until)])
        calls_of([(0, "nothing", until)])
        gets, _, removes = calls_of([(0, "nothing", until)])
        assert (gets, removes) == (GROUPS, 0)
    job.end()
    assert timers_pending(job) == 0

    fired = defaultdict(list)
    for result in job.results[0]:
        key, timestamp = result.value
        assert result.timestamp == timestamp
        fired[key].append(timestamp)
    expected = {key: [time_of(key, n) for n in range(0, TIMERS_A_KEY, 2)] for key in range(KEYS)}
    assert fired == expected


def timers_pending(job):
    return sum(metrics.timers for metrics in job.metrics.metrics().values())


def killed(job, batch):
    """Run a batch of which nothing is kept."""
    stores = {at: copy.copy(store) for at, store in job.stores.items()}
    for store in stores.values():
        store.pages = dict(store.pages)
    results = [list(results) for results in job.results]
    job.process([[(element, None) for element in batch]])
    job.stores, job.results = stores, results


ENTRIES = 1_000_000


class Lookups(fl.KeyedProcessFunction):
    """Fills a map, and then touches a few of its entries."""

    def open(self, openContext):
        self.map = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("map"))

    def processElement(self, value, ctx, out):
        _, what, number = value
        if what == "fill":
            self.map.putAll({n: n for n in range(number, number + 100_000)})
        elif what == "get":
            out.collect((number, self.map.get(number), self.map.contains(ENTRIES + number)))
        elif what == "put":
            self.map.put(number, -number)
        elif what == "remove":
            self.map.remove(number)


@pytest.mark.thorough("a million entries")
@pytest.mark.slow("a million entries")
def test_a_map_of_a_million_entries_is_not_read_whole():
    job = MicroBatches(lambda stream: stream.keyBy(lambda e: e[0]).process(Lookups()), 2)

    def run(batch):
        job.process([[(("key", what, number), None) for what, number in batch]])
        (store,) = job.stores.values()
        return store.takeCalls(), len(store.pages)

    for first in range(0, ENTRIES, 100_000):
        _, pages = run([("fill", first)])
    assert pages > 100
    (gets, puts, removes), _ = run([("get", 5), ("put", 777_777), ("remove", 3)])
    assert gets <= 2 + 4, "the directory, the map's own page, and a page of each entry"
    assert puts <= 2 + 3
    assert removes == 0
    (gets, _, _), _ = run([("get", 777_777), ("get", 3), ("get", 999_999)])
    assert gets <= 2 + 6 + 2, "and what changed in the pages of two"
    assert [r.value for r in job.results[0]] == [
        (5, 5, False),
        (777_777, -777_777, False),
        (3, None, False),
        (999_999, 999_999, False),
    ]
