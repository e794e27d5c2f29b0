"""Generators that only note what elements are: a run at once gives what each element after the other gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import Watermark, WatermarkGenerator, WatermarkStrategy
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.eventtime.watermarks import WatermarkGeneratorContext
from flinkish.api.plan.operators import (
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.runtime.columns.timestamps import (
    ColumnSourceWatermarks,
    ColumnTimestampsAndWatermarks,
)
from flinkish.runtime.columns.tracing.event_fold import EventFold
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.operators.contexts import operator_context
from tests.runtime.windowing.operators import Recorder

DELAY = 3


class Noting(WatermarkGenerator[Any]):
    """Emits how far the highest timestamp is, less what ``delay`` says."""

    def __init__(self) -> None:
        self.highest = 0
        self.delay = 5

    def onPeriodicEmit(self, output):
        output.emitWatermark(Watermark(int(self.highest) - self.delay))


class ByMax(Noting):
    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)


class ByBranch(Noting):
    def onEvent(self, event, eventTimestamp, output):
        if eventTimestamp > self.highest:
            self.highest = eventTimestamp


class OfEvents(Noting):
    """Only elements of one kind count, and those by an external constant."""

    def onEvent(self, event, eventTimestamp, output):
        if event.mark >= 0:
            self.highest = max(self.highest, event.at - DELAY)


class Several(Noting):
    """A count, a sum, a first and a last value, a number that is no int, and a text."""

    def __init__(self) -> None:
        super().__init__()
        self.count, self.sum, self.last, self.lowest = 0, 0.5, 0, "z"
        self.marked = False

    def onEvent(self, event, eventTimestamp, output):
        self.count += 1
        self.sum = self.sum + event.at
        self.last = event.mark
        self.lowest = min(self.lowest, event.name)
        self.marked = self.marked or event.mark == 1
        self.highest = max(self.highest, eventTimestamp - self.delay)


class ByMethod(Noting):
    def _of(self, event, timestamp):
        return timestamp + event.mark

    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, self._of(event, eventTimestamp))


class Averages(Noting):
    """A generator that no fold can express: each step depends on the one before."""

    def onEvent(self, event, eventTimestamp, output):
        self.highest = (self.highest + eventTimestamp) // 2


class Property(Noting):
    """Writes what is no plain attribute."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[int] = []

    @property
    def kept(self):
        return self._kept

    @kept.setter
    def kept(self, value):
        self._kept.append(value)
        self.highest = max(self.highest, value)

    def onEvent(self, event, eventTimestamp, output):
        self.kept = eventTimestamp


class Late(Noting):
    """An attribute that is there after the first element only."""

    def onEvent(self, event, eventTimestamp, output):
        self.last = eventTimestamp
        self.highest = max(self.highest, self.last)


class Grows(Noting):
    """Leaves 64 bits."""

    def onEvent(self, event, eventTimestamp, output):
        self.highest = self.highest + event.at * 2**40


