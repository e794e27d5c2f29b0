"""Processing time: what the clock makes due comes as on the harness, however it gets to a key group:
by a separate tick, by a tick in a batch with elements, or by the elements."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples
from tests.streams import records

AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[2])


def key(element):
    return element[0]


class Contents(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        out.collect((key, str(context.window()), sorted(e[1] for e in elements)))


def windows(assigner, trigger=None):
    def build(stream):
        windowed = stream.keyBy(key).window(assigner)
        if trigger is not None:
            windowed = windowed.trigger(trigger)
        return windowed.process(Contents())

    return build


def event_windows(trigger):
    """Without watermarks: whether one or the clock comes first within a batch is not said."""
    timed = fl.WatermarkStrategy.noWatermarks().withTimestampAssigner(lambda e, t: e[2])
    of = windows(fl.TumblingEventTimeWindows.of(100), trigger)
    return lambda stream: of(stream.assignTimestampsAndWatermarks(timed))


class Heartbeat(fl.KeyedProcessFunction):
    """Reports every 30 ms from a key's first element on, until a key was silent for 50 ms."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.seen = context.getListState(fl.ListStateDescriptor("seen"))
        self.silent = context.getState(fl.ValueStateDescriptor("silent"))
        self.beat = context.getState(fl.ValueStateDescriptor("beat"))

    def processElement(self, value, ctx, out):
        timers = ctx.timerService()
        now = timers.currentProcessingTime()
        self.seen.add(value[1])
        if self.beat.value() is None:
            self.beat.update(now + 30)
            timers.registerProcessingTimeTimer(now + 30)
        if self.silent.value() is not None and self.silent.value() != self.beat.value():
            timers.deleteProcessingTimeTimer(self.silent.value())
        self.silent.update(now + 50)
        timers.registerProcessingTimeTimer(now + 50)
        out.collect((value[0], "element", value[1], now))

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), "timer", timestamp, list(self.seen.get())))
        if timestamp == self.silent.value():
            if self.beat.value() != timestamp:
                ctx.timerService().deleteProcessingTimeTimer(self.beat.value())
            for state in (self.seen, self.silent, self.beat):
                state.clear()
        elif timestamp == self.beat.value():
            self.beat.update(timestamp + 30)
            ctx.timerService().registerProcessingTimeTimer(timestamp + 30)


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value

    def getResult(self, accumulator):
        return accumulator


