"""Windows with an evictor give over columns what they give element by element."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from flinkish import (
    CountEvictor,
    DeltaEvictor,
    EventTimeTrigger,
    Evictor,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from flinkish.api.plan.window_operator import WindowOperatorDescription, apply_call, process_call
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.windowing.window_operator import EvictingWindowOperator
from tests.runtime.windowing.operators import LATE, WindowOperatorDriver
from tests.runtime.windowing.streams import (
    BY_ORDER,
    WINDOW_FUNCTIONS,
    Digest,
    LargeTotals,
    Means,
    Moment,
    Totals,
    by_time,
    joined,
    listed,
    run,
    steps,
)


class Even(Evictor):
    """Removes odd numbers before the function sees them, and the first element afterwards."""

    def evictBefore(self, elements, size, window, evictorContext):
        elements.removeIf(lambda element: element.getValue()[1] % 2)

    def evictAfter(self, elements, size, window, evictorContext):
        elements.removeFirst(1)


class Cleared(ProcessWindowFunction):
    """All elements, and a ``clear``."""

    def process(self, key, context, elements, out):
        out.collect((key, context.window(), tuple(elements)))

    def clear(self, context):
        context.globalState()


def distance(element, last):
    return abs(last[1] - element[1])


def share(element, last):
    """Raises where there is no number."""
    return last[1] / element[1]


def by_text(element, last):
    return float(str(last[1] - element[1]).zfill(3))


def constant(element, last):
    return 2


def mixed(element, last):
    return True if element[1] > 5 else last[1] / 2


after = st.booleans()
evictors = st.one_of(
    st.builds(CountEvictor, st.integers(-1, 4), after),
    st.builds(TimeEvictor, st.integers(-1, 12) | st.just(MAX_TIMESTAMP), after),
    st.builds(DeltaEvictor, st.integers(0, 9) | st.just(2.5), st.just(distance), after),
    st.builds(
        DeltaEvictor, st.just(1.0), st.sampled_from([share, by_text, constant, mixed]), after
    ),
    st.just(Even()),
)
FUNCTIONS: list[dict[str, Any]] = [
    {"aggregation": joined},
    {"aggregation": Digest()},
    {"aggregation": Totals()},
    {"aggregation": Means()},
    {"aggregation": LargeTotals()},
    {"aggregation": Totals(), "call": apply_call(listed)},
    {"aggregation": lambda a, b: (a[0], a[1] + b[1])},
    {"call": apply_call(listed)},
    {"function": Cleared(), "call": process_call(Cleared())},
    *({"aggregation": Totals(), **function} for function in WINDOW_FUNCTIONS),
    *BY_ORDER,
]


class Alternating(WindowOperatorDriver):
    """The elements of every other run come as columns."""

    def process(self, elements):
        super().process(elements)
        self._columns = not self._columns


TUMBLING = WindowOperatorDescription(TumblingEventTimeWindows.of(10), EventTimeTrigger.create())


@st.composite
def descriptions(draw: st.DrawFn) -> WindowOperatorDescription:
    size, slide = draw(st.integers(1, 20)), draw(st.integers(1, 25))
    return replace(
        TUMBLING,
        assigner=draw(
            st.just(TumblingEventTimeWindows.of(size))
            | st.just(SlidingEventTimeWindows.of(size, slide))
        ),
        evictor=draw(evictors),
        allowedLateness=draw(st.just(0) | st.integers(0, 30)),
        lateDataOutputTag=draw(st.sampled_from([LATE, None])),
        **draw(st.sampled_from(FUNCTIONS)),
    )


many_a_key = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(-30, 70)),
    min_size=9,
    max_size=24,
)
ONE_RUN = [[(key, n % 7, n) for n in range(30) for key in "ab"], 0, 40, 99]


def taking(evictor: Any, **function: Any) -> Any:
    """An example of a kind that columns take, as drawn ones may be of those that they do not."""
    description = replace(TUMBLING, evictor=evictor, **function)
    return example(columns=True, description=description, steps=ONE_RUN)


@pytest.mark.takes_columns("ColumnFold", "PairMap")
@pytest.mark.parametrize("paged", [False, True])
@given(
    columns=st.booleans(),
    description=descriptions(),
    steps=st.lists(many_a_key | steps, max_size=8),
)
@taking(CountEvictor.of(3), aggregation=Totals())
@taking(TimeEvictor.of(5), aggregation=Totals(), call=apply_call(listed))
@taking(DeltaEvictor.of(3, distance), aggregation=BY_ORDER[0]["aggregation"])
@taking(DeltaEvictor.of(1.0, share), call=apply_call(listed))
@taking(TimeEvictor.of(0), aggregation=Totals())
@taking(Even(), aggregation=Totals())
def test_gives_what_the_general_operator_gives(
    paged: bool, columns: bool, description: WindowOperatorDescription, steps: list[Any]
) -> None:
    aligned = Alternating(AlignedWindowOperator, description, paged, columns)
    general = WindowOperatorDriver(EvictingWindowOperator, description)
    found, expected = run(aligned, steps), run(general, steps)
    assert list(map(_seen, found)) == list(map(_seen, expected))
    for moment, other in zip(found, expected):
        assert (moment.timers > 0) == (other.timers > 0)


def _seen(moment: Moment) -> Any:
    if len(moment.seen) < 2:
        # Each key may be the first whose function raises
        return moment.seen[0].partition(" raised ")[0]
    return by_time(moment), moment.due


@pytest.mark.parametrize(
    ("evictor", "stay"),
    [(CountEvictor.of(2), [7, 8]), (TimeEvictor.of(3), [6, 7, 8]), (Even(), [0, 2, 4, 6, 8])],
)
def test_elements_stay_columns_until_the_window_fires(evictor: Any, stay: list[int]) -> None:
    description = replace(TUMBLING, evictor=evictor, call=apply_call(listed))
    driver = WindowOperatorDriver(AlignedWindowOperator, description, True, True)
    driver.process([("a", ("a", n), n) for n in range(9)])
    driver.restart()
    assert driver.numEntries() == 9  # rows, where lists would be one entry
    driver.watermark(9)
    (found,) = [value for label, value, *_ in driver.output if label == "main"]
    assert [number for _, number in found[2]] == stay
    assert driver.numEntries() == 0


def test_a_difference_beyond_64_bits_wraps_around_as_in_java() -> None:
    """So the cutoff is far in the future, and nothing stays."""
    description = replace(TUMBLING, evictor=TimeEvictor.of(MAX_TIMESTAMP), call=apply_call(listed))
    for kind in (AlignedWindowOperator, EvictingWindowOperator):
        driver = WindowOperatorDriver(kind, description, columns=True)
        driver.process([("a", ("a", 1), -25), ("a", ("a", 2), 5)])
        driver.watermark(9)
        assert [len(value[2]) for label, value, *_ in driver.output if label == "main"] == [0, 1]


@given(
    description=descriptions(),
    before=st.lists(many_a_key | steps, max_size=4),
    then=st.lists(many_a_key | steps, max_size=4),
)
@example(
    replace(TUMBLING, evictor=CountEvictor.of(0, True), allowedLateness=30, **FUNCTIONS[2]),
    [[("a", 1, 5), ("b", 1, 35)], 10, 30],
    [[("a", 2, 6)], 40],
)
def test_goes_on_from_the_state_of_the_general_operator(
    description: WindowOperatorDescription, before: list[Any], then: list[Any]
) -> None:
    """As earlier versions ran it."""
    ours, general = (
        WindowOperatorDriver(EvictingWindowOperator, description, paged) for paged in (True, False)
    )
    for driver, then_of in ((ours, AlignedWindowOperator), (general, EvictingWindowOperator)):
        assume(all(len(moment.seen) == 2 for moment in run(driver, before)))
        driver._kind = then_of
        driver.restart()
    found, expected = run(ours, then), run(general, then)
    assert list(map(_seen, found)) == list(map(_seen, expected))