class Far(Noting):
    """Begins beyond 64 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.latest = -(10**30)

    def onEvent(self, event, eventTimestamp, output):
        self.latest = max(self.latest, eventTimestamp)
        self.highest = max(self.highest, eventTimestamp)


class Emits(Noting):
    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)
        if event.mark == 1:
            output.emitWatermark(Watermark(self.highest))


class HighestSoFar(Noting):
    """Emits with each element that is later than all before; nothing is known before the first."""

    def __init__(self) -> None:
        super().__init__()
        self.latest: int | None = None

    def onEvent(self, event, eventTimestamp, output):
        if self.latest is None or eventTimestamp > self.latest:
            self.latest = eventTimestamp
            output.emitWatermark(Watermark(eventTimestamp - self.delay - 1))


class EveryThird(Noting):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)
        self.seen += 1
        if self.seen % 3 == 0:
            output.emitWatermark(Watermark(self.highest - self.delay))


class Twice(Noting):
    """Two for some elements, of which the second does not rise always."""

    def onEvent(self, event, eventTimestamp, output):
        if event.mark >= 0:
            output.emitWatermark(Watermark(self.highest - 7))
        self.highest = max(self.highest, eventTimestamp)
        if event.mark != 0:
            output.emitWatermark(Watermark(event.at))


class OfTheLast(Noting):
    """The one before is the watermark."""

    def onEvent(self, event, eventTimestamp, output):
        output.emitWatermark(Watermark(timestamp=self.highest))
        self.highest = eventTimestamp


class Divides(Noting):
    """Fails for an element that the fold sees as well."""

    def __init__(self) -> None:
        super().__init__()
        self.highest = 1

    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)
        output.emitWatermark(Watermark(1000 // self.highest))


class Beyond(Noting):
    """Emits watermarks that 64 bits do not hold."""

    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)
        output.emitWatermark(Watermark(self.highest * 2**58))


class Rests(Noting):
    def onEvent(self, event, eventTimestamp, output):
        self.highest = max(self.highest, eventTimestamp)
        if event.mark == 1:
            output.markIdle()
        elif event.mark == -1:
            output.emitWatermark(Watermark(self.highest))


class Keeps(Noting):
    """Keeps an element."""

    def onEvent(self, event, eventTimestamp, output):
        self.event = event
        self.highest = max(self.highest, eventTimestamp)


class Writes(Noting):
    """Writes into an object that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.other = Counter()

    def onEvent(self, event, eventTimestamp, output):
        self.other.seen = eventTimestamp
        self.highest = max(self.highest, eventTimestamp)


class Counter:
    def __init__(self) -> None:
        self.seen = 0


EMITTING: list[Any] = [Emits, HighestSoFar, EveryThird, Twice, OfTheLast]
FOLDED: list[Any] = [ByMax, ByBranch, OfEvents, Several, ByMethod]
CALLED: list[Any] = [Averages, Property, Rests, Keeps, Writes]
ALL: list[Any] = [*FOLDED, *EMITTING, *CALLED, Late, Grows, Far, Divides]


class Seen:
    """An operator with what comes out of it."""

    def __init__(self, kind: type[Noting], traces: bool, splits: bool) -> None:
        self.found: list[Any] = []
        self.generators: list[Noting] = []
        output = Output()
        output.connect(Recorder("main", self.found), None)
        clock = ProcessingTimeService()
        context = operator_context("Timestamps/Watermarks", output, clock, tracesFunctions=traces)

        def generator(context: WatermarkGeneratorContext) -> Noting:
            self.generators.append(kind())
            return self.generators[-1]

        strategy = WatermarkStrategy.forGenerator(generator)
        timed = strategy.withTimestampAssigner(lambda row, timestamp: row.at * 2)
        self.operator: ColumnTimestampsAndWatermarks
        if splits:
            self.operator = ColumnSourceWatermarks(
                context, SourceWatermarksDescription(timed, splitOf=lambda row: row.name)
            )
        else:
            self.operator = ColumnTimestampsAndWatermarks(
                context, TimestampsAndWatermarksDescription(timed)
            )
        self.operator.open()

    def run(self, elements: list[tuple[int, int, str]]) -> None:
        columns = {
            "at": pa.array([at for at, _, _ in elements], pa.int64()),
            "mark": pa.array([mark for _, mark, _ in elements], pa.int64()),
            "name": pa.array([name for _, _, name in elements], pa.string()),
        }
        values = RowColumns(pa.RecordBatch.from_pydict(columns))
        records = Records(values, np.zeros(len(elements), np.int64))
        self.operator.expectRecords(records)
        self.operator.processRecords(records)
        self.operator.onPeriodicEmit()

    @property
    def noted(self) -> list[dict[str, Any]]:
        return [
            {n: v.seen if isinstance(v, Counter) else v for n, v in vars(generator).items()}
            for generator in self.generators
        ]


