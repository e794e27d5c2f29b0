"""The session window operator gives what the general one gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from flinkish import (
    Duration,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    OutputTag,
    Row,
    SessionWindowTimeGapExtractor,
)
from flinkish.api.errors import IllegalArgumentError
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.plan.window_operator import WindowOperatorDescription, apply_call
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns import session_columns
from flinkish.runtime.columns.session_windows import ColumnSessionWindows
from flinkish.runtime.records.frames import Frame, Marks
from flinkish.runtime.records.keys import ColumnKeys, KeyHashes
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.windowing.window_operator import WindowOperator
from tests.runtime.windowing.operators import WindowOperatorDriver
from tests.runtime.windowing.streams import (
    WINDOW_FUNCTIONS,
    Digest,
    LargeTotals,
    Means,
    Totals,
    by_time,
    joined,
    listed,
    run,
    steps,
    timestamps,
)

FUNCTIONS: list[dict[str, Any]] = [
    {"aggregation": joined},
    {"aggregation": Digest()},
    {"call": apply_call(listed)},
    {"aggregation": Digest(), "call": apply_call(listed)},
]


class Sums(Totals):
    """Sums and extremes that may be merged in any order."""

    def createAccumulator(self):
        return (0, 0, 99, -1)

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])


class MergedOtherwise(Sums):
    """The sum of two sessions that become one is one more."""

    def merge(self, a, b):
        return a[0] + b[0] + 1, a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])


class Latest(Sums):
    """A count, the last number, and the first of the elements with the highest."""

    def createAccumulator(self):
        return (0, -1, "", -1)

    def add(self, value, accumulator):
        count, _, best, highest = accumulator
        number = value[1]
        best = value[0] + "!" if number > highest else best
        return count + 1, number, best, max(highest, number)

    def merge(self, a, b):
        return a[0] + b[0], b[1], b[2] if b[3] > a[3] else a[2], max(a[3], b[3])

    def getResult(self, accumulator):
        return accumulator


OF_COLUMNS: list[dict[str, Any]] = [
    {"aggregation": Sums()},
    {"aggregation": Sums(), "call": apply_call(listed)},
    {"aggregation": MergedOtherwise()},
    {"aggregation": Latest()},
    {"aggregation": lambda a, b: Row(key=b[0], number=a[1] + b[1])},
    {"aggregation": lambda a, b: Row(key=a[0], number=a[1] + b[1] * 2)},
    {"aggregation": Totals()},
    {"aggregation": Means()},
    {"aggregation": LargeTotals()},
    {"aggregation": SumAggregator(1)},
    {"aggregation": ComparableAggregator(1, "maxBy", first=False)},
    {"aggregation": lambda a, b: (a[0], max(a[1], b[1]))},
    {"aggregation": lambda a, b: max(a, b, key=lambda value: (value[0], -value[1]))},
    *({"aggregation": Sums(), **function} for function in WINDOW_FUNCTIONS),
]


@st.composite
def descriptions(draw: st.DrawFn, functions: Any = FUNCTIONS) -> WindowOperatorDescription:
    if draw(st.booleans()):
        assigner: Any = EventTimeSessionWindows.withGap(draw(st.integers(1, 15)))
    else:
        assigner = EventTimeSessionWindows.withDynamicGap(lambda value: value[1] + 1)
    description = WindowOperatorDescription(
        assigner,
        EventTimeTrigger.create(),
        allowedLateness=draw(st.just(0) | st.integers(0, 30)),
        lateDataOutputTag=draw(st.sampled_from([OutputTag("late"), None])),
    )
    return replace(description, **draw(st.sampled_from(functions)))


def _may_end_together(description: WindowOperatorDescription, steps: list[Any]) -> bool:
    """Two sessions of a key end at one time only if one passes the largest timestamp, and the order
    of such two is open."""
    elements = [element for step in steps if isinstance(step, list) for element in step]
    dynamic = isinstance(description.assigner, DynamicEventTimeSessionWindows)
    return dynamic and any(at + number + 1 > MAX_TIMESTAMP for _, number, at in elements)


@pytest.mark.parametrize("paged", [False, True])
@given(description=descriptions(), steps=st.lists(steps, max_size=12))
def test_gives_what_the_general_operator_gives(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    assume(not _may_end_together(description, steps))
    sessions = WindowOperatorDriver(ColumnSessionWindows, description, paged)
    general = WindowOperatorDriver(WindowOperator, description)
    for mine, theirs in zip(run(sessions, steps), run(general, steps)):
        assert (mine.seen, mine.timers, mine.entries) == (
            theirs.seen,
            theirs.timers,
            theirs.entries,
        )
        assert mine.due is not None or theirs.due is None
        assert theirs.due is None or (mine.due or 0) <= theirs.due


near = st.tuples(st.sampled_from("abc"), st.integers(0, 9), timestamps)
several = st.lists(near, min_size=5, max_size=24)


SUMS = replace(
    WindowOperatorDescription(EventTimeSessionWindows.withGap(5), EventTimeTrigger.create()),
    **OF_COLUMNS[0],
)
"""A drawn example may consist of functions that cannot be vectorised; this one never does."""
SHORTEST = 1
DYNAMIC = replace(
    SUMS, assigner=EventTimeSessionWindows.withDynamicGap(lambda value: value[1] + SHORTEST)
)
GROWN = [("a", 0, 1), ("a", 0, 2)]
"""A session that has grown to be just as long as the window of ("a", 1, 1)."""


@pytest.mark.takes_columns("ColumnFold")
@pytest.mark.parametrize("paged", [False, True])
@given(
    description=descriptions([*FUNCTIONS, *OF_COLUMNS, *OF_COLUMNS]),
    steps=st.lists(several | several | steps, max_size=10),
)
@example(description=SUMS, steps=[[(key, n, n) for n in range(12) for key in "ab"], 30])
@example(description=SUMS, steps=[[(key, n, n * 5) for n in range(12) for key in "ab"], 99])
@example(description=DYNAMIC, steps=[[(key, n, n) for n in range(12) for key in "ab"], 0, 9, "end"])
@example(description=DYNAMIC, steps=[[*GROWN, ("a", 1, 1)], "end"])
@example(description=DYNAMIC, steps=[[*GROWN, ("b", 3, 1)], "restart", [("a", 1, 1)], "end"])
@example(description=DYNAMIC, steps=[GROWN, [("a", 1, 1), ("a", 0, 3)], "end"])
@example(description=DYNAMIC, steps=[[("a", 3, 5), ("a", 9, 1), ("a", 9, 1), ("a", 0, 8)], "end"])
def test_gives_the_same_of_columns(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    assume(not _may_end_together(description, steps))
    sessions = WindowOperatorDriver(ColumnSessionWindows, description, paged, columns=True)
    general = WindowOperatorDriver(WindowOperator, description)
    for mine, theirs in zip(run(sessions, steps), run(general, steps)):
        assert (by_time(mine), mine.timers) == (by_time(theirs), theirs.timers)
        assert (mine.entries > 0) == (theirs.entries > 0)
        assert mine.due is not None or theirs.due is None
        assert theirs.due is None or (mine.due or 0) <= theirs.due


@pytest.mark.parametrize("paged", [False, True])
def test_sessions_of_columns_go_on_where_functions_are_no_longer_traced(paged: bool) -> None:
    description = WindowOperatorDescription(
        EventTimeSessionWindows.withGap(10), EventTimeTrigger.create(), aggregation=Sums()
    )
    driver = WindowOperatorDriver(ColumnSessionWindows, description, paged, columns=True)
    driver.process([(key, (key, 3), at) for at in (0, 5, 40) for key in "ab"])
    driver.restart()
    driver.operator.tracesFunctions = False
    driver.process([("a", ("a", 4), 12)])
    driver.watermark(MAX_TIMESTAMP)
    sums = {(value[0], at) for label, value, at in driver.output[:-1] if label == "main"}
    assert sums == {(3, 21), (3, 14), (3, 49)}
    assert len(driver.output) == 5
    assert driver.operator.numEventTimeTimers() == driver.numEntries() == 0


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return SHORTEST + element[1]


@pytest.fixture
def processed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The elements that are processed one by one."""
    found: list[Any] = []
    process = ColumnSessionWindows._process_element

    def counted(operator: Any, value: Any, timestamp: int) -> None:
        found.append(value)
        process(operator, value, timestamp)

    monkeypatch.setattr(ColumnSessionWindows, "_process_element", counted)
    return found


