"""Conditions over columns, and events that are left out, give what each event by itself gives."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flinkish import Duration, OutputTag, StreamRecord
from flinkish.api.errors import MalformedPatternError
from flinkish.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
    UnboundedPatternWarning,
)
from flinkish.cep.nfa import NFA
from flinkish.runtime.columns.tracing.column_runs import counted_runs
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.testing import StreamTestHarness

pytestmark = pytest.mark.filterwarnings("ignore::flinkish.cep.UnboundedPatternWarning")


class Matches(PatternProcessFunction, TimedOutPartialMatchHandler):
    def processMatch(self, match, ctx, out):
        out.collect(("match", ctx.timestamp(), shown(match)))

    def processTimedOutMatch(self, match, ctx):
        ctx.output(TIMED_OUT, ("timed out", ctx.timestamp(), shown(match)))


TIMED_OUT: OutputTag[Any] = OutputTag("timed out")


def shown(match):
    return {stage: [(event.k, event.n) for event in events] for stage, events in match.items()}


def condition(draw):
    number = draw.randrange(5)
    return draw.choice(
        [
            lambda event: event.n % 5 == number,
            lambda event: event.n % 5 > number,
            lambda event: event.n % 5 == number or event.n > 90,
            lambda event: event.n is None or event.n % 2 == 1,
            lambda event: str(event.n).endswith(str(number)),  # not over columns
        ]
        if draw.random() < 0.9
        else [lambda event, ctx: event.n > len(list(ctx.getEventsForPattern("s0"))) * 10]
    )


def pattern(seed: int) -> Pattern[Any, Any]:
    draw = random.Random(seed)
    skip = draw.choice(
        [
            AfterMatchSkipStrategy.noSkip(),
            AfterMatchSkipStrategy.skipPastLastEvent(),
            AfterMatchSkipStrategy.skipToNext(),
        ]
    )
    stages = draw.randint(1, 3)
    made: Any = Pattern.begin("s0", skip)
    for number in range(stages):
        if number:
            hows = ["next", "followedBy", "followedBy", "followedByAny", "notNext", "notFollowedBy"]
            how = draw.choice(hows if number < stages - 1 else hows[:4])
            made = getattr(made, how)(f"s{number}")
        else:
            how = "begin"
        made = made.where(condition(draw))
        if draw.random() < 0.3:
            made = made.or_(condition(draw))
        if not how.startswith("not") and draw.random() < 0.5:
            made = draw.choice(
                [
                    lambda p: p.oneOrMore(),
                    lambda p: p.times(2),
                    lambda p: p.optional(),
                    lambda p: p.oneOrMore().consecutive(),
                    lambda p: p.oneOrMore().greedy(),
                ]
            )(made)
    return made.within(Duration.ofMillis(draw.choice([8, 20, 60]))) if draw.random() < 0.8 else made


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
    """What comes out of each stream. A step is a batch with the way in which it comes, a watermark, or a restart."""
    harness = StreamTestHarness(job(seed, traces, late))
    found: list[Counter[str]] = [Counter(), Counter(), Counter()]
    order: list[str] = []

    def take():
        for number, counts in enumerate(found):
            values = [r.value for r in harness.getOutput(number) if isinstance(r, StreamRecord)]
            counts.update(map(repr, values))
            if not number:
                order.extend(map(repr, values))

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
    return found, sorted(order)


event = st.tuples(st.sampled_from("ab"), st.integers(0, 99), st.integers(0, 100))
step = (
    st.tuples(st.lists(event, max_size=25), st.booleans() | st.just(True))
    | st.integers(0, 90)
    | st.just("restart")
)


def rising(steps):
    """``steps`` whose watermarks rise."""
    reached = -1
    for each in steps:
        if isinstance(each, int):
            reached += each // 4 + 1
            yield reached
        else:
            yield each


def compared(seed, steps, late):
    steps = list(rising(steps))
    try:
        pattern(seed)
        expected = emitted(seed, steps, traces=False, late=late)
    except MalformedPatternError:
        return
    assert emitted(seed, steps, traces=True, late=late) == expected


OVER_COLUMNS = (1, [([(key, n, n) for n in range(10) for key in "ab"], True), 5, "restart"], True)


@pytest.mark.takes_columns("ColumnFunction")
@example(*OVER_COLUMNS)
@given(st.integers(0, 2**32), st.lists(step, max_size=8), st.booleans())
def test_random_patterns(seed, steps, late):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedPatternWarning)
        compared(seed, steps, late)


@pytest.mark.thorough("thousands of patterns")
@pytest.mark.takes_columns("ColumnFunction")
@example(*OVER_COLUMNS)
@settings(max_examples=1500)
@given(st.integers(0, 2**32), st.lists(step, max_size=10), st.booleans())
def test_many_random_patterns(seed, steps, late):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnboundedPatternWarning)
        compared(seed, steps, late)


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
    """How many of the events with these numbers, one a ms, go through the NFA."""
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