elements = st.tuples(st.integers(-9, 30), st.sampled_from([0, 0, 0, 1, -1]), st.sampled_from("abc"))
runs = st.lists(st.lists(elements, max_size=40), max_size=4)


@pytest.mark.parametrize("splits", [False, True])
@pytest.mark.parametrize("kind", ALL)
@given(runs=runs)
def test_a_run_at_once_notes_what_each_element_notes(
    kind: type[Noting], splits: bool, runs: list[list[tuple[int, int, str]]]
) -> None:
    sides = [Seen(kind, traces, splits) for traces in (True, False)]
    for run in runs:
        for side in sides:
            side.run(run)
        fast, general = sides
        assert fast.found == general.found
        assert fast.noted == general.noted
        assert str(fast.noted) == str(general.noted)  # 1 is not True here


@pytest.mark.parametrize("kind", FOLDED)
def test_these_are_never_called(kind: type[Noting], monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(kind, True, False)
    seen.run([(1, 1, "b"), (4, -1, "a")])
    fold = EventFold(kind())
    assert fold.possible
    assert fold.reason is None
    calls: list[int] = []
    monkeypatch.setattr(
        "flinkish.runtime.time.watermark_generation.WatermarkGeneration.onEvent",
        lambda self, event, timestamp, output: calls.append(timestamp),
    )
    seen.run([(5, 0, "b"), (7, 1, "c")])
    assert not calls
    with_splits = Seen(kind, True, True)
    with_splits.run([(5, 0, "b"), (7, 1, "c")])
    assert not calls
    assert len(with_splits.generators) == 2


@pytest.mark.parametrize("kind", EMITTING)
def test_these_are_called_for_the_first_element_at_most(
    kind: type[Noting], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert EventFold(kind()).reason is None
    seen = Seen(kind, True, False)
    seen.run([(1, 1, "b"), (4, -1, "a")])
    calls: list[int] = []
    monkeypatch.setattr(
        "flinkish.runtime.time.watermark_generation.WatermarkGeneration.onEvent",
        lambda self, event, timestamp, output: calls.append(timestamp),
    )
    seen.run([(n, n % 3 - 1, "b") for n in range(40)])
    assert not calls


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (Averages, "is no sum, count, minimum"),
        (Property, "elsewhere than in plain attributes"),
        (Rests, r"uses markIdle of its output"),
        (Keeps, "elsewhere than in plain attributes"),
        (Writes, "elsewhere than in plain attributes"),
    ],
)
def test_why_others_are_called(kind: type[Noting], reason: str) -> None:
    fold = EventFold(kind())
    columns = pa.RecordBatch.from_pylist([{"at": 1, "mark": 1, "name": "b"}])
    assert not fold.note(RowColumns(columns), np.array([2]))
    assert re.search(reason, str(fold.reason)), fold.reason


@pytest.mark.parametrize("traces", [True, False])
def test_a_watermark_beyond_64_bits_is_refused(traces: bool) -> None:
    seen = Seen(Beyond, traces, False)
    with pytest.raises(IllegalArgumentError, match=r"Watermark\(timestamp=9223372036854775808\)"):
        seen.run([(3, 0, "a"), (16, 0, "b"), (4, 0, "c")])


def test_external_constants_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, general = Seen(OfEvents, True, False), Seen(OfEvents, False, False)
    for seen in (fast, general):
        seen.run([(5, 0, "b")])
    monkeypatch.setitem(globals(), "DELAY", -100)
    for seen in (fast, general):
        seen.run([(5, 0, "b")])
        assert seen.generators[0].highest == 105
    assert fast.found == general.found


def test_elements_that_are_no_columns() -> None:
    """Timestamps alone are enough for most generators."""
    generator = ByMax()
    assert EventFold(generator).note(["a", object()], np.array([5, 9]))
    assert generator.highest == 9
    assert not EventFold(OfEvents()).note(["a", object()], np.array([5, 9]))
