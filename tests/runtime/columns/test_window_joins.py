"""Window joins and coGroups of columns give what they give of objects, in the same order."""

from __future__ import annotations

from operator import attrgetter, itemgetter
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    JoinFunction,
    KeySelector,
    PurgingTrigger,
    Row,
    SlidingEventTimeWindows,
    TaggedUnion,
    TumblingEventTimeWindows,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from flinkish.api.errors import UserFunctionError
from flinkish.runtime.columns import window_columns, window_sides
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.records import rows
from flinkish.runtime.records.shapes import Shape
from tests.runtime.micro_batches import MicroBatches
from tests.runtime.properties import part_of_examples

pytestmark = pytest.mark.slow("each example is a job with and without columns")


class Other(NamedTuple):
    """Elements of another shape, and with other columns."""

    key: Any
    text: str
    double: float


class ByKey(KeySelector):
    def getKey(self, value):
        return value.key


class Behind(WatermarkGenerator):
    """Watermarks among the elements, behind each that is a multiple of three."""

    def onEvent(self, event, eventTimestamp, output):
        if event.number % 3 == 0:
            output.emitWatermark(Watermark(eventTimestamp - 6))

    def onPeriodicEmit(self, output):
        pass


class Scaled(JoinFunction):
    def __init__(self):
        self.factor = 3

    def join(self, first, second):
        if first.number > 4:
            return second, first.number * self.factor, first.text
        return second, first.number // (1 + self.factor), second.text


def pair(first, second):
    return first, second


def computed(first, second):
    return (first.key, first.number * 2, second.text, first.number > 5)


def large(first, second):
    """64 bits hold some of these, and for the others it is called."""
    return first.number * 2**60, second.text


def listed(first, second):
    return [first, list(second)]


def keeps_a_log(first, second, out, log=None):
    for number in range(2 if first.number < 3 else 0):
        out.collect((number, first, second))


def groups(first, second):
    assert type(first) is type(second) is list
    return [(tuple(first), tuple(second), repr(first[:1]), len(second))]


def changes(first, second, out):
    first.reverse()
    second.append(len(second))
    out.collect((first, second))


def itself(stream):
    return stream


def others(stream):
    return stream.map(lambda row: Other(row.key, row.text, row.number / 4))


def tuples(stream):
    return stream.map(lambda row: (row.key, row.text, row.number))


def mixed(stream):
    """Elements of two shapes on one side."""
    odd = stream.filter(lambda row: row.number % 2 == 1)
    return others(odd).union(stream.filter(lambda row: row.number % 2 == 0))


def objects(stream):
    return stream.map(lambda row: Other(row.key, str([row.text]), 0.5))


def read(name):
    return lambda row: getattr(row, name)


SIMPLE = ["key", lambda row: row.key, ByKey()]
NAMED = [lambda row: (row.key, row.text), lambda row: None]
SELECTORS = {
    itself: [*NAMED, lambda row: row.number % 3, itemgetter(1), read("text"), "number"],
    others: [*NAMED, itemgetter(0), lambda row: row.double, attrgetter("text")],
    mixed: NAMED,
    objects: NAMED,
    tuples: [0, lambda row: row[0], itemgetter(0), "f0", lambda row: (row[0], row[1])],
}
JOINS = [pair, computed, large, Scaled(), listed, keeps_a_log]
ALIGNED = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(10, 5),
    SlidingEventTimeWindows.of(9, 4),
    SlidingEventTimeWindows.of(4, 9),
]
OTHERS = [EventTimeSessionWindows.withGap(4), GlobalWindows.create()]


def random_selector(random, side):
    """Mostly one whose keys are a column."""
    simple = side is not tuples and random.random() < 0.8
    return random.choice(SIMPLE if simple else SELECTORS[side])


