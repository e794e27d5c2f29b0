"""An emitted object keeps its value at the emission, whatever happens to the object afterwards."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches

SIDE = fl.OutputTag("side")


MODES = pytest.mark.parametrize("reuse", [False, True])


def mode(stream, reuse):
    config = stream.getExecutionEnvironment().getConfig()
    config.enableObjectReuse() if reuse else config.disableObjectReuse()
    return stream


class Collecting(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.s = self.getRuntimeContext().getState(fl.ValueStateDescriptor("s"))

    def processElement(self, v, ctx, out):
        l = self.s.value() or []  # noqa: E741 - as in the issue
        l.append(v)
        self.s.update(l)
        out.collect(l)


def add_in_place(a, b):
    a[1] += b[1]
    return a


@MODES
def test_a_state_value_that_is_changed_after_it_was_emitted(run, reuse):
    built = run(lambda s: mode(s, reuse).keyBy(lambda v: 0).process(Collecting()), [1, 2, 3])
    assert built == [[1], [1, 2], [1, 2, 3]]


@MODES
def test_a_reduction_that_changes_its_first_argument(run, reuse):
    results = run(
        lambda s: mode(s, reuse).keyBy(lambda v: v[0]).reduce(add_in_place),
        [["a", 1], ["a", 2], ["a", 3]],
    )
    assert results == [["a", 1], ["a", 3], ["a", 6]]


@MODES
def test_a_reduction_is_right_for_the_chained_operators_too(run, reuse):
    results = run(
        lambda s: mode(s, reuse).keyBy(lambda v: v[0]).reduce(add_in_place).map(lambda v: v[1]),
        [["a", 1], ["a", 2], ["a", 3]],
    )
    assert results == [1, 3, 6]


class Growing(fl.MapFunction):
    def __init__(self):
        self.seen = []

    def map(self, value):
        self.seen.append(value)
        return self.seen


class GrowingInTuples(Growing):
    def map(self, value):
        return (value, super().map(value))


def growing_lists(value):
    grown = []
    for number in range(value):
        grown.append(number)
        yield grown


class GrowingTwice(fl.ProcessFunction):
    def processElement(self, value, ctx, out):
        grown = []
        for number in range(value):
            grown.append(number)
            out.collect(grown)
            ctx.output(SIDE, grown)
        grown.clear()


@MODES
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.map(Growing()), [[1], [1, 2], [1, 2, 3]]),
        (lambda s: s.map(GrowingInTuples()), [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]),
        (lambda s: s.map(Growing()).map(len), [1, 2, 3]),
        (lambda s: s.flatMap(growing_lists).map(list), [[0], [0], [0, 1], [0], [0, 1], [0, 1, 2]]),
        (lambda s: s.process(GrowingTwice()), [[0], [0], [0, 1], [0], [0, 1], [0, 1, 2]]),
        (
            lambda s: s.process(GrowingTwice()).getSideOutput(SIDE),
            [[0], [0], [0, 1], [0], [0, 1], [0, 1, 2]],
        ),
        (
            lambda s: s.process(GrowingTwice()).getSideOutput(SIDE).map(len),
            [1, 1, 2, 1, 2, 3],
        ),
    ],
)
def test_an_object_that_is_changed_and_emitted_again(run, reuse, build, expected):
    assert run(lambda s: build(mode(s, reuse)), [1, 2, 3]) == expected


def test_an_object_that_is_in_the_input_twice(run, engine):
    def grow(value):
        value.append(len(value))
        return value

    shared = [7]
    # A collection is pickled by the element; here that is up to the test
    elements = [shared, shared] if engine == "harness" else [[7], [7]]
    assert run(lambda s: s.map(grow), elements) == [[7, 1], [7, 1]]


class Kept(fl.FilterFunction):
    def __init__(self):
        self.kept = []

    def filter(self, value):
        for earlier in self.kept:
            earlier.append("changed")
        self.kept.append(value)
        value.append("seen")
        return True


class LastSeen(fl.TimestampAssigner):
    last = None

    def extractTimestamp(self, element, recordTimestamp):
        if self.last is not None:
            self.last.append("changed")
        self.last = element
        return 0


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda s: s.filter(Kept()), [[1, "seen"], [2, "seen"]]),
        (
            lambda s: s.assignTimestampsAndWatermarks(
                fl.WatermarkStrategy.noWatermarks().withTimestampAssigner(LastSeen())
            ),
            [[1], [2]],
        ),
    ],
)
def test_an_element_that_is_handed_on_and_changed_later(run, build, expected):
    assert run(build, [[1], [2]]) == expected


def spoil(value):
    value[0] = "spoilt"
    return value


@pytest.mark.parametrize("reuse", [False, True])
def test_readers_of_one_stream_share_objects_only_with_object_reuse(reuse):
    # The second reader looks at the objects after the first has had them
    build = lambda s: (mode(s, reuse).map(spoil), s.map(lambda v: v[0]))  # noqa: E731
    harness = StreamTestHarness(build)
    harness.processElement([1])
    assert [r.value for r in harness.getOutput(1)] == (["spoilt"] if reuse else [1])
    results = MicroBatches(build, keyGroups=1).run([[[([1], None)]]])
    assert [r.value for r in results[1]] == (["spoilt"] if reuse else [1])


class Same(fl.FlatMapFunction):
    """Emits one object again and again, and tells whether the reader has changed it."""

    def flatMap(self, value, out):
        mine = [value]
        out.collect(mine)
        out.collect(["told", mine[0]])


@pytest.mark.parametrize("reuse", [False, True])
def test_with_object_reuse_a_chained_operator_has_the_object_itself_before_its_function_goes_on(
    run, reuse
):
    told = run(lambda s: mode(s, reuse).flatMap(Same()).map(spoil), [1])
    assert told[1][1] == ("spoilt" if reuse else 1)


def test_a_writer_keeps_what_was_emitted_also_where_objects_are_reused():
    results = MicroBatches(
        lambda s: (mode(s, True).map(Growing()).map(spoil), s.map(Growing())), keyGroups=1
    ).run([[[(1, None), (2, None)]]])
    assert [r.value for r in results[1]] == [[1], [1, 2]]


class Telling(fl.RichMapFunction):
    def map(self, value):
        return self.getRuntimeContext().isObjectReuseEnabled()


@MODES
def test_a_function_is_told_whether_objects_are_reused(run, reuse):
    assert run(lambda s: mode(s, reuse).map(Telling()), [1]) == [reuse]


def test_object_reuse_is_off_unless_it_is_asked_for():
    config = fl.StreamExecutionEnvironment().getConfig()
    assert not config.isObjectReuseEnabled()
    assert config.enableObjectReuse().isObjectReuseEnabled()
    assert not config.disableObjectReuse().isObjectReuseEnabled()


class Summed(fl.AggregateFunction):
    """Its accumulator is its result."""

    def createAccumulator(self):
        return [0]

    def add(self, value, accumulator):
        accumulator[0] += value[1]
        return accumulator

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        a[0] += b[0]
        return a


TIMED = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda v, t: v[2])


@pytest.mark.parametrize(
    "windows",
    [
        fl.TumblingEventTimeWindows.of(fl.Time.milliseconds(10)),
        fl.EventTimeSessionWindows.withGap(fl.Time.milliseconds(10)),
    ],
)
def test_a_window_that_fires_again_with_the_same_accumulator(run, windows):
    def build(stream):
        late = (
            stream.map(lambda v: v)
            .assignTimestampsAndWatermarks(ahead())
            .keyBy(lambda v: v[0])
            .window(windows)
            .allowedLateness(fl.Time.milliseconds(1000))
        )
        return late.aggregate(Summed())

    assert run(build, [("a", 1, 0), ("a", 2, 0), ("a", 3, 0)]) == [[1], [3], [6]]


class AheadGenerator(fl.WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(fl.Watermark(eventTimestamp + 100))

    def onPeriodicEmit(self, output):
        pass


def ahead():
    return fl.WatermarkStrategy.forGenerator(lambda ctx: AheadGenerator()).withTimestampAssigner(
        lambda v, t: v[2]
    )


@pytest.mark.parametrize("trigger", [None, fl.EventTimeTrigger.create()])
def test_an_element_in_many_windows_is_reduced_in_each_by_itself(run, trigger):
    def build(stream):
        windowed = (
            stream.assignTimestampsAndWatermarks(TIMED)
            .keyBy(lambda v: v[0])
            .window(
                fl.SlidingEventTimeWindows.of(fl.Time.milliseconds(20), fl.Time.milliseconds(10))
            )
        )
        if trigger is not None:
            windowed = windowed.trigger(fl.PurgingTrigger.of(trigger))
        return windowed.reduce(add_in_place)

    results = run(build, [["a", 1, 0], ["a", 2, 5], ["a", 4, 12]])
    assert [value[1] for value in results] == [3, 7, 4]


# ------------------------------------------------------------------ any function, any graph


@dataclass
class Box:
    """An element that can change, and is neither list nor dict."""

    content: list = field(default_factory=list)


def changed(value, by):
    """Changes ``value`` in place."""
    if isinstance(value, Box):
        value.content.append(by)
    elif isinstance(value, dict):
        value[f"by {by}"] = value.get(f"by {by}", 0) + 1
    elif isinstance(value, list):
        value.append(by)
    elif isinstance(value, tuple):
        for part in value:
            changed(part, by)


def size(value):
    return sum(map(ord, repr(value)))


ACTIONS = ("keep", "change", "change kept", "emit", "emit kept", "emit both", "side", "new")


class Machine:
    """Executes commands on the current element and the one it keeps.

    As an oracle it emits pickles, which nobody can change, and unpickles what it gets.
    """

    def __init__(self, number, actions, oracle):
        self.number, self.actions, self.oracle = number, actions, oracle
        self.kept = []

    def run(self, value, emit, side):
        if self.oracle:
            value = pickle.loads(value)
        for action in self.actions:
            if action == "keep":
                self.kept = value
            elif action == "change":
                changed(value, self.number)
            elif action == "change kept":
                changed(self.kept, self.number)
            elif action == "new":
                self.kept = {"new": self.number}
            else:
                emitted = {"emit": value, "emit both": (value, self.kept, value)}.get(
                    action, self.kept
                )
                (side if action == "side" else emit)(emitted)
        return value

    def out(self, value):
        return pickle.dumps(value) if self.oracle else value


class Process(fl.ProcessFunction):
    def __init__(self, machine):
        self.machine = machine

    def processElement(self, value, ctx, out):
        out_of = self.machine.out
        self.machine.run(
            value, lambda v: out.collect(out_of(v)), lambda v: ctx.output(SIDE, out_of(v))
        )


class KeyedProcess(fl.KeyedProcessFunction):
    def __init__(self, machine):
        self.machine = machine

    def open(self, openContext):
        self.state = self.getRuntimeContext().getState(fl.ValueStateDescriptor("kept"))

    def processElement(self, value, ctx, out):
        machine = self.machine
        machine.kept = self.state.value() or []
        out_of = machine.out
        machine.run(value, lambda v: out.collect(out_of(v)), lambda v: ctx.output(SIDE, out_of(v)))
        # With the oracle's own copy, as what state gives back may change in place or not
        self.state.update(pickle.loads(pickle.dumps(machine.kept)))


class Map(fl.MapFunction):
    def __init__(self, machine):
        self.machine = machine

    def map(self, value):
        emitted = []
        result = self.machine.run(value, emitted.append, emitted.append)
        return self.machine.out(emitted[-1] if emitted else result)


class FlatMap(fl.FlatMapFunction):
    def __init__(self, machine):
        self.machine = machine

    def flatMap(self, value, out):
        emit = lambda v: out.collect(self.machine.out(v))  # noqa: E731
        self.machine.run(value, emit, emit)


class ReturningFlatMap(FlatMap):
    def flatMap(self, value, out):
        emitted = []
        self.machine.run(value, emitted.append, emitted.append)
        return [self.machine.out(v) for v in emitted]


class Filter(fl.FilterFunction):
    def __init__(self, machine):
        self.machine = machine

    def filter(self, value):
        self.machine.run(value, ignore, ignore)
        return True


KINDS = ("process", "map", "flatMap", "returning", "keyed", "filter")
STAGES = st.tuples(
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6),
    st.integers(0, 2),
)
VALUES = st.recursive(
    st.integers(0, 3) | st.builds(list) | st.builds(Box),
    lambda parts: (
        st.lists(parts, max_size=2)
        | st.tuples(parts, parts)
        | st.dictionaries(st.integers(0, 2), parts, max_size=2)
    ),
    max_leaves=4,
)


def graph(stages, oracle):
    """Each stage reads the source or the output of one before; all outputs are looked at."""

    def build(source):
        streams, ends = [source], []
        for number, (kind, actions, reads) in enumerate(stages):
            stream = streams[reads % len(streams)]
            machine = Machine(number, actions, oracle)
            if kind == "keyed":
                result = stream.keyBy(oracle_size if oracle else size).process(
                    KeyedProcess(machine)
                )
            elif kind == "process":
                result = stream.process(Process(machine))
            elif kind == "map":
                result = stream.map(Map(machine))
            elif kind == "filter" and not oracle:
                result = stream.filter(Filter(machine))
            elif kind == "filter":
                # The oracle's elements are pickles, which a filter cannot change
                result = stream.map(lambda v, m=machine: m.out(m.run(v, ignore, ignore)))
            else:
                result = stream.flatMap(
                    (FlatMap if kind == "flatMap" else ReturningFlatMap)(machine)
                )
            streams.append(result)
            ends.append(result)
            if kind in ("keyed", "process"):
                streams.append(result.getSideOutput(SIDE))
                ends.append(result.getSideOutput(SIDE))
        return ends

    return build


def ignore(value):
    """Emits nothing."""


def oracle_size(value):
    return size(pickle.loads(value))


def outputs(harness, count, decode):
    return [
        [decode(r.value) for r in harness.getOutput(i) if isinstance(r, fl.StreamRecord)]
        for i in range(count)
    ]


def ends_of(stages):
    return sum(2 if kind in ("keyed", "process") else 1 for kind, _, _ in stages)


@given(st.lists(STAGES, min_size=1, max_size=4), st.lists(VALUES, min_size=1, max_size=4))
def test_any_graph_gives_what_it_gives_when_all_that_is_emitted_is_pickled(stages, values):
    pickles = [pickle.dumps(value) for value in values]
    expected = MicroBatches(graph(stages, oracle=True), keyGroups=2).run(
        [[[(p, None) for p in pickles]]]
    )
    wanted = [[repr(pickle.loads(r.value)) for r in end] for end in expected]

    elements = [[(pickle.loads(p), None) for p in pickles]]
    found = MicroBatches(graph(stages, oracle=False), keyGroups=2).run([elements])
    assert [sorted(repr(r.value) for r in end) for end in found] == list(map(sorted, wanted))

    harnesses = []
    for oracle in (True, False):
        harness = StreamTestHarness(graph(stages, oracle))
        for value in values:
            harness.processElement(pickle.dumps(value) if oracle else value)
        harnesses.append(harness)
    ends = ends_of(stages)
    assert repr(outputs(harnesses[1], ends, lambda v: v)) == repr(
        outputs(harnesses[0], ends, pickle.loads)
    )


@given(st.lists(st.integers(0, 5), min_size=1), st.booleans())
def test_functions_that_keep_nothing_give_the_same_in_any_order(numbers, reuse):
    # Made of plain data alone, these lists are handed on without a copy; spoil() has a separate copy
    def build(stream):
        lists = mode(stream, reuse).map(lambda n: [n, [n]]).filter(lambda v: v[0] != 3)
        return (
            lists.map(lambda v: [*v, v[1]]),
            lists.process(GrowingInPlace()).map(lambda v: v[1]) if not reuse else lists,
            lists.filter(Kept()).map(lambda v: v[0]) if not reuse else lists,
        )

    kept = [n for n in numbers if n != 3]
    results = MicroBatches(build, keyGroups=1).run([[[(n, None) for n in numbers]]])
    found = [[result.value for result in end] for end in results]
    assert found[0] == [[n, [n], [n]] for n in kept]
    assert found[1] == ([[n, [n]] for n in kept] if reuse else [[n, "grown"] for n in kept])
    assert found[2] == ([[n, [n]] for n in kept] if reuse else kept)


class GrowingInPlace(fl.ProcessFunction):
    def processElement(self, value, ctx, out):
        value[1].append("grown")
        out.collect(value)
        value[1].append("changed later")
