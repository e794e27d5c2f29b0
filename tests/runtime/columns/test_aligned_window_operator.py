"""The aligned window operator gives what the general one gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    EventTimeTrigger,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from flinkish.api.errors import MissingTimestampError, UserFunctionError
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.plan.window_operator import WindowOperatorDescription, apply_call, process_call
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from flinkish.runtime.columns import aligned_windows
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.windowing.window_operator import WindowOperator
from tests.runtime.windowing.operators import LATE, SIDE, Element, Recorder, WindowOperatorDriver
from tests.runtime.windowing.streams import (
    BY_ORDER,
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
    without_names,
)


@pytest.fixture(autouse=True)
def _few_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligned_windows, "LEAST_LATE", 1)


class Firings(ProcessWindowFunction):
    """Counts its calls in per-window and in global state, also those of ``clear``."""

    COUNT = ValueStateDescriptor("count")

    def process(self, key, context, elements, out):
        context.output(SIDE, (key, context.window(), context.currentWatermark()))
        out.collect((key, context.window(), list(elements), *self._count(context)))

    def clear(self, context):
        self._count(context)
        context.windowState().getState(self.COUNT).clear()

    def _count(self, context):
        for states in (context.windowState(), context.globalState()):
            count = states.getState(self.COUNT)
            count.update((count.value() or 0) + 1)
            yield count.value()


FUNCTIONS = [
    {"aggregation": joined},
    {"aggregation": Digest()},
    {"call": apply_call(listed)},
    {"aggregation": Digest(), "call": apply_call(listed)},
    {"function": Firings(), "call": process_call(Firings())},
]


OF_COLUMNS = [
    {"aggregation": Totals()},
    {"aggregation": Means()},
    {"aggregation": LargeTotals()},
    {"aggregation": Totals(), "call": apply_call(listed)},
    {"aggregation": SumAggregator(1)},
    {"aggregation": ComparableAggregator(1, "maxBy", first=False)},
    {"aggregation": lambda a, b: (a[0], max(a[1], b[1]))},
    {"aggregation": lambda a, b: max(a, b, key=lambda value: (value[1] % 3, -value[1]))},
    {"aggregation": lambda a, b: max(a, b, key=lambda value: (value[0], -value[1]))},
    *({"aggregation": Totals(), **function} for function in WINDOW_FUNCTIONS),
    *BY_ORDER,
]


@st.composite
def descriptions(draw: st.DrawFn, functions: Any = FUNCTIONS) -> WindowOperatorDescription:
    size, slide = draw(st.integers(1, 20)), draw(st.integers(1, 25))
    kind = draw(st.sampled_from(["tumbling", "sliding", "tumbling", "sliding", "endless"]))
    if kind == "endless":
        assigner: Any = TumblingEventTimeWindows.of(MAX_TIMESTAMP - size)
    elif kind == "tumbling":
        assigner = TumblingEventTimeWindows.of(size, draw(st.integers(1 - size, size - 1)))
    else:
        offset = draw(st.integers(1 - slide, slide - 1))
        assigner = SlidingEventTimeWindows.of(size, slide, offset)
    lateness = draw(st.just(0) | st.integers(0, 30) | st.just(MAX_TIMESTAMP))
    tag = draw(st.sampled_from([LATE, None]))
    description = WindowOperatorDescription(
        assigner, EventTimeTrigger.create(), None, lateness, tag
    )
    return replace(description, **draw(st.sampled_from(functions)))


@pytest.mark.parametrize("paged", [False, True])
@given(description=descriptions(), steps=st.lists(steps, max_size=12))
def test_gives_what_the_general_operator_gives(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    aligned = WindowOperatorDriver(AlignedWindowOperator, description, paged)
    general = WindowOperatorDriver(WindowOperator, description)
    assert run(aligned, steps) == run(general, steps)


SUMS = replace(
    WindowOperatorDescription(SlidingEventTimeWindows.of(12, 6), EventTimeTrigger.create()),
    **OF_COLUMNS[0],
)
"""A drawn example may consist of functions that cannot be vectorised, or have too few elements; this one never does."""

LATE_ONES = [(key, n, n % 12) for n in range(20) for key in "abc"]
"""Several elements of a key and window, also of a key that the windows do not have yet."""

of_two_keys = st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(-30, 70))
many_a_key = st.lists(of_two_keys, min_size=9, max_size=24)


@pytest.mark.takes_columns("ColumnFold")
@pytest.mark.parametrize("paged", [False, True])
@given(
    description=descriptions([*FUNCTIONS, *OF_COLUMNS, *OF_COLUMNS]),
    steps=st.lists(many_a_key | steps, max_size=8),
)
@example(description=SUMS, steps=[[(key, n, n) for n in range(12) for key in "ab"], 30])
@example(
    description=replace(SUMS, allowedLateness=9, lateDataOutputTag=LATE),
    steps=[0, LATE_ONES[:9], 30, LATE_ONES, "restart", LATE_ONES, 10, LATE_ONES, "end"],
)
def test_gives_the_same_of_columns_with_many_elements_a_key(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    aligned = WindowOperatorDriver(AlignedWindowOperator, description, paged, True)
    general = WindowOperatorDriver(WindowOperator, description)
    of_columns, expected = run(aligned, steps), run(general, steps)
    assert [(by_time(m), m.due) for m in of_columns] == [(by_time(m), m.due) for m in expected]
    for moment, other in zip(of_columns, expected):
        # A key counts in each run of columns, and elements are in the state from the end of the batch on
        assert moment.timers >= other.timers
        assert (moment.timers > 0, moment.entries > 0) <= (other.timers > 0, other.entries > 0)


def _updates(
    kind: Any, function: dict[str, Any], assigner: Any, columns: bool = True
) -> list[tuple[Any, ...]]:
    """The output for late elements of windows that have fired, and of windows that are new."""
    description = WindowOperatorDescription(
        assigner, EventTimeTrigger.create(), allowedLateness=20, lateDataOutputTag=LATE, **function
    )
    driver = WindowOperatorDriver(kind, description, True, columns)
    driver.process([(key, (key, n), n) for n in range(12, 24) for key in "ab"])
    driver.watermark(25)
    driver.output.clear()
    driver.process([(key, (key, n), at - 6) for key, n, at in LATE_ONES])
    driver.process([(key, (key, n), at * 3) for key, n, at in LATE_ONES])
    return driver.output


@pytest.mark.parametrize(
    "function",
    [OF_COLUMNS[0], OF_COLUMNS[4], *BY_ORDER[:2], BY_ORDER[3]]
    + [{"aggregation": Totals(), **function} for function in WINDOW_FUNCTIONS],
)
@pytest.mark.parametrize("assigner", [SUMS.assigner, TumblingEventTimeWindows.of(12)])
def test_late_elements_update_windows_as_columns(
    function: dict[str, Any], assigner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the updates in the order of the elements."""
    expected = _updates(WindowOperator, function, assigner)
    monkeypatch.delattr(AlignedWindowOperator, "_add_and_fire")
    found = _updates(AlignedWindowOperator, function, assigner)
    for label in ("main", "late"):
        updates = [each for each in found if each[0] == label]
        assert updates == [each for each in expected if each[0] == label] != []


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (OF_COLUMNS[0], False),
        ({"aggregation": LargeTotals()}, True),
        ({"aggregation": Digest()}, True),
        ({"aggregation": Totals(), "call": apply_call(listed)}, True),
        ({"call": apply_call(listed)}, True),
    ],
)
def test_other_late_elements_are_added_singly(
    function: dict[str, Any], columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = []
    add = AlignedWindowOperator._add_and_fire

    def noted(operator: Any, *arguments: Any) -> None:
        added.append(arguments)
        add(operator, *arguments)

    monkeypatch.setattr(AlignedWindowOperator, "_add_and_fire", noted)
    _updates(AlignedWindowOperator, function, TumblingEventTimeWindows.of(12), columns)
    assert added


def _at_once(start: int, elements: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    return [(key, number, start + time) for key, number, time in elements]


at_once = st.builds(
    _at_once,
    st.integers(-30, 70) | st.sampled_from([MIN_TIMESTAMP + 1, MAX_TIMESTAMP - 11]),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 11)),
        min_size=24,
        max_size=60,
    ),
)
"""Elements of few panes, which are worth to be folded before the shuffle."""