def random_job(random, windows=ALIGNED, more=("",)):
    """Something that joins two streams."""
    second = random.choice([itself, others, others, tuples, mixed, objects])
    selectors = random_selector(random, itself), random_selector(random, second)
    window = random.choice(windows)
    lateness = random.choice([0, 0, 7])
    with_itself, generator = random.random() < 0.2, random.random() < 0.3
    more = "trigger" if window is OTHERS[1] else random.choice(more)
    kind = random.choice(["join", "join", "coGroup"])
    joins = [pair, listed, keeps_a_log] if second in (tuples, mixed) else JOINS
    function = random.choice(joins if kind == "join" else [groups, changes])
    bound = random.randrange(12)

    def build(stream):
        stream.getExecutionEnvironment().getConfig().allowNullKeys()
        strategy = WatermarkStrategy.forBoundedOutOfOrderness(bound)
        if generator:
            strategy = WatermarkStrategy.forGenerator(lambda context: Behind())
        timed = stream.assignTimestampsAndWatermarks(strategy)
        ones = timed if with_itself else timed.filter(lambda row: row.side == 1)
        twos = timed if with_itself else timed.filter(lambda row: row.side == 2)
        joined = getattr(ones, kind)(second(twos))
        windowed = joined.where(selectors[0]).equalTo(selectors[1]).window(window)
        if more == "trigger":
            windowed = windowed.trigger(PurgingTrigger.of(CountTrigger.of(3)))
        elif more == "evictor":
            windowed = windowed.evictor(CountEvictor.of(3))
        if lateness and window is not OTHERS[1]:
            windowed = windowed.allowedLateness(lateness)
        return windowed.apply(function)

    return build


def random_batches(random):
    """Elements with timestamps, which rise by and by."""
    keys = random.choice([range(4), "xyz", [None], [None, 1, 2]])
    batches, reached = [], 0
    for _ in range(random.randrange(1, 6)):
        batch = []
        for _ in range(random.randrange(25)):
            reached += random.choice([0, 0, 1])
            row = Row(
                side=random.randrange(1, 3),
                key=random.choice(keys),
                number=random.randrange(11),
                text=random.choice("abä"),
            )
            batch.append((row, max(0, reached - random.randrange(9))))
        batches.append(batch)
    return batches


def run(build, batches, columns, groups=2, **options):
    """Return the output; ``columns``: whether a batch comes as columns, by its number."""
    job = MicroBatches(build, groups, parallelism=groups, **options)
    for number, batch in enumerate(batches):
        job.columns = columns(number)
        job.process([batch])
    job.end()
    return [
        [(result.batch, repr(result.value), result.timestamp) for result in results]
        for results in job.results
    ]


def always(number):
    return True


def never(number):
    return False


SEEDS = st.integers(0, 2**32)


@pytest.mark.takes_columns("ColumnFunction", "PairMap")
@given(SEEDS, st.integers(1, 3), st.booleans())
@example(1, 2, True)
def test_joins_of_columns_give_the_same(seed, groups, keeps):
    random = Random(seed)
    build, batches = random_job(random), random_batches(random)
    expected = run(build, batches, never, groups, keepsTasks=keeps)
    assert run(build, batches, always, groups, keepsTasks=keeps) == expected


@pytest.mark.takes_columns("ColumnFunction")
@given(SEEDS, st.integers(1, 2))
@example(1, 2)
def test_joins_in_any_window_give_the_same(seed, groups):
    random = Random(seed)
    build = random_job(random, [*ALIGNED, *OTHERS], ("", "trigger", "evictor"))
    batches = random_batches(random)
    assert run(build, batches, always, groups) == run(build, batches, never, groups)


@pytest.mark.takes_columns("ColumnFunction")
@part_of_examples(2)
@given(SEEDS)
@example(1)
def test_joins_in_batch_give_the_same(seed):
    random = Random(seed)
    build, batches = random_job(random, [*ALIGNED, *OTHERS]), random_batches(random)
    assert run(build, batches, always, batch=True) == run(build, batches, never, batch=True)


