"""Windows under Flink's triggers give over columns what they give element by element."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    GlobalWindows,
    OutputTag,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from flinkish.api.errors import FlinkishError
from flinkish.api.functions.aggregations import ComparableAggregator, SumAggregator
from flinkish.api.plan.window_operator import WindowOperatorDescription, apply_call, process_call
from flinkish.api.windowing.assigners import InProcessingTime
from flinkish.runtime.columns import delta_firings, evicting_windows, triggered_windows
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.evicting_windows import ColumnEvictingWindows
from flinkish.runtime.columns.triggered_windows import ColumnWindowOperator
from flinkish.runtime.windowing import pane_elements
from flinkish.runtime.windowing.window_contents import TABLE
from flinkish.runtime.windowing.window_operator import EvictingWindowOperator, WindowOperator
from tests.column_counts import counted_runs
from tests.runtime.columns.test_eviction import evictors
from tests.runtime.windowing.operators import WindowOperatorDriver
from tests.runtime.windowing.streams import (
    BY_ORDER,
    WINDOW_FUNCTIONS,
    Digest,
    LargeTotals,
    Means,
    Totals,
    listed,
    steps,
    take,
    timestamps,
)


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggered_windows, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(triggered_windows, "_ELEMENTS_A_PANE", 1)
    monkeypatch.setattr(triggered_windows, "_ELEMENTS_A_ROUND", 1)
    monkeypatch.setattr(triggered_windows, "LEAST_COLUMNS", 1)
    monkeypatch.setattr(pane_elements, "LEAST_COLUMNS", 2)
    monkeypatch.setattr(pane_elements, "ENCODED_AT_ONCE", 6)


def _last(key, context, elements):
    return [(key, context.window().maxTimestamp(), each) for each in elements]


class Halves(Totals):
    """Totals without a result for some."""

    def getResult(self, accumulator):
        return accumulator[0] // 2 if accumulator[0] % 2 else None


FUNCTIONS: list[dict[str, Any]] = [
    {"aggregation": Totals()},
    {"aggregation": Means()},
    {"aggregation": LargeTotals()},
    {"aggregation": Halves()},
    {"aggregation": Digest()},
    {"aggregation": SumAggregator(1)},
    {"aggregation": ComparableAggregator(1, "maxBy", first=False)},
    {"aggregation": lambda a, b: (a[0], max(a[1], b[1]))},
    {"aggregation": Totals(), "call": process_call(_last)},
    {"aggregation": Totals(), "call": apply_call(listed)},
    {"call": apply_call(listed)},
    *BY_ORDER,
]
ASSIGNERS: list[Any] = [
    TumblingEventTimeWindows.of(20),
    TumblingEventTimeWindows.of(7, 3),
    SlidingEventTimeWindows.of(12, 4),
    SlidingEventTimeWindows.of(9, 4, 1),
    GlobalWindows.create(),
    TumblingProcessingTimeWindows.of(10),
    SlidingProcessingTimeWindows.of(10, 4),
    SlidingProcessingTimeWindows.of(4, 6),
    ProcessingTimeSessionWindows.withGap(7),
]
WITH_GAPS = SlidingEventTimeWindows.of(4, 6)
COUNTS = st.builds(CountTrigger.of, st.integers(0, 6))


def distance(one: Any, other: Any) -> Any:
    return abs(other[1] - one[1])


def ratio(one: Any, other: Any) -> Any:
    """Raises where there is no number."""
    return other[1] / one[1]


DELTAS = st.builds(
    DeltaTrigger.of,
    st.integers(0, 6) | st.just(0.5),
    st.sampled_from([distance, distance, ratio, lambda one, other: other[1] - one[1]]),
)
TIMEOUTS = st.builds(
    ProcessingTimeoutTrigger.of,
    COUNTS | COUNTS.map(PurgingTrigger.of),
    st.integers(1, 30),
    st.booleans(),
    st.booleans(),
)


@st.composite
def descriptions(draw: st.DrawFn) -> WindowOperatorDescription:
    assigner = draw(st.sampled_from([*ASSIGNERS, WITH_GAPS]))
    functions, triggers = FUNCTIONS, COUNTS | st.just(ContinuousProcessingTimeTrigger.of(6))
    if isinstance(assigner, GlobalWindows):
        assigner = draw(st.sampled_from([assigner, GlobalWindows.createWithEndOfStreamTrigger()]))
    else:
        functions = [*FUNCTIONS, *({"aggregation": Totals(), **of} for of in WINDOW_FUNCTIONS)]
    if assigner.isEventTime():
        triggers |= st.just(ContinuousEventTimeTrigger.of(6))
    trigger = draw(triggers | COUNTS | DELTAS | TIMEOUTS | st.just(assigner.getDefaultTrigger()))
    if draw(st.booleans()):
        trigger = PurgingTrigger.of(trigger)
    description = WindowOperatorDescription(
        assigner,
        trigger,
        allowedLateness=draw(st.just(0) | st.integers(0, 30)),
        lateDataOutputTag=draw(st.sampled_from([OutputTag("late"), None])),
        evictor=draw(st.none() | evictors),
    )
    return replace(description, **draw(st.sampled_from(functions)))


def _kinds(description: WindowOperatorDescription) -> Any:
    """The operator over columns, and the general one."""
    if description.evictor is None:
        return ColumnWindowOperator, WindowOperator
    return ColumnEvictingWindows, EvictingWindowOperator


near = st.tuples(st.sampled_from("abc"), st.integers(0, 9), timestamps)
several = st.lists(near, min_size=5, max_size=30)
moves = st.tuples(st.just("clock"), st.integers(0, 50))


STATES = "count", "fire-time", "timeout", "last-element"
"""The states of triggers."""


def _observed(driver: WindowOperatorDriver, step: Any, ordered: bool) -> Any:
    """All that can be seen of an operator after a step: each output, timers and state. Not ``ordered``:
    output in any order, as the order in which Flink's heap fires timers that are due at once depends on
    all timers before.
    """
    driver.output.clear()
    try:
        if isinstance(step, tuple):
            driver.advanceClock(step[1])
        else:
            take(driver, step)
    except FlinkishError as refusal:
        return str(refusal)
    operator = driver.operator
    tables = [operator.backend.table(name) for name in (TABLE, *STATES)]
    return (
        repr(sorted(driver.output, key=itemgetter(0) if ordered else repr)),
        operator.metrics.numLateRecordsDropped,
        operator.metrics.numRecordsIn,
        (operator.nextEventTimeTimer(), operator.numEventTimeTimers()),
        (operator.nextProcessingTimeTimer(), operator.numProcessingTimeTimers()),
        [sorted(map(repr, table.entries())) for table in tables],
    )


SUMS = WindowOperatorDescription(
    TumblingEventTimeWindows.of(20), CountTrigger.of(3), aggregation=Totals()
)
PURGED = replace(SUMS, assigner=GlobalWindows.create(), trigger=PurgingTrigger.of(CountTrigger(3)))
SLIDING = WindowOperatorDescription(
    GlobalWindows.create(),
    CountTrigger(3),
    evictor=CountEvictor(5),
    aggregation=Means(),
)
TWO_KEYS = [(key, n, n) for n in range(12) for key in "ab"]


@pytest.mark.takes_columns("ColumnFold", "WindowFunctionColumns")
@pytest.mark.parametrize(("paged", "short"), [(False, 1), (True, 1), (True, 99)])
@given(
    description=descriptions(),
    steps=st.lists(several | several | steps | moves, max_size=8),
)
@example(description=SUMS, steps=[TWO_KEYS, 9, TWO_KEYS, "restart", TWO_KEYS, 40])
@example(
    description=replace(
        PURGED, trigger=ProcessingTimeoutTrigger.of(PURGED.trigger, 20, resetTimerOnNewRecord=True)
    ),
    steps=[TWO_KEYS[:10], ("clock", 15), TWO_KEYS[:5], "restart", ("clock", 30), ("clock", 40)],
)
@example(
    description=replace(
        SUMS,
        assigner=TumblingProcessingTimeWindows.of(10),
        trigger=ProcessingTimeoutTrigger.of(CountTrigger.of(5), 9),
    ),
    steps=[TWO_KEYS[:12], TWO_KEYS[:18], ("clock", 9)],
)
@example(
    description=replace(SUMS, trigger=DeltaTrigger.of(1, distance)),
    steps=[TWO_KEYS, TWO_KEYS[:7], "restart", TWO_KEYS, 40],
)
@example(description=PURGED, steps=[TWO_KEYS, "restart", TWO_KEYS, "restart", TWO_KEYS])
@example(description=SLIDING, steps=[TWO_KEYS, TWO_KEYS[:5], "restart", TWO_KEYS])
@example(description=replace(SLIDING, evictor=CountEvictor(5, True)), steps=[TWO_KEYS, TWO_KEYS])
@example(
    description=replace(SUMS, **WINDOW_FUNCTIONS[1], allowedLateness=10),
    steps=[TWO_KEYS, 50, TWO_KEYS],
)
def test_gives_what_the_general_operator_gives(
    paged: bool, short: int, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    with mock.patch.multiple(triggered_windows, _ELEMENTS_A_ROUND=short, _MOST_ROWS=9 + 7 * short):
        _assert_same(paged, description, steps)


def _assert_same(paged: bool, description: WindowOperatorDescription, steps: list[Any]) -> None:
    of_columns, general = (
        WindowOperatorDriver(kind, description, paged, columns=True) for kind in _kinds(description)
    )
    for step in steps:
        mine, theirs = (_observed(each, step, paged) for each in (of_columns, general))
        assert mine == theirs
        if isinstance(mine, str):
            break


@pytest.mark.parametrize("paged", [False, True])
@given(description=descriptions(), steps=st.lists(several | steps | moves, max_size=8))
@example(description=SUMS, steps=[TWO_KEYS, TWO_KEYS, TWO_KEYS, 40])
def test_either_operator_goes_on_from_the_state_of_the_other(
    paged: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    kinds = _kinds(description)
    taking_turns, general = (
        WindowOperatorDriver(kind, description, paged, columns=True) for kind in kinds
    )
    for number, step in enumerate(steps):
        mine, theirs = (_observed(each, step, paged) for each in (taking_turns, general))
        assert mine == theirs
        if isinstance(mine, str):
            break
        taking_turns.restart(kind=kinds[number % 2])
        general.restart()


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("evictor", [CountEvictor.of(4), TimeEvictor.of(9)])
@pytest.mark.parametrize(
    "changes",
    [
        {"trigger": CountTrigger.of(3)},
        {"trigger": PurgingTrigger.of(CountTrigger.of(3))},
        {"trigger": DeltaTrigger.of(2, distance)},
        {"trigger": EventTimeTrigger.create()},
        {"trigger": EventTimeTrigger.create(), "ofTwoStreams": True},
    ],
)
def test_another_trigger_goes_on_from_elements_that_are_columns(
    paged: bool, evictor: Any, changes: dict[str, Any]
) -> None:
    first = replace(SUMS, trigger=ContinuousEventTimeTrigger.of(1_000), evictor=evictor)
    first = replace(first, ofTwoStreams=changes.get("ofTwoStreams", False))
    aligned = isinstance(changes["trigger"], EventTimeTrigger)

    def results(kind: Any) -> Any:
        driver = WindowOperatorDriver(kind, first, paged, columns=True)
        driver.process([(key, (key, number), at) for key, number, at in TWO_KEYS])
        driver.restart(replace(first, **changes), AlignedWindowOperator if aligned else kind)
        driver.process([(key, (key, number), at) for key, number, at in TWO_KEYS * 2])
        driver.watermark(60)
        return sorted(map(repr, driver.output))

    assert results(ColumnEvictingWindows) == results(EvictingWindowOperator)


class OwnCount(CountTrigger):
    """A trigger of the user's, which may do anything at an element."""


