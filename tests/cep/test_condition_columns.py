"""Conditions over columns, and events that are left out, give the same results as single events."""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flinkish import Duration, OutputTag, StreamRecord
from flinkish.api.errors import MalformedPatternError, UserFunctionError
from flinkish.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
    UnboundedPatternWarning,
    WithinType,
)
from flinkish.cep.condition_columns import ConditionColumns
from flinkish.cep.nfa import NFA
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness
from tests.column_counts import counted_runs

pytestmark = pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning")


class Matches(PatternProcessFunction, TimedOutPartialMatchHandler):
    def processMatch(self, match, ctx, out):
        out.collect(("match", ctx.timestamp(), shown(match)))

    def processTimedOutMatch(self, match, ctx):
        ctx.output(TIMED_OUT, ("timed out", ctx.timestamp(), shown(match)))


TIMED_OUT: OutputTag[Any] = OutputTag("timed out")


def shown(match):
    return {stage: [(event.k, event.n) for event in events] for stage, events in match.items()}


def condition(draw, plain):
    number = draw.randrange(4)
    if plain:  # most events matter to no stage
        return lambda event: event.n == number
    return draw.choice(
        [
            lambda event: event.n % 5 == number,
            lambda event: event.n % 5 > number,
            lambda event: event.n % 5 == number or event.n > 8,
            lambda event: event.n is None or event.n % 2 == 1,
            lambda event: str(event.n).endswith(str(number)),  # not over columns
        ]
        if draw.random() < 0.9
        else [lambda event, ctx: event.n > len(list(ctx.getEventsForPattern("s0")))]
    )


QUANTIFIERS = [
    lambda p: p.oneOrMore(),
    lambda p: p.times(2),
    lambda p: p.optional(),
    lambda p: p.oneOrMore().greedy(),
    lambda p: p.oneOrMore().consecutive(),
]


def pattern(seed: int) -> Pattern[Any, Any]:
    """A random pattern; every second one may leave events out."""
    draw = random.Random(seed)
    plain = draw.random() < 0.5
    stages = draw.choice([1, 2, 2, 3])
    skipped_to = f"s{draw.randrange(stages)}"
    skip = draw.choice(
        [
            AfterMatchSkipStrategy.noSkip(),
            AfterMatchSkipStrategy.skipPastLastEvent(),
            AfterMatchSkipStrategy.skipToNext(),
            AfterMatchSkipStrategy.skipToFirst(skipped_to),
            AfterMatchSkipStrategy.skipToLast(skipped_to),
        ]
    )
    made: Any = Pattern.begin("s0", skip)
    for number in range(stages):
        if number:
            hows = ["followedBy", "followedByAny", "notFollowedBy"]
            hows += [] if plain else ["next", "followedBy", "notNext"]
            last = number == stages - 1
            how = draw.choice([h for h in hows if not (last and h.startswith("not"))])
            made = getattr(made, how)(f"s{number}")
        else:
            how = "begin"
        made = made.where(condition(draw, plain))
        if draw.random() < 0.3:
            made = made.or_(condition(draw, plain))
        if not how.startswith("not") and draw.random() < 0.5:
            made = draw.choice(QUANTIFIERS[:4] if plain else QUANTIFIERS)(made)
    if draw.random() < 0.8:
        made = made.within(Duration.ofMillis(draw.choice([5, 12, 40])))
    if draw.random() < (0.1 if plain else 0.3):
        step = Duration.ofMillis(draw.choice([-1, 3, 8]))
        made = made.within(step, WithinType.PREVIOUS_AND_CURRENT)
    return made


def job(seed, traces, late):
    def build(stream):
        if not traces:
            stream.getExecutionEnvironment().getConfig().disableFunctionTracing()
        matched = CEP.pattern(stream.keyBy("k"), pattern(seed)).inEventTime()
        if late:
            matched = matched.sideOutputLateData(OutputTag("late"))
        result = matched.process(Matches())
        return result, result.getSideOutput(TIMED_OUT), result.getSideOutput(OutputTag("late"))

    return build


def emitted(seed, steps, traces, late=True):
    """Return the output of each stream for each key, in order. A step is a batch with the way in which it comes, a
    watermark, or a restart."""
    harness = StreamTestHarness(job(seed, traces, late))
    found: dict[tuple[int, str], list[str]] = defaultdict(list)

    def take():
        for number in range(3):
            for record in harness.getOutput(number):
                if isinstance(record, StreamRecord):
                    value = record.value
                    key = value.k if number == 2 else next(iter(value[2].values()))[0][0]
                    found[number, key].append(repr((value, record.timestamp)))

    for step in steps:
        if step == "restart":
            take()
            harness = StreamTestHarness.restore(job(seed, traces, late), harness.snapshot())
        elif isinstance(step, int):
            harness.processWatermark(step)
        else:
            events, as_columns = step
            if not events:
                continue
            columns = RowColumns(
                pa.table(
                    {
                        "k": pa.array([k for k, _, _ in events], pa.string()),
                        "n": pa.array([n for _, n, _ in events], pa.int64()),
                    }
                )
                .combine_chunks()
                .to_batches()[0]
            )
            times = np.array([time for _, _, time in events], np.int64)
            values = columns if as_columns and traces else list(columns)
            harness._inputs[0].output.emitRecords(Records(values, times))
    harness.endInput()
    take()
    return dict(found)


