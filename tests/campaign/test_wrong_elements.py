"""Jobs on the harness with elements, keys, times and functions that do not fit.

Each job is fed good elements and, at a place drawn from the seed, one that it cannot use; or one of
its functions gives what it must not. Either the job makes sense of it, or one error of flinkish names
the operator or the key.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError, IllegalArgumentError, InternalError, shown
from flinkish.testing import StreamTestHarness

SEED = 12
NAME = "the operator"


class Unhashable:
    def __hash__(self) -> int:
        raise ValueError("no hash today")


class Incomparable:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no comparison today")

    def __hash__(self) -> int:
        return 1


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no text today")


@dataclass
class Reading:
    key: str
    value: object
    at: object = 0


def nested(depth: int) -> tuple[Any, ...]:
    result: tuple[Any, ...] = ()
    for _ in range(depth):
        result = (result,)
    return result


GOOD = [("a", 1, 10), ("b", 2, 20), ("a", 3, 30)]

ELEMENTS: dict[str, Any] = {
    "None": None,
    "a number": 7,
    "a text": "a",
    "bytes": b"ab",
    "an empty tuple": (),
    "a short tuple": ("a",),
    "a tuple with a text for a number": ("a", "one", 10),
    "a tuple with None for a number": ("a", None, 10),
    "a tuple with a list for a number": ("a", [1], 10),
    "a tuple with nan": ("a", math.nan, 10),
    "a tuple with a huge number": ("a", 2**70, 10),
    "a dict": {"key": "a"},
    "a Row": fl.Row(key="a", value="one"),
    "a dataclass": Reading("a", "one"),
    "a list": ["a", 1, 10],
    "an object": object(),
    "a class": Reading,
    "a function": lambda: 1,
    "what has no repr": Unprintable(),
    "a tuple of such": ("a", Unprintable(), 10),
    "half a surrogate pair": ("\ud800", 1, 10),
}

KEYS: dict[str, Any] = {
    "None": None,
    "a list": [],
    "a dict": {},
    "a set": set(),
    "an object": object(),
    "a tuple with a list": ("a", []),
    "a key whose hash raises": Unhashable(),
    "a tuple with such a key": ("a", Unhashable()),
    "a key that cannot be compared": Incomparable(),
    "a key without a repr": Unprintable(),
    "a mutable dataclass": Reading("a", 1),
    "a tuple nested 2,000 deep": nested(2_000),
    "nan": math.nan,
    "inf": math.inf,
    "2**70": 2**70,
    "a class": Reading,
    "a function": lambda: 1,
    "half a surrogate pair": "\ud800",
    "bytearray": bytearray(b"a"),
    "a complex number": 1j,
}

TIMES: dict[str, Any] = {
    "None": None,
    "a text": "10",
    "1.5": 1.5,
    "nan": math.nan,
    "inf": math.inf,
    "2**63": 2**63,
    "-2**63 - 1": -(2**63) - 1,
    "2**70": 2**70,
    "a list": [],
    "an object": object(),
    "True": True,
}

RESULTS: dict[str, Any] = {**ELEMENTS, "an exception": ValueError("returned, not raised")}

RAISED: list[BaseException] = [
    ValueError("user"),
    TypeError("user"),
    KeyError("user"),
    IndexError("user"),
    AttributeError("user"),
    OverflowError("user"),
    RecursionError("user"),
    AssertionError("user"),
    ZeroDivisionError("user"),
    MemoryError("user"),
    UnicodeError("user"),
    OSError("user"),
    LookupError("user"),
    RuntimeError("user"),
    NotImplementedError("user"),
    StopIteration("user"),
    GeneratorExit("user"),
    SystemExit("user"),
]


def first(element):
    return element[0]


def tumbling(stream):
    return stream.keyBy(first).window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(1)))


def sessions(stream):
    return stream.keyBy(first).window(fl.EventTimeSessionWindows.withGap(fl.Time.seconds(1)))


class Total(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


def named(build):
    return lambda stream: build(stream).name(NAME)


JOBS = {
    "map by position": lambda s: s.map(lambda e: e[1] + 1),
    "filter": lambda s: s.filter(lambda e: e[1] > 1),
    "flatMap": lambda s: s.flatMap(lambda e: [e[1] + 1]),
    "process": lambda s: s.process(lambda e, ctx, out: out.collect(e[1] + 1)),
    "project": lambda s: s.project(0, 2),
    "keyBy a position, sum": lambda s: s.keyBy(0).sum(1),
    "keyBy a position, min": lambda s: s.keyBy(0).min(1),
    "keyBy a position, max": lambda s: s.keyBy(0).max(1),
    "keyBy a position, minBy": lambda s: s.keyBy(0).minBy(1),
    "keyBy a position, maxBy": lambda s: s.keyBy(0).maxBy(1),
    "keyBy f0, sum f1": lambda s: s.keyBy("f0").sum("f1"),
    "keyBy a function, sum by a function": lambda s: s.keyBy(first).sum(lambda e: e[1]),
    "reduce": lambda s: s.keyBy(first).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])),
    "keyed process": lambda s: s.keyBy(first).process(
        lambda e, ctx, out: out.collect((ctx.getCurrentKey(), e[1] + 1))
    ),
    "windowed sum": lambda s: tumbling(s).sum(1),
    "windowed max": lambda s: tumbling(s).max(1),
    "windowed aggregate": lambda s: tumbling(s).aggregate(Total()),
    "windowed reduce": lambda s: tumbling(s).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])),
    "windowed apply": lambda s: tumbling(s).apply(lambda k, w, es: [sum(e[1] for e in es)]),
    "session aggregate": lambda s: sessions(s).aggregate(Total()),
    "session process": lambda s: sessions(s).process(lambda k, c, es: [sum(e[1] for e in es)]),
    "dynamic sessions": lambda s: (
        s.keyBy(first)
        .window(fl.EventTimeSessionWindows.withDynamicGap(lambda e: e[1]))
        .aggregate(Total())
    ),
    "count window": lambda s: s.keyBy(first).countWindow(2).sum(1),
    "delta trigger": lambda s: (
        s.keyBy(first)
        .window(fl.GlobalWindows.create())
        .trigger(fl.DeltaTrigger.of(1.0, lambda a, b: b[1] - a[1]))
        .aggregate(Total())
    ),
    "delta evictor": lambda s: (
        tumbling(s).evictor(fl.DeltaEvictor.of(1.0, lambda a, b: b[1] - a[1])).aggregate(Total())
    ),
    "windowAll": lambda s: s.windowAll(
        fl.TumblingEventTimeWindows.of(fl.Time.seconds(1))
    ).aggregate(Total()),
    "timestamps of a field": lambda s: s.assignTimestampsAndWatermarks(
        fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: e[2])
    ),
}


def failure(case: str, build: Any, elements: list[Any], names: bool = True) -> str | None:
    """Describe what is wrong with how the job ends; None if nothing is."""
    try:
        harness = StreamTestHarness(build)
        for position, element in enumerate(elements):
            harness.processElement(element, 100 * position)
        harness.endInput()
        harness.close()
    except InternalError as error:
        return f"{case}: {error}"
    except FlinkishError as error:
        text = str(error)
        named = any(part in text for part in (NAME, "keyBy", "sum: field", *map(shown, elements)))
        return None if named or not names else f"{case}: names nothing: {text}"
    except BaseException as error:
        return f"{case}: {type(error).__name__}: {error}"
    return None


def mixed(draw: random.Random, wrong: Any) -> list[Any]:
    elements: list[Any] = list(GOOD)
    elements.insert(draw.randrange(len(elements) + 1), wrong)
    return elements


def failures(cases: dict[str, tuple[Any, list[Any]]]) -> list[str]:
    return [
        text
        for case, (build, elements) in cases.items()
        if (text := failure(case, build, elements)) is not None
    ]


def of_elements() -> dict[str, tuple[Any, list[Any]]]:
    draw = random.Random(SEED)
    return {
        f"{job}: {shown}": (named(build), mixed(draw, wrong))
        for job, build in JOBS.items()
        for shown, wrong in ELEMENTS.items()
    }


def of_keys() -> dict[str, tuple[Any, list[Any]]]:
    jobs = {
        "sum": lambda s: s.sum(1),
        "process": lambda s: s.process(lambda e, ctx, out: out.collect(e)),
        "window": lambda s: s.window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(1))).aggregate(
            Total()
        ),
        "session": lambda s: s.window(
            fl.EventTimeSessionWindows.withGap(fl.Time.seconds(1))
        ).aggregate(Total()),
    }
    return {
        f"keyBy({shown}), {job}": (named(lambda s, b=build, k=key: b(s.keyBy(lambda e: k))), GOOD)
        for job, build in jobs.items()
        for shown, key in KEYS.items()
    }


def of_times() -> dict[str, tuple[Any, list[Any]]]:
    def assigned(time):
        return named(
            lambda s: s.assignTimestampsAndWatermarks(
                fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
                    lambda e, t: time
                )
            )
        )

    def timer(time, service):
        class Sets(fl.KeyedProcessFunction):
            def processElement(self, value, ctx, out):
                getattr(ctx.timerService(), service)(time)

        return named(lambda s: s.keyBy(first).process(Sets()))

    def gap(time):
        assigner = fl.EventTimeSessionWindows.withDynamicGap(lambda e: time)
        return named(lambda s: s.keyBy(first).window(assigner).aggregate(Total()))

    cases: dict[str, tuple[Any, list[Any]]] = {}
    for given, time in TIMES.items():
        cases[f"timestamp {given}"] = (assigned(time), GOOD)
        cases[f"gap {given}"] = (gap(time), GOOD)
        for service in ("registerEventTimeTimer", "registerProcessingTimeTimer"):
            cases[f"{service} {given}"] = (timer(time, service), GOOD)
    return cases


def of_results() -> dict[str, tuple[Any, list[Any]]]:
    def returning(result):
        class Aggregates(Total):
            def add(self, value, accumulator):
                return result

        return {
            "map, then sum": lambda s: s.map(lambda e: result).keyBy(0).sum(1),
            "filter": lambda s: s.filter(lambda e: result),
            "flatMap": lambda s: s.flatMap(lambda e: result),
            "process": lambda s: s.process(lambda e, ctx, out: result),
            "keyed process": lambda s: s.keyBy(first).process(lambda e, ctx, out: result),
            "reduce": lambda s: s.keyBy(first).reduce(lambda a, b: result),
            "apply": lambda s: tumbling(s).apply(lambda k, w, es: result),
            "window process": lambda s: tumbling(s).process(lambda k, c, es: result),
            "aggregate": lambda s: tumbling(s).aggregate(Aggregates()),
            "session aggregate": lambda s: sessions(s).aggregate(Aggregates()),
        }

    return {
        f"{job} returns {shown}": (named(build), GOOD)
        for shown, result in RESULTS.items()
        for job, build in returning(result).items()
    }


def of_exceptions() -> dict[str, tuple[Any, list[Any]]]:
    def raising(error):
        def function(*arguments):
            raise error

        class Aggregates(Total):
            def add(self, value, accumulator):
                raise error

        class Opens(fl.RichMapFunction):
            def open(self, openContext):
                raise error

            def map(self, value):
                return value

        # A function that says how many parameters it has is called with so many.
        return {
            "map": lambda s: s.map(lambda e: function()),
            "filter": lambda s: s.filter(lambda e: function()),
            "flatMap": lambda s: s.flatMap(lambda e: function()),
            "open": lambda s: s.map(Opens()),
            "keyBy": lambda s: s.keyBy(lambda e: function()).sum(1),
            "reduce": lambda s: s.keyBy(first).reduce(lambda a, b: function()),
            "minBy": lambda s: s.keyBy(first).minBy(lambda e: function()),
            "process": lambda s: s.keyBy(first).process(lambda e, ctx, out: function()),
            "aggregate": lambda s: tumbling(s).aggregate(Aggregates()),
            "window process": lambda s: tumbling(s).process(lambda k, c, es: function()),
            "timestamps": lambda s: s.assignTimestampsAndWatermarks(
                fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
                    lambda e, t: function()
                )
            ),
            "gap": lambda s: (
                s.keyBy(first)
                .window(fl.EventTimeSessionWindows.withDynamicGap(lambda e: function()))
                .aggregate(Total())
            ),
        }

    return {
        f"{job} raises {type(error).__name__}": (named(build), GOOD)
        for error in RAISED
        for job, build in raising(error).items()
    }


GROUPS = {
    "elements": of_elements(),
    "keys": of_keys(),
    "times": of_times(),
    "results": of_results(),
    "exceptions": of_exceptions(),
}


@pytest.mark.parametrize("group", GROUPS)
def test_a_job_names_what_does_not_fit(group):
    assert failures(GROUPS[group]) == []


def test_each_exception_of_a_user_function_is_reported():
    """None of them is taken for the end of the input, or lost."""

    def ends(build):
        harness = StreamTestHarness(build)
        for element in GOOD:
            harness.processElement(element, 0)
        harness.endInput()

    for case, (build, _) in GROUPS["exceptions"].items():
        with pytest.raises(FlinkishError) as raised:
            ends(build)
        assert NAME in str(raised.value) or case.startswith(("keyBy", "gap")), case


@pytest.mark.parametrize("time", [t for t in TIMES.values() if t is not None])
def test_the_harness_takes_no_time_that_flink_has_not(time):
    harness = StreamTestHarness(lambda s: s.map(str))
    for call in (
        lambda: harness.processElement("a", time),
        lambda: harness.processWatermark(time),
        lambda: harness.setProcessingTime(time),
    ):
        with pytest.raises(IllegalArgumentError, match="not a time in ms"):
            call()


def test_there_are_hundreds_of_them():
    assert sum(map(len, GROUPS.values())) >= 1_000
