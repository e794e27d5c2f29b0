"""A function gives the same over columns as element by element, with columns that do not check themselves."""

from __future__ import annotations

from datetime import datetime, timedelta
from operator import itemgetter

import pyarrow as pa
import pytest

from flinkish import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    Watermark,
    WatermarkGenerator,
    WatermarkStrategy,
)
from tests.column_counts import counted_runs
from tests.runtime.columns.tracing.test_checks import emitted


def agrees(build, *batches, timed=True, columns=None):
    """Asserts that a job emits of ``batches`` what it emits with tracing off; ``columns``: whether a function takes
    its runs over columns."""
    right = sorted(emitted(build, batches, traces=False, checks=0, timed=timed))
    assert right
    with counted_runs() as runs:
        assert sorted(emitted(build, batches, checks=0, timed=timed)) == right
    if columns is not None:
        assert bool(sum(runs.taken.values())) == columns


ROWS = pa.RecordBatch.from_pydict(
    {"k": ["a", "b"] * 1000, "n": list(range(2000)), "t": list(range(2000))}
)


class Timed(ProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect("untimed" if ctx.timestamp() is None else "timed")


class KeyedTimed(KeyedProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect((value.k, "timed" if ctx.timestamp() is not None else "untimed"))


TIMED = {
    "process": lambda s: s.process(Timed()),
    "function": lambda s: s.process(lambda r, ctx, out: out.collect(ctx.timestamp() is None)),
    "unused": lambda s: s.process(
        lambda r, ctx, out: out.collect(r.n) if ctx.timestamp() is None else out.collect(-r.n)
    ),
    "keyed": lambda s: s.keyBy("k").process(KeyedTimed()),
    "keyed function": lambda s: s.keyBy("k").process(
        lambda r, ctx, out: out.collect((r.n, ctx.timestamp() is None))
    ),
}


@pytest.mark.parametrize("build", TIMED.values(), ids=TIMED)
@pytest.mark.parametrize("timed", [False, True])
def test_an_element_without_timestamp_has_none(build, timed):
    agrees(build, ROWS, timed=timed, columns=timed)


NULLABLE = pa.RecordBatch.from_pydict(
    {
        "k": ["a", "b", "a", "b"] * 3,
        "f": [True, None, False] * 4,
        "n": list(range(12)),
        "t": list(range(12)),
    }
)

TRUTHS = {
    "bool": lambda r: bool(r.f),
    "chosen": lambda r: True if r.f else False,  # noqa: SIM210
    "not not": lambda r: not not r.f,  # noqa: SIM208
    "not": lambda r: not r.f,
    "any": lambda r: any((r.f,)),
    "all": lambda r: all((r.f, True)),
    "or": lambda r: r.f or False,
    "and": lambda r: r.f and True,
    "bare": lambda r: r.f,
    "the same twice": lambda r: r.f or r.f,
    "opposite": lambda r: False if r.f else True,  # noqa: SIM211
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_truth_of_a_null_is_false(truth):
    for build in (
        lambda s: s.map(truth),
        lambda s: s.map(lambda r: (r.k, truth(r))),
        lambda s: s.filter(truth),
        lambda s: s.flatMap(lambda r: [(r.n, truth(r))]),
        lambda s: s.process(lambda r, ctx, out: out.collect((r.n, truth(r)))),
        lambda s: s.keyBy(truth).process(
            lambda r, ctx, out: out.collect((ctx.getCurrentKey(), r.n))
        ),
        lambda s: s.keyBy("k").process(lambda r, ctx, out: out.collect((truth(r), r.n))),
        lambda s: s.keyBy(truth).sum("n"),
    ):
        agrees(build, NULLABLE)
        agrees(build, NULLABLE.filter(pa.array([True, False, True] * 4)))


def test_a_column_of_bools_is_handed_on_over_columns():
    agrees(lambda s: s.map(lambda r: r.f), NULLABLE, columns=True)
    agrees(
        lambda s: s.map(lambda r: bool(r.f)),
        NULLABLE.filter(pa.array([True, False, True] * 4)),
        columns=True,
    )


FLOATS = pa.RecordBatch.from_pydict(
    {
        "x": [1.0, float("nan"), -0.0, float("inf"), 2.5, 0.0] * 3,
        "y": [float("nan"), 1.0, 0.0, 2.0, 2.5, -1.0] * 3,
        "t": list(range(18)),
    }
)
SECOND = itemgetter(1)

SAME_OBJECTS = {
    "max": lambda r: max(r.x, 1.0) in (r.x,),
    "min": lambda r: min(r.x, r.y) in (r.x, 7.0),
    "max of two": lambda r: (max(r.x, r.y),) == (max(r.y, r.x),),
    "not in": lambda r: max(r.x, 1.0) not in [r.x],
    "unequal tuples": lambda r: (max(r.x, 1.0), 1) != (r.x, 1),
    "count": lambda r: (r.x, r.y).count(min(r.x, 0.5)),
    "order": lambda r: (max(r.x, 1.0), 1) < (r.x, 2),
    "getter": lambda r: SECOND(r) in (r.y,),
    "abs": lambda r: abs(r.x) in (r.x,),
    "float": lambda r: float(r.x) in (r.x,),
    "plus": lambda r: +r.x in (r.x,),
    "computed": lambda r: (r.x * 2,) == (r.x * 2,),
    "comparison": lambda r: max(r.x, 1.0) == r.x,
    "itself": lambda r: r.x == r.x,
}


@pytest.mark.parametrize("function", SAME_OBJECTS.values(), ids=SAME_OBJECTS)
def test_a_tuple_finds_the_nan_that_is_in_it(function):
    agrees(lambda s: s.map(function), FLOATS)
    agrees(lambda s: s.filter(lambda r: r.t < 2 or function(r)), FLOATS)


def test_what_may_be_one_object_is_compared_over_columns():
    without = FLOATS.filter(pa.array([True, False, True, True, True, True] * 3))
    agrees(lambda s: s.map(lambda r: max(r.x, 1.0) in (r.x,)), without, columns=True)


class Formatting(MapFunction):
    label = "no place"

    def __init__(self):
        self.text = "no place"
        self.texts = ("no place", 2)
        self.raw = b"no place"

    def label_of(self):
        return "no place"

    def map(self, value):
        return self.text % value.x


class OfClass(Formatting):
    def map(self, value):
        return self.label % value.x


class OfTuple(Formatting):
    def map(self, value):
        return self.texts[0] % value.x


class OfMethod(Formatting):
    def map(self, value):
        return self.label_of() % value.x


class OfBytes(Formatting):
    def map(self, value):
        return str(value.t) if self.raw % value.x else ""


def texts_of(value):
    if value.x % 2 > 5:
        return (value.x, 1)
    return ("no place", 1)


TEXT = "no place"
EPOCH = datetime(1970, 1, 1)
SCALE = 2.5
FORMATS = {
    "attribute": Formatting(),
    "class attribute": OfClass(),
    "item": OfTuple(),
    "method": OfMethod(),
    "bytes": OfBytes(),
    "returned": lambda r: texts_of(r)[0] % r.x,
    "constant": lambda r: "no place" % r.x,  # noqa: F507, UP031
    "global": lambda r: TEXT % r.x,
    "default": lambda r, text="no place": text % r.x,
    "variable": lambda r: (lambda text: text % r.x)("no place"),
    "whole": lambda r: TEXT % r,
    "augmented": lambda r: [TEXT][0] % r.t,
    "a time": lambda r: EPOCH.isoformat() % r.x,
    "a time as text": lambda r: str(EPOCH - timedelta(1)) % r.x,
    "a number as text": lambda r: str(5) % r.x,
    "a number's method": lambda r: SCALE.hex() % r.x,
}


@pytest.mark.parametrize("function", FORMATS.values(), ids=FORMATS)
def test_a_text_without_a_place_is_not_formatted(function):
    with pytest.raises(Exception, match="not all arguments converted"):
        emitted(lambda s: s.map(function), [FLOATS], checks=0)


class Remainder(MapFunction):
    def __init__(self):
        self.by = 7

    def map(self, value):
        return value.t % self.by


def test_remainders_are_taken_over_columns():
    agrees(lambda s: s.map(Remainder()), FLOATS, columns=True)
    agrees(lambda s: s.map(lambda r: r.t % 5 if r.x < 1 else 0), FLOATS, columns=True)


class Shared:
    offset = 0


class Advancing(WatermarkGenerator):
    """A generator that writes what the assigner reads."""

    def __init__(self, shared):
        self.top = 0
        self.offset = 0
        self._shared = shared

    def onEvent(self, event, eventTimestamp, output):
        self.top = max(self.top, eventTimestamp)
        self.offset = self.offset + 10

    def onPeriodicEmit(self, output):
        output.emitWatermark(Watermark(self.top))


class AdvancingAnother(Advancing):
    def onEvent(self, event, eventTimestamp, output):
        self._shared.offset += 10


SHARED = Shared()


@pytest.mark.parametrize("another", [False, True])
def test_an_assigner_reads_what_the_generator_writes(another):
    def build(stream):
        SHARED.offset = 0
        made = AdvancingAnother(SHARED) if another else Advancing(SHARED)
        read = SHARED if another else made
        strategy = WatermarkStrategy.forGenerator(lambda _: made)
        return stream.assignTimestampsAndWatermarks(
            strategy.withTimestampAssigner(lambda r, _: r.t + read.offset)
        )

    agrees(build, FLOATS)


def test_an_assigner_that_reads_nothing_else_goes_with_a_generator_over_columns():
    strategy = WatermarkStrategy.forGenerator(lambda _: Advancing(SHARED))
    timed = strategy.withTimestampAssigner(lambda r, _: r.t * 1000)
    agrees(lambda s: s.assignTimestampsAndWatermarks(timed), FLOATS, columns=True)