def steps(seed):
    """Random batches, watermarks that rise, and restarts."""
    draw = random.Random(seed)
    reached = -40
    for _ in range(draw.randint(2, 9)):
        action = draw.random()
        if action < 0.4:
            events = [
                (
                    draw.choice("ab"),
                    draw.randrange(10),
                    draw.randint(min(max(reached - 5, -30), 60), 60),
                )
                for _ in range(draw.choice([2, 10, 30]))
            ]
            yield (
                sorted(events, key=lambda e: e[2]) if draw.random() < 0.3 else events,
                action < 0.35,
            )
        elif action < 0.9:
            reached += draw.randint(1, 25)
            yield reached
        else:
            yield "restart"


class Counts(Counter[str]):
    """The number of examples in which events were kept as columns, and in which they were left
    out."""

    def of(self, monkeypatch: pytest.MonkeyPatch):
        original = ConditionColumns.of

        def of(columns, records, watermark):
            events, verdicts, left_out = original(columns, records, watermark)
            left_out = list(left_out)
            self["columns"] += isinstance(verdicts, list)
            self["left out"] += bool(left_out)
            return events, verdicts, left_out

        monkeypatch.setattr(ConditionColumns, "of", of)
        return self


class TooManyMatchesError(Exception):
    """A pattern has so many partial matches that it would run for minutes, as in Flink."""


@pytest.fixture(autouse=True)
def bounded(monkeypatch):
    """Random patterns whose matches double with every event are left out."""
    process = NFA.process

    def bounded_process(self, state, *event):
        found = process(self, state, *event)
        if len(state.partial) > 500:
            raise TooManyMatchesError
        return found

    monkeypatch.setattr(NFA, "process", bounded_process)


def compared(seed):
    late = seed % 2 == 0
    try:
        pattern(seed)
        expected = emitted(seed, steps(seed), traces=False, late=late)
    except MalformedPatternError:
        return
    except UserFunctionError as error:
        if isinstance(error.__cause__, TooManyMatchesError):
            return
        raise
    assert emitted(seed, steps(seed), traces=True, late=late) == expected


def compared_with_columns(monkeypatch, examples):
    """Compare random examples, of which a good part takes columns and leaves events out."""
    counts = Counts().of(monkeypatch)

    @settings(max_examples=examples)
    @given(st.integers(0, 2**32))
    def each(seed):
        for more in range(4):
            compared(seed + more)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedPatternWarning)
        each()
    assert counts["columns"] > examples
    assert counts["left out"] > examples / 4


@pytest.mark.takes_columns("ColumnFunction")
def test_random_patterns(monkeypatch):
    compared_with_columns(monkeypatch, settings.default.max_examples)


@pytest.mark.thorough("thousands of patterns")
@pytest.mark.takes_columns("ColumnFunction")
def test_many_random_patterns(monkeypatch):
    compared_with_columns(monkeypatch, 500)


def three_steps():
    return (
        Pattern.begin("small")
        .where(lambda event: event.n < 10)
        .followedBy("middle")
        .where(lambda event: event.n == 50)
        .followedBy("large")
        .where(lambda event: event.n > 95)
        .within(Duration.ofMillis(50))
    )


def build_of(made):
    return lambda stream: (
        CEP.pattern(stream.keyBy("k"), made)
        .inEventTime()
        .select(lambda match: [events[0].n for events in match.values()])
    )


def processed(made, monkeypatch, numbers):
    """Return the number of events, of those with these numbers, one a ms, that go through the
    NFA."""
    seen = []
    original = NFA.process

    def process(self, state, value, timestamp, verdicts=None):
        seen.append(verdicts)
        return original(self, state, value, timestamp, verdicts)

    monkeypatch.setattr(NFA, "process", process)
    harness = StreamTestHarness(build_of(made))
    columns = pa.RecordBatch.from_pydict({"k": ["a"] * len(numbers), "n": numbers})
    times = np.arange(len(numbers), dtype=np.int64)
    with counted_runs() as runs:
        harness._inputs[0].output.emitRecords(Records(RowColumns(columns), times))
        harness.endInput()
    assert runs.taken["ColumnFunction"]
    found = [r.value for r in harness.getOutput() if isinstance(r, StreamRecord)]
    return len(seen), found, seen