@pytest.mark.takes_columns("PairMap")
@part_of_examples(2)
@given(SEEDS)
@example(1)
def test_also_with_few_pairs_at_once_and_short_runs(seed):
    random = Random(seed)
    build, batches = random_job(random), random_batches(random)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window_sides, "PAIRS_AT_ONCE", 3)
        patch.setattr(window_columns, "ELEMENTS_A_RUN", 7)
        patch.setattr(rows, "_OBJECTS_AT_ONCE", 3)
        columns = run(build, batches, always)
    assert columns == run(build, batches, never)


@pytest.mark.takes_columns("ColumnFunction")
@part_of_examples(2)
@given(SEEDS, st.integers(0, 31))
@example(1, 21)
def test_also_where_only_some_batches_are_columns(seed, which):
    """As where state was written before columns were kept."""
    random = Random(seed)
    build, batches = random_job(random), random_batches(random)
    expected = run(build, batches, never)
    assert run(build, batches, lambda number: bool(which >> number & 1)) == expected


@pytest.mark.takes_columns("ColumnFunction")
@part_of_examples(2)
@given(SEEDS)
@example(1)
def test_a_window_of_a_union_may_list_elements_of_two_kinds(seed):
    def build(stream):
        stream.getExecutionEnvironment().getConfig().allowNullKeys()
        strategy = WatermarkStrategy.forBoundedOutOfOrderness(9)
        union = mixed(stream.assignTimestampsAndWatermarks(strategy))
        listed = union.keyBy("key").window(window)
        return listed.apply(lambda key, window, elements: [(key, list(elements))])

    random = Random(seed)
    window, batches = random.choice(ALIGNED), random_batches(random)
    assert run(build, batches, always) == run(build, batches, never)


def elements(side, *numbers):
    rows = [Row(side=side, key=number % 2, number=number, text="t") for number in numbers]
    return [(row, row.number) for row in rows]


def both_sides(function, kind="join"):
    def build(stream):
        timed = stream.assignTimestampsAndWatermarks(WatermarkStrategy.forMonotonousTimestamps())
        one, two = (timed.filter(lambda row, n=n: row.side == n) for n in (1, 2))
        joined = getattr(one, kind)(two).where("key").equalTo("key").window(ALIGNED[0])
        return joined.apply(function)

    return build


def test_no_object_is_made_for_a_join_that_only_computes(monkeypatch):
    made = []

    def noted(shape, columns):
        made.append(shape)
        return []

    monkeypatch.setattr(Shape, "made", noted)
    monkeypatch.setattr(ColumnRuns, "due", lambda self, values=None: False)
    job = MicroBatches(both_sides(lambda one, two: (one.number, two.number)), 1, columns=True)
    job.process([[*elements(1, 0, 1, 2), *elements(2, 3, 4, 20)]])
    assert [shape.kind for shape in made] == [tuple], "those of the sink"


def test_no_tagged_object_is_made_for_a_co_group(monkeypatch):
    def refused(*arguments):
        raise AssertionError

    monkeypatch.setattr(TaggedUnion, "__new__", refused)
    build = both_sides(lambda one, two: [(len(one), len(two))], "coGroup")
    results = run(build, [[*elements(1, 0, 1, 2), *elements(2, 3, 4, 20)]], always, 1)
    assert results == [[(0, "(2, 1)", 9), (0, "(1, 1)", 9), (1, "(0, 1)", 29)]]


@pytest.mark.parametrize("columns", [always, never])
def test_an_error_names_the_key_and_the_window(columns):
    build = both_sides(lambda one, two: one.number // (two.number - 3))
    with pytest.raises(UserFunctionError, match=r"\(1, TimeWindow\(start=0, end=10\)\)"):
        run(build, [[*elements(1, 0, 1, 2), *elements(2, 2, 3, 4, 20)]], columns)


def test_runs_of_both_sides_are_few_however_many_batches_there_are():
    job = MicroBatches(both_sides(lambda one, two: one, "join"), 1, columns=True)
    for _ in range(60):
        job.process([[*elements(1, 0, 1, 2), *elements(2, 3, 4)]])
    (store,) = job.stores.values()
    assert len(store.pages) < 20