@pytest.mark.parametrize(
    ("gap", "singly"),
    [
        (Gap(), 0),
        (lambda value: 5, 0),
        (lambda value: 5 if value[0] == "a" else 7, 0),
        (lambda value: Duration.ofMillis(5), 24),
        (lambda value: 2**62, 24),
        (lambda value: hash(value[1]) + 1, 24),
    ],
)
def test_gaps_are_computed_as_columns(gap: Any, singly: int, processed: list[Any]) -> None:
    description = replace(SUMS, assigner=EventTimeSessionWindows.withDynamicGap(gap))
    driver = WindowOperatorDriver(ColumnSessionWindows, description, columns=True)
    driver.process([(key, (key, n), n) for n in range(12) for key in "ab"])
    assert len(processed) == singly


LISTED = replace(SUMS, aggregation=None, call=apply_call(listed))
ORDERED: list[Any] = [
    None,
    MergedOtherwise(),
    Means(),
    Latest(),
    lambda a, b: Row(key=a.key, number=a.number + b.number),
    lambda a, b: b if b[1] > a[1] else a,
    SumAggregator(1),
    ComparableAggregator(1, "minBy", first=False),
]


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("assigner", [SUMS.assigner, DYNAMIC.assigner])
@pytest.mark.parametrize("function", ORDERED)
def test_sessions_that_merge_stay_columns(
    paged: bool,
    assigner: Any,
    function: Any,
    processed: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over batches and restarts; with too many merges, they are kept one by one."""
    listing = replace(LISTED, assigner=assigner)
    description = replace(listing, aggregation=function, call=None) if function else listing

    def results(kind: Any) -> list[Any]:
        driver = WindowOperatorDriver(kind, description, paged, columns=True)
        driver.process([(key, (key, 4 - n % 3), 20 + n - n % 3) for n in range(9) for key in "ab"])
        driver.restart()
        driver.process([(key, (key, 7), 30) for key in "abc"])
        driver.watermark(29)
        driver.process([("a", ("a", 5), 33), ("a", ("a", 6), 60), ("b", ("b", 9), 31)])
        driver.process([("b", ("b", n), at) for n, at in ((3, 70), (5, 61), (8, 65), (4, 50))])
        driver.process([("b", ("b", 9), at) for at in (45, 40, 58, 36, 55)])
        driver.watermark(MAX_TIMESTAMP)
        return sorted(map(repr, driver.output))

    assert results(ColumnSessionWindows) == results(WindowOperator)
    assert not processed
    monkeypatch.setattr(session_columns, "MOST_DEEP", 0)
    assert results(ColumnSessionWindows) == results(WindowOperator)
    assert bool(processed) == (description is not listing)


@pytest.mark.parametrize("description", [SUMS, LISTED])
def test_a_session_that_ended_before_a_run_is_not_extended(
    description: WindowOperatorDescription,
) -> None:
    """A frame may begin with the watermark that ends it."""
    driver = WindowOperatorDriver(ColumnSessionWindows, description, columns=True)
    driver.process([("a", ("a", 1), 10)])
    values = RowColumns(pa.RecordBatch.from_pydict({"key": ["a"], "number": [2]}))
    hashes = KeyHashes().column(["a"])
    records = Records(values, timestamps_of([14]), ColumnKeys(values, 0), hashes)
    driver.operator.processFrame(Frame(records, Marks.of(np.array([0]), [15])))
    driver.watermark(MAX_TIMESTAMP)
    assert [record[2] for record in driver.output if record[0] == "main"] == [14, 18]


def test_a_gap_of_a_run_that_is_not_above_zero_is_refused_by_name() -> None:
    assigner = EventTimeSessionWindows.withDynamicGap(lambda value: value[1] - 3)
    driver = WindowOperatorDriver(
        ColumnSessionWindows, replace(SUMS, assigner=assigner), columns=True
    )
    with pytest.raises(IllegalArgumentError, match=r"number=3\) is 0 ms, but must be"):
        driver.process([("a", ("a", n), n) for n in (9, 3, 2)])


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("descriptions", [(SUMS, DYNAMIC, SUMS), (DYNAMIC, SUMS, DYNAMIC)])
def test_sessions_go_on_under_another_gap(paged: bool, descriptions: Any) -> None:
    def results(kind: Any, columns: bool) -> Any:
        driver = WindowOperatorDriver(kind, descriptions[0], paged, columns)
        for start, description in zip((0, 20, 40), descriptions):
            driver.restart(description)
            driver.process([(key, (key, n % 4), start + n) for n in range(20) for key in "ab"])
        driver.watermark(MAX_TIMESTAMP)
        return sorted(map(repr, driver.output)), driver.numEntries()

    assert results(ColumnSessionWindows, True) == results(WindowOperator, False)


@pytest.mark.parametrize("paged", [False, True])
def test_timers_of_columns_count_under_another_lateness(paged: bool) -> None:
    description = WindowOperatorDescription(
        EventTimeSessionWindows.withGap(10), EventTimeTrigger.create(), aggregation=Sums()
    )
    driver = WindowOperatorDriver(ColumnSessionWindows, description, paged, columns=True)
    driver.process([(key, (key, 3), at) for at in (0, 40) for key in "ab"])
    assert driver.operator.numEventTimeTimers() == 4
    driver.restart(replace(description, allowedLateness=5))
    assert driver.operator.numEventTimeTimers() == 8
    driver.watermark(MAX_TIMESTAMP)
    assert driver.operator.numEventTimeTimers() == driver.numEntries() == 0


def test_a_session_that_grows_keeps_its_timer() -> None:
    description = WindowOperatorDescription(
        EventTimeSessionWindows.withGap(10), EventTimeTrigger.create(), aggregation=joined
    )
    driver = WindowOperatorDriver(ColumnSessionWindows, description)
    driver.process([("a", ("a", n), n) for n in range(100)])
    assert driver.operator.numEventTimeTimers() == 1
    assert driver.operator.nextEventTimeTimer() == 9
    driver.watermark(50)
    assert driver.operator.nextEventTimeTimer() == 108
    driver.watermark(MAX_TIMESTAMP)
    assert driver.operator.numEventTimeTimers() == driver.numEntries() == 0
