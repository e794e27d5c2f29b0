"""Properties of every strategy and every stream that is compared with arrival time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flinkish import ArrivalTimeStrategy, OrderingPolicy
from flinkish.runtime.operators.arrival_time import ArrivalOrder, SubstreamWatermarks

LENGTHS = st.integers(0, 40)
STRATEGIES = st.builds(
    ArrivalTimeStrategy[Any],
    earlyArrivalTolerance=st.none() | LENGTHS,
    lateArrivalTolerance=st.none() | LENGTHS,
    lateArrivalPolicy=st.sampled_from(OrderingPolicy),
    outOfOrderTolerance=LENGTHS,
    outOfOrderPolicy=st.sampled_from(OrderingPolicy),
)
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-100, 100), st.integers(-100, 100))
    | st.integers(1, 30),
    max_size=40,
)
"""(key, timestamp, arrival) of an element, or how far the clock moves on without any."""


@given(STRATEGIES, STEPS, st.booleans())
def test_the_watermark_never_falls_and_nothing_goes_on_below_it(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any], substreams: bool
) -> None:
    order, now = ArrivalOrder(strategy), 0
    for step in steps:
        before = order.watermark
        if isinstance(step, int):
            now += step
            order.estimate(now)
        else:
            key, timestamp, arrival = step
            verdict = order.arrive(key if substreams else None, timestamp, arrival, now)
            if verdict.dropped is None and before is not None:
                assert verdict.timestamp >= before
        assert before is None or (order.watermark is not None and order.watermark >= before)


@given(STRATEGIES, STEPS)
def test_timestamps_move_forward_only_and_end_within_the_tolerances(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any]
) -> None:
    order = ArrivalOrder(strategy)
    early, late = strategy.earlyArrivalTolerance, strategy.lateArrivalTolerance
    for key, timestamp, arrival in (step for step in steps if not isinstance(step, int)):
        verdict = order.arrive(key, timestamp, arrival, 0)
        if verdict.dropped is not None:
            assert verdict.timestamp >= timestamp
            continue
        adjusted = verdict.late or verdict.outOfOrder
        assert verdict.timestamp > timestamp if adjusted else verdict.timestamp == timestamp
        if isinstance(early, int):
            assert timestamp - arrival <= early
        if isinstance(late, int):
            assert arrival - verdict.timestamp <= late


@given(STRATEGIES, STEPS, st.integers(0, 40))
def test_a_snapshot_goes_on_as_the_order_itself_does(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any], cut: int
) -> None:
    whole, parts, now = ArrivalOrder(strategy), ArrivalOrder(strategy), 0
    for position, step in enumerate(steps):
        if position == cut:
            parts = ArrivalOrder(strategy, snapshot=parts.snapshot())
        if isinstance(step, int):
            now += step
            whole.estimate(now)
            parts.estimate(now)
        else:
            assert whole.arrive(*step, now) == parts.arrive(*step, now)  # type: ignore[call-arg]
        assert whole.watermark == parts.watermark


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-50, 50)), min_size=1, max_size=200))
def test_the_lowest_of_the_substreams(steps: list[tuple[int, int]]) -> None:
    watermarks, known = SubstreamWatermarks({}), dict[int, int]()
    for key, watermark in steps:
        known[key] = max(known.get(key, watermark), watermark)
        assert watermarks.advance(key, watermark) == known[key]
        assert watermarks.lowest() == min(known.values())
    assert watermarks.snapshot() == known


@given(STRATEGIES, STEPS)
def test_substreams_are_no_further_behind_than_the_late_tolerance(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any]
) -> None:
    """The watermark of a key whose element has just come is excepted."""
    order, arrivals = ArrivalOrder(strategy), []
    late, disorder = strategy.lateArrivalTolerance, strategy.outOfOrderTolerance
    for key, timestamp, arrival in (step for step in steps if not isinstance(step, int)):
        arrivals.append(arrival)
        verdict = order.arrive(key, timestamp, arrival, 0)
        if isinstance(late, int) and isinstance(disorder, int) and verdict.dropped is None:
            assert order.watermark is not None
            assert order.watermark >= min(verdict.timestamp - disorder, max(arrivals) - late)


@given(STRATEGIES, STEPS)
def test_independent_substreams_are_judged_as_if_each_were_alone(
    strategy: ArrivalTimeStrategy[Any], steps: list[Any]
) -> None:
    """If they arrive in order, as at a broker."""
    strategy = replace(strategy, lateArrivalTolerance=strategy.lateArrivalTolerance or 0)
    together = ArrivalOrder(replace(strategy, substreamKey=str, independentSubstreams=True))
    alone: dict[str, ArrivalOrder] = {}
    elements = [step for step in steps if not isinstance(step, int)]
    for key, timestamp, arrival in sorted(elements, key=lambda element: element[2]):
        own = alone.setdefault(key, ArrivalOrder(strategy))
        verdict = together.arrive(key, timestamp, arrival, 0)
        assert verdict == own.arrive(None, timestamp, arrival, 0)
        if verdict.dropped is None:
            assert together.watermark is not None
            assert together.watermark <= verdict.timestamp