class Lives(fl.KeyedProcessFunction):
    """Tells what of each kind of state is not older than 40 ms; half of them live on when read."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.last = context.getState(self.living(fl.ValueStateDescriptor("last")))
        self.seen = context.getListState(self.living(fl.ListStateDescriptor("seen"), True))
        self.places = context.getMapState(self.living(fl.MapStateDescriptor("places")))
        self.highest = context.getReducingState(
            self.living(fl.ReducingStateDescriptor("highest", max), True)
        )
        self.sum = context.getAggregatingState(
            self.living(fl.AggregatingStateDescriptor("sum", Total()))
        )

    def living(self, descriptor, whenRead=False):
        config = fl.StateTtlConfig.newBuilder(40)
        config = config.updateTtlOnReadAndWrite() if whenRead else config
        descriptor.enableTimeToLive(config.build())
        return descriptor

    def processElement(self, value, ctx, out):
        key, number, _ = value
        before = self.last.value(), self.highest.get(), self.sum.get()
        out.collect((key, "element", before, list(self.seen.get()), dict(self.places.entries())))
        if number % 2:
            self.last.update(number)
            self.seen.add(number)
            self.sum.add(number)
        else:
            self.places.put(number % 3, number)
            self.highest.add(number)


def two_stages(stream):
    counts = windows(fl.TumblingProcessingTimeWindows.of(50))(stream)
    again = counts.map(lambda r: (r[0], len(r[2]), 0)).keyBy(lambda r: r[1] % 2)
    return again.window(fl.TumblingProcessingTimeWindows.of(200)).process(Contents())


BUILDS = {
    "tumbling": windows(fl.TumblingProcessingTimeWindows.of(50)),
    "sliding": windows(fl.SlidingProcessingTimeWindows.of(60, 20)),
    "sessions": windows(fl.ProcessingTimeSessionWindows.withGap(40)),
    "sessions by element": windows(
        fl.ProcessingTimeSessionWindows.withDynamicGap(lambda element: 10 + element[1])
    ),
    "event windows by the clock": event_windows(fl.ProcessingTimeTrigger.create()),
    "event windows from time to time": event_windows(fl.ContinuousProcessingTimeTrigger.of(30)),
    "timeout": event_windows(fl.ProcessingTimeoutTrigger.of(fl.CountTrigger.of(3), 45)),
    "timeout since the last": event_windows(
        fl.ProcessingTimeoutTrigger.of(fl.CountTrigger.of(3), 45, True, False)
    ),
    "timers": lambda stream: stream.keyBy(key).process(Heartbeat()),
    "time to live": lambda stream: stream.keyBy(key).process(Lives()),
    "two stages": two_stages,
}

elements = st.tuples(st.sampled_from(["k0", "k1", "k2"]), st.integers(0, 30), st.integers(0, 300))
steps = st.lists(
    st.tuples(
        st.integers(0, 90),
        st.lists(elements, max_size=4),
        st.sampled_from(["tick before", "tick within", "no tick"]),
    ),
    max_size=8,
)


def both(build, steps, groups, last_tick):
    """Results of the harness and of batches: so much later, with those elements, and a tick or none."""
    harness, job = StreamTestHarness(build), MicroBatches(build, groups)
    now = 0
    for later, batch, tick in steps:
        now += later
        harness.setProcessingTime(now)
        for element in batch:
            harness.processElement(element)
        # What an element makes due at once comes at once, in Flink as at the end of a batch.
        harness.setProcessingTime(now)
        if tick == "tick before":
            job.tickDue(now)
        job.process([[(e, None) for e in batch]], clock=now, tick=tick == "tick within")
    for _ in range(2 if last_tick else 0):
        now += 10_000
        harness.setProcessingTime(now)
        job.tickDue(now)
    harness.endInput()
    job.end(clock=now)
    expected = records(harness)
    return by_window(expected), by_window(job.results[0])


def by_window(results):
    """In order for each key and window: that of timers of one instant is not said."""
    grouped = defaultdict(list)
    for result in results:
        key, second, *_ = result.value
        window = second if second.startswith("TimeWindow") else None
        grouped[key, window].append((result.value, result.timestamp))
    return dict(grouped)


@pytest.mark.parametrize("name", [n for n in BUILDS if n != "two stages"])
@part_of_examples(2)
@given(steps=steps, groups=st.integers(1, 6), last_tick=st.booleans())
def test_results_are_those_of_the_harness(name, steps, groups, last_tick):
    expected, results = both(BUILDS[name], steps, groups, last_tick)
    assert results == expected


def test_state_that_has_expired_goes_with_the_next_batch_of_its_key_group():
    """No tick is asked for: nobody could see a difference."""
    job = MicroBatches(BUILDS["time to live"], 1)
    job.process([[(("k0", 1, 0), None), (("k1", 2, 0), None)]], clock=10)
    assert (state_entries(job), job.tickDue(10_000)) == (5, {})
    job.process([[(("k2", 1, 0), None)]], clock=49)
    assert state_entries(job) == 5 + 3
    job.process([[(("k2", 1, 0), None)]], clock=50)
    assert state_entries(job) == 3


def state_entries(job):
    return sum(metrics.stateEntries for metrics in job.metrics.metrics().values())


@given(steps=steps, groups=st.integers(1, 6))
def test_one_clock_stage_after_another(steps, groups):
    """Either of two operators may see the clock first, but each element is counted once."""
    expected, results = both(two_stages, steps, groups, last_tick=True)

    def contents(by_window):
        counted = Counter()
        for (key, _), rows in by_window.items():
            counted[key] += sum(len(numbers) for (_, _, numbers), _ in rows)
        return counted

    assert contents(results) == contents(expected)


def test_a_timer_fires_without_elements():
    job = MicroBatches(BUILDS["tumbling"], 4)
    job.process([[(("k0", 1, 0), None)]], clock=10)
    assert job.tickDue(48) == {}
    (operator,) = job.tickDue(49)
    assert [(r.batch, r.value) for r in job.results[0]] == [
        (1, ("k0", "TimeWindow(start=0, end=50)", [1]))
    ]
    assert job.tickDue(10_000) == {}
    assert operator.startswith("Window")


class AtOnce(fl.KeyedProcessFunction):
    """Sets a timer for the time it is."""

    def processElement(self, value, ctx, out):
        timers = ctx.timerService()
        timers.registerProcessingTimeTimer(timers.currentProcessingTime())

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), timestamp))


def test_a_timer_for_the_time_it_is_fires_in_the_batch_that_sets_it():
    job = MicroBatches(lambda stream: stream.keyBy(key).process(AtOnce()), 4)
    job.process([[(("k0", 1, 0), None)]], clock=10)
    assert [(r.batch, r.value) for r in job.results[0]] == [(0, ("k0", 10))]
    assert job.tickDue(10) == {}


def test_only_key_groups_that_are_due_get_a_tick():
    job = MicroBatches(BUILDS["tumbling"], 16)
    job.process([[((f"k{i}", 1, 0), None) for i in range(3)]], clock=10)
    job.process([[(("k3", 1, 0), None)]], clock=60)
    calls = {at: store.takeCalls() for at, store in job.stores.items()}
    ((operator, due),) = job.tickDue(70).items()
    called = [at for at, store in job.stores.items() if any(store.takeCalls())]
    assert sorted(called) == [(1, group) for group in sorted(due)]
    assert 1 <= len(due) <= 3
    assert len(calls) == 4
    assert job.tickDue(98) == {}
    assert len(job.tickDue(200)[operator]) == 1


def test_pending_timers_do_not_fire_at_the_end():
    for name in ("tumbling", "sliding", "sessions", "timers"):
        job = MicroBatches(BUILDS[name], 2)
        job.process([[(("k0", 1, 0), None)]], clock=10)
        job.end(clock=15)
        assert [r.value for r in job.results[0] if r.value[1] != "element"] == []


@pytest.mark.parametrize(
    "build",
    [
        lambda stream: stream.keyBy(key).window(fl.TumblingEventTimeWindows.of(10)).sum(1),
        lambda stream: stream.keyBy(key).sum(1),
        lambda stream: stream.filter(bool).process(lambda value, ctx, out: out.collect(value)),
    ],
)
def test_a_job_that_needs_no_clock_asks_for_no_tick(build):
    job = MicroBatches(lambda stream: build(stream.assignTimestampsAndWatermarks(AT)), 4)
    job.process([[((f"k{i}", 1, i), None) for i in range(20)]], clock=10)
    assert job.metrics.due(1 << 60) == {}


class Both(fl.CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


def test_an_idle_one_of_two_inputs_does_not_hold_the_other_back():
    idle = AT.withIdleness(1000)

    def build(stream):
        one = stream.filter(lambda e: e[0] == "a").assignTimestampsAndWatermarks(idle)
        two = stream.filter(lambda e: e[0] == "b").assignTimestampsAndWatermarks(idle)
        return windows(fl.TumblingEventTimeWindows.of(10))(one.connect(two).map(Both()))

    for quiet, busy in (("a", "b"), ("b", "a")):
        job = MicroBatches(build, 4)
        job.process([[((quiet, 1, 1), None), ((busy, 1, 1), None)]], clock=0)
        for step in range(1, 10):
            job.tickDue(step * 400)
            job.process([[((busy, step, 10 * step), None)]], clock=step * 400)
        job.tickDue(10 * 400)
        fired = [(r.value[0], r.batch) for r in job.results[0]]
        assert [batch for name, batch in fired if name == quiet]
        assert len([name for name, _ in fired if name == busy]) >= 8


def test_when_both_inputs_are_idle_the_clock_is_asked_for_no_more():
    idle = AT.withIdleness(1000)

    def build(stream):
        one = stream.filter(lambda e: e[0] == "a").assignTimestampsAndWatermarks(idle)
        two = stream.filter(lambda e: e[0] == "b").assignTimestampsAndWatermarks(idle)
        return one.connect(two).map(Both())

    job = MicroBatches(build, 2)
    job.process([[(("a", 1, 1), None), (("b", 1, 1), None)]], clock=0)
    wanted = []
    while due := job.metrics.nextProcessingTime():
        wanted.append(due)
        assert len(job.tickDue(due)) == 2
    assert wanted == [200, 1201], "the periodic watermark, and over a second from there"