@st.composite
def of_panes(draw: st.DrawFn) -> WindowOperatorDescription:
    slide = draw(st.integers(6, 20))
    size = slide * draw(st.integers(1, 3))
    assigner = SlidingEventTimeWindows.of(size, slide, draw(st.integers(0, slide - 1)))
    description = WindowOperatorDescription(assigner, EventTimeTrigger.create())
    return replace(description, **draw(st.sampled_from(OF_COLUMNS)))


@pytest.mark.takes_columns("ColumnFold")
@pytest.mark.parametrize("paged", [False, True])
@given(description=of_panes(), steps=st.lists(at_once | at_once | steps, max_size=8))
@example(description=SUMS, steps=[[(key, n, n) for n in range(12) for key in "ab"], 30])
def test_gives_the_same_of_what_was_folded_before_the_shuffle(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    aligned = WindowOperatorDriver(AlignedWindowOperator, description, paged, True, folds=True)
    general = WindowOperatorDriver(WindowOperator, description)
    of_columns, expected = run(aligned, steps), run(general, steps)
    assert [(by_time(m), m.due) for m in of_columns] == [(by_time(m), m.due) for m in expected]


@pytest.mark.parametrize("function", [OF_COLUMNS[0], *OF_COLUMNS[3:6]])
def test_what_is_folded_before_the_shuffle_is_folded_once_more(function: dict[str, Any]) -> None:
    description = WindowOperatorDescription(
        TumblingEventTimeWindows.of(10), EventTimeTrigger.create(), **function
    )
    driver = WindowOperatorDriver(AlignedWindowOperator, description, columns=True, folds=True)
    driver.process([(key, (key, n), n) for n in range(20) for key in "ab"])
    assert (driver.rowsFolded, driver.rowsJoined) == (4, 4)
    driver.process([(key, (key, n), n % 10) for n in range(20) for key in "ab"])
    assert (driver.rowsFolded, driver.rowsJoined) == (8, 6)


def _of_types(operator: Any, columns: bool, function: dict[str, Any], paged: bool) -> Any:
    """Return the output where the numbers are of one type first, and then of another."""
    description = WindowOperatorDescription(
        SlidingEventTimeWindows.of(20, 10), EventTimeTrigger.create(), **function
    )
    driver = WindowOperatorDriver(operator, description, paged, columns)
    for numbers in (pa.int32(), pa.int64(), pa.int32(), pa.int8()):
        driver.numberType = numbers
        driver.process([(key, (key, n % 9), n) for n in range(20) for key in "ab"])
        driver.process([("a", ("a", 7), 3)])
        if numbers == pa.int64():
            driver.restart()
    driver.watermark(100)
    return sorted(map(repr, map(without_names, driver.output)))


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("function", [*OF_COLUMNS, {"call": apply_call(listed)}])
def test_columns_may_be_of_different_types(paged: bool, function: dict[str, Any]) -> None:
    """As in a union of two streams."""
    ours = _of_types(AlignedWindowOperator, True, function, paged)
    assert ours == _of_types(WindowOperator, False, function, paged)


class Sum(Totals):
    base = 0

    def createAccumulator(self):
        return self.base

    def add(self, value, accumulator):
        return accumulator + value[1]

    def merge(self, a, b):
        return a + b

    def getResult(self, accumulator):
        return accumulator


class Most(Sum):
    def add(self, value, accumulator):
        return max(accumulator, value[1])


class FromFive(Sum):
    base = 5


@pytest.mark.parametrize(
    ("before", "after"),
    list(permutations([Sum, Most, FromFive], 2)),
    ids=lambda kind: kind.__name__,
)
def test_a_changed_function_goes_on_with_its_accumulators(before: Any, after: Any) -> None:
    def result(operator: Any, columns: bool) -> Any:
        window, trigger = TumblingEventTimeWindows.of(1000), EventTimeTrigger.create()
        first, then = (
            WindowOperatorDescription(window, trigger, aggregation=kind())
            for kind in (before, after)
        )
        driver = WindowOperatorDriver(operator, first, True, columns)
        driver.process([("a", ("a", n), n) for n in range(1, 11)])
        driver.restart(then)
        driver.process([("a", ("a", n), n) for n in range(1, 11)])
        driver.watermark(2000)
        return driver.output[0]

    assert result(AlignedWindowOperator, True) == result(WindowOperator, False)


class Scaled(Sum):
    base: Any = 0.0
    scale = 1.0

    def add(self, value, accumulator):
        return accumulator + value[1] * self.scale


def test_elements_are_folded_with_the_attributes_of_their_time() -> None:
    function = Scaled()
    driver = _driver(columns=True, aggregation=function)
    driver.process([(key, (key, 1), 1) for key in "abcdefghijklmnopqrstuvwxyz"])
    for scale in (10.0, 1.0):
        driver.operator.onPeriodicEmit()
        function.scale = scale
        driver.process([("a", ("a", 1), 4)])
    driver.watermark(9)
    assert driver.output[0] == ("main", 12.0, 9)


def test_an_error_names_the_element_of_columns() -> None:
    def fragile(a, b):
        return a if b[1] < 7 else a / 0

    driver = _driver(columns=True, aggregation=fragile)
    with pytest.raises(UserFunctionError, match=r"Row\(key='a', number=7\)"):
        driver.process([(key, (key, n), n) for n in range(9) for key in "ab"])


def _driver(columns: bool = False, **changes: Any) -> WindowOperatorDriver:
    description = WindowOperatorDescription(
        TumblingEventTimeWindows.of(10), EventTimeTrigger.create(), lateDataOutputTag=LATE
    )
    return WindowOperatorDriver(
        AlignedWindowOperator, replace(description, **changes), columns=columns
    )


def test_an_element_without_a_timestamp_is_refused_by_name() -> None:
    driver = _driver(aggregation=joined)
    run: list[Element] = [("a", ("a", 1), 5), ("b", ("b", 2), MIN_TIMESTAMP)]
    with pytest.raises(MissingTimestampError, match=r"\('b', 2\).*assignTimestampsAndWatermarks"):
        driver.process(run)


@pytest.mark.parametrize("stamps", [(1, 2, 3), (1, 12, 3)])
def test_an_error_names_the_element_whatever_therun(stamps: tuple[int, int, int]) -> None:
    def fragile(a, b):
        raise ZeroDivisionError("no")

    driver = _driver(aggregation=fragile)
    with pytest.raises(UserFunctionError, match=r"Window: .* ZeroDivisionError: no .*third"):
        driver.process(
            [
                ("a", "first", stamps[0]),
                ("b", "second", stamps[1]),
                ("a", "third", stamps[2]),
                ("c", "fourth", stamps[2]),
            ]
        )


def test_an_error_of_a_firing_names_key_and_window() -> None:
    def fragile(key, window, elements):
        return [1 // 0]

    driver = _driver(call=apply_call(fragile))
    driver.process([("a", 1, 5)])
    with pytest.raises(UserFunctionError, match=r"'a'.*TimeWindow\(start=0, end=10\)"):
        driver.watermark(9)


def test_an_error_of_a_firing_of_columns_names_key_and_window() -> None:
    def fragile(key, window, elements):
        return [(key, 1 // (window.end - 20)) for _ in elements]

    driver = _driver(columns=True, aggregation=Totals(), call=apply_call(fragile))
    driver.process([("a", ("a", n), n) for n in range(20)])
    driver.watermark(9)
    assert driver.output[:1] == [("main", ("a", -1), 9)]
    with pytest.raises(UserFunctionError, match=r"'a'.*TimeWindow\(start=10, end=20\)"):
        driver.watermark(19)


class RunRecorder(Recorder):
    """Keeps the runs of records as they come."""

    def __init__(self) -> None:
        super().__init__("main", [])
        self.runs: list[Records] = []

    def processRecords(self, records: Records) -> None:
        self.runs.append(records)


@pytest.mark.parametrize("function", WINDOW_FUNCTIONS)
def test_window_functions_run_over_columns(function: dict[str, Any]) -> None:
    """Each emits all that it emits of the keys of a window as one run of columns."""
    driver = _driver(columns=True, aggregation=Totals(), **function)
    driver.process([(key, (key, n), n) for n in range(30) for key in "abc"])
    recorder = RunRecorder()
    driver.operator.output.connect(recorder)
    driver.watermark(24)
    assert 1 <= len(recorder.runs) <= 2
    assert all(isinstance(run.values, RowColumns) for run in recorder.runs)


def test_windows_are_dropped_whole_and_leave_nothing() -> None:
    driver = _driver(aggregation=joined, allowedLateness=5)
    driver.process([(f"key {n}", ("v", n), n % 30) for n in range(300)])
    assert driver.operator.numEventTimeTimers() == 600
    driver.watermark(9)
    assert driver.operator.numEventTimeTimers() == 500
    assert driver.operator.nextEventTimeTimer() == 14
    driver.watermark(100)
    assert driver.operator.numEventTimeTimers() == driver.numEntries() == 0
    assert driver.operator.nextEventTimeTimer() is None