def _singly(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list of the elements that are processed one by one, which grows."""
    processed = []
    process = WindowOperator._process_element

    def counted(operator, value, timestamp):
        processed.append(value)
        process(operator, value, timestamp)

    monkeypatch.setattr(WindowOperator, "_process_element", counted)
    return processed


def _run(description: WindowOperatorDescription, columns: bool = True) -> list[tuple[Any, ...]]:
    driver = WindowOperatorDriver(_kinds(description)[0], description, columns=columns)
    driver.process([(key, (key, number), at) for key, number, at in TWO_KEYS])
    return driver.output


def _value(key, context, elements, out):
    for value in elements:
        out.collect((key, value))


EVICTORS: list[Any] = [CountEvictor(5), TimeEvictor(9)]


@pytest.mark.parametrize("assigner", ASSIGNERS)
@pytest.mark.parametrize(
    "function",
    [
        {"aggregation": Totals(), "call": process_call(_value)},
        {"aggregation": Totals(), "call": process_call(_last)},
        {"aggregation": Means(), "call": apply_call(listed)},
        {"aggregation": lambda a, b: b},
        {"call": apply_call(listed)},
    ],
)
def test_no_element_is_processed_singly(
    assigner: Any, function: dict[str, Any], monkeypatch: Any
) -> None:
    singly = _singly(monkeypatch)
    count = CountTrigger.of(3)
    by_clock = isinstance(assigner, InProcessingTime)
    in_one = not isinstance(assigner, (SlidingProcessingTimeWindows, ProcessingTimeSessionWindows))
    triggers = [assigner.getDefaultTrigger()]
    if in_one:
        delta = DeltaTrigger.of(2, distance)
        triggers += [count, delta] + ([] if by_clock else [ProcessingTimeoutTrigger.of(count, 9)])
    for trigger in triggers:
        _run(WindowOperatorDescription(assigner, trigger, **function))
        _run(WindowOperatorDescription(assigner, PurgingTrigger.of(trigger), **function))
        for evictor in EVICTORS:
            _run(WindowOperatorDescription(assigner, trigger, evictor, **function))
    assert not singly


def test_windows_of_a_number_that_slide_are_folded_as_columns(monkeypatch: Any) -> None:
    monkeypatch.setattr(evicting_windows, "_GATHERED_AT_ONCE", 7)
    description = replace(SLIDING, aggregation=SumAggregator(1))
    driver = WindowOperatorDriver(ColumnEvictingWindows, description, columns=True)
    with counted_runs() as runs:
        driver.process([(key, (key, number), at) for key, number, at in TWO_KEYS * 2])
    assert runs.taken["ColumnFold"] > 1
    assert not runs.elements
    general = WindowOperatorDriver(EvictingWindowOperator, description, columns=True)
    general.process([(key, (key, number), at) for key, number, at in TWO_KEYS * 2])
    assert driver.output == general.output


@pytest.mark.parametrize(
    "changes",
    [
        {"trigger": OwnCount(3)},
        {"trigger": ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), 9)},
        {
            "assigner": TumblingProcessingTimeWindows.of(9),
            "trigger": ProcessingTimeoutTrigger.of(CountTrigger.of(3), 9),
        },
        {"trigger": DeltaTrigger.of(3, lambda a, b: b[1] - a[1] + 0 * id(a))},
        {"assigner": SlidingEventTimeWindows.of(100, 3)},
        {"assigner": SlidingProcessingTimeWindows.of(10, 5)},
        {"assigner": ProcessingTimeSessionWindows.withGap(5)},
        {"assigner": TumblingEventTimeWindows.of(10, 0, WindowStagger.NATURAL)},
        {"aggregation": LargeTotals()},
        {"aggregation": Digest()},
    ],
)
def test_other_triggers_assigners_and_functions_see_each_element(
    changes: dict[str, Any], monkeypatch: Any
) -> None:
    singly = _singly(monkeypatch)
    _run(replace(SUMS, **changes))
    assert len(singly) == len(TWO_KEYS)


def test_a_trigger_that_fires_at_each_element_of_few_keys_is_called(monkeypatch: Any) -> None:
    monkeypatch.setattr(delta_firings, "_ROUNDS", 5)
    description = replace(SUMS, trigger=DeltaTrigger.of(0, distance))
    singly = _singly(monkeypatch)
    called = _run(description)
    assert len(singly) == len(TWO_KEYS)
    monkeypatch.setattr(delta_firings, "_ROUNDS", 50)
    assert _run(description) == called
    assert len(singly) == len(TWO_KEYS)


def test_late_elements_and_objects_are_processed_singly(monkeypatch: Any) -> None:
    singly = _singly(monkeypatch)
    assert _run(SUMS, columns=False) == _run(SUMS)
    assert len(singly) == len(TWO_KEYS)
    singly.clear()
    driver = WindowOperatorDriver(ColumnWindowOperator, SUMS, columns=True)
    driver.watermark(19)
    driver.process([(key, (key, number), 2 * at) for key, number, at in TWO_KEYS])
    assert len(singly) == driver.operator.metrics.numLateRecordsDropped == 20
    assert driver.operator.metrics.numRecordsIn == len(TWO_KEYS)