NUMBERS = [20, 5, 30, 50, 60, 96, 70]


def test_events_that_matter_to_no_stage_are_left_out(monkeypatch):
    count, found, seen = processed(three_steps(), monkeypatch, NUMBERS)
    assert (count, found) == (3, [[5, 50, 96]])
    assert [sum(verdicts) for verdicts in seen] == [1, 1, 1]


def matches_and_timeouts(made, steps, columns):
    """Matches and timed-out matches with their times. A step is a batch of events or a watermark."""

    def build(stream):
        if not columns:
            stream.getExecutionEnvironment().getConfig().disableFunctionTracing()
        result = CEP.pattern(stream.keyBy("k"), made).inEventTime().process(Matches())
        return result, result.getSideOutput(TIMED_OUT)

    harness = StreamTestHarness(build)
    for each in steps:
        if isinstance(each, int):
            harness.processWatermark(each)
            continue
        numbers, times = zip(*each)
        batch = RowColumns(pa.RecordBatch.from_pydict({"k": ["a"] * len(each), "n": numbers}))
        harness._inputs[0].output.emitRecords(Records(batch, np.array(times, np.int64)))
    harness.endInput()
    return [
        [r.value for r in harness.getOutput(i) if isinstance(r, StreamRecord)] for i in range(2)
    ]


A, C, X = 1, 3, 7


def followed(skip):
    return (
        Pattern.begin("a", skip)
        .where(lambda event: event.n == A)
        .followedByAny("c")
        .where(lambda event: event.n == C)
        .within(Duration.ofMillis(10))
    )


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize(
    "steps",
    [
        [[(A, 0), (A, 1), (C, 2), (X, 15)]],
        [[(A, 0), (A, 1), (C, 2), (X, 15)], 1, 30],
        [[(A, 0), (A, 1), (C, 2)], 3, [(X, 15), (X, 30)], 40],
        [-1, [(X, 15)], [(A, 0), (A, 1)], [(C, 2)]],
    ],
)
@pytest.mark.parametrize("skip", ["skipToFirst", "skipToLast"])
def test_a_match_ends_when_an_event_that_is_left_out_has_come(skip, steps):
    """The match of the second waits until the first has taken too long."""
    made = followed(getattr(AfterMatchSkipStrategy, skip)("a"))
    whole = {"a": [("a", A)], "c": [("a", C)]}
    for columns in (False, True):
        found, _ = matches_and_timeouts(made, steps, columns)
        assert found == [("match", 2, whole), ("match", 15, whole)]


@pytest.mark.takes_columns("ColumnFunction")
@pytest.mark.parametrize(
    "steps",
    [
        [[(A, -5), (X, 15)]],
        [[(X, 15)], [(A, -5)]],
        [-10, [(X, -2)], [(A, -5)], -4, 10],
    ],
)
def test_a_match_that_began_before_1970_times_out(steps):
    """It has no timer, as in Flink: the next event ends it."""
    for columns in (False, True):
        _, timed_out = matches_and_timeouts(followed(None), steps, columns)
        assert timed_out == [("timed out", 5, {"a": [("a", A)]})]


def test_none_is_left_out_where_one_more_breaks_the_match(monkeypatch):
    strict = (
        Pattern.begin("small")
        .where(lambda event: event.n < 10)
        .next("middle")
        .where(lambda event: event.n == 50)
        .within(Duration.ofMillis(50))
    )
    count, found, _ = processed(strict, monkeypatch, NUMBERS)
    assert (count, found) == (len(NUMBERS), [])


def test_none_is_left_out_where_its_time_counts(monkeypatch):
    waits = (
        Pattern.begin("small")
        .where(lambda event: event.n < 10)
        .notFollowedBy("large")
        .where(lambda event: event.n > 95)
        .within(Duration.ofMillis(50))
    )
    assert processed(waits, monkeypatch, NUMBERS)[0] == len(NUMBERS)


def test_verdicts_count_for_the_program_that_gave_them():
    """After a restart with another condition, events that wait are asked again."""

    def build(limit):
        return build_of(
            Pattern.begin("one")
            .where(lambda event: event.n > limit)
            .oneOrMore()
            .within(Duration.ofMillis(5))
        )

    harness = StreamTestHarness(build(0))
    columns = pa.RecordBatch.from_pydict({"k": ["a", "a"], "n": [1, 10]})
    harness._inputs[0].output.emitRecords(Records(RowColumns(columns), np.array([1, 2], np.int64)))
    harness = StreamTestHarness.restore(build(5), harness.snapshot())
    harness.endInput()
    assert [r.value for r in harness.getOutput() if isinstance(r, StreamRecord)] == [[10]]
