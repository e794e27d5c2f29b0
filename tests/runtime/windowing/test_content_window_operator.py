"""Windows that follow from the elements: against their definitions, in any order, over restarts."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    AggregateFunction,
    ContentChangeWindows,
    ContentWindows,
    CountEvictor,
    CountTrigger,
    DataStream,
    IllegalArgumentError,
    InvalidProgramError,
    OutputTag,
    StreamRecord,
    TimeWindow,
    UserFunctionError,
    WatermarkStrategy,
)
from flinkish.compat.stream_analytics import CappedSessionWindows
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values

Element = tuple[str, int]
"""A key and a timestamp."""
LATE = OutputTag[Element]("late")
ELEMENTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-30, 60)), max_size=30)


def contents(assigner: ContentWindows) -> Any:
    def build(stream: DataStream[Element]) -> DataStream[Any]:
        windows = stream.keyBy(lambda e: e[0]).window(assigner).sideOutputLateData(LATE)
        return windows.apply(lambda key, window, found: [(key, window, [e[1] for e in found])])

    return build


def run(assigner: ContentWindows, elements: list[Element], seed: int) -> list[Any]:
    """(key, end, timestamps) of every window, with elements in any order and watermarks between."""
    chosen = random.Random(seed)
    arrivals = sorted(elements, key=lambda element: element[1] + chosen.randrange(10))
    harness = StreamTestHarness(contents(assigner))
    for i, element in enumerate(arrivals):
        harness.processElement(element, element[1])
        rest = [timestamp for _, timestamp in arrivals[i + 1 :]]
        if rest and chosen.random() < 0.5:
            harness.processWatermark(min(rest) - 1)
        if chosen.random() < 0.2:
            output = harness.getOutput()
            harness = StreamTestHarness.restore(contents(assigner), harness.snapshot())
            harness.getOutput = lambda before=output, of=harness.getOutput: before + of()  # type: ignore[method-assign]
    harness.endInput()
    assert harness.numKeyedStateEntries() == harness.numEventTimeTimers() == 0
    records = [e for e in harness.getOutput() if isinstance(e, StreamRecord)]
    assert all(record.timestamp == record.value[1].maxTimestamp() for record in records)
    return sorted((key, window.end - 1, found) for key, window, found in (r.value for r in records))


@given(ELEMENTS, st.integers(1, 25), st.integers(0, 1000))
def test_a_window_whenever_its_content_changes(
    elements: list[Element], size: int, seed: int
) -> None:
    expected = []
    for key in "ab":
        own = sorted(timestamp for k, timestamp in elements if k == key)
        for time in sorted({*own, *(timestamp + size for timestamp in own)}):
            inside = [timestamp for timestamp in own if time - size < timestamp <= time]
            if inside:
                expected.append((key, time, inside))
    assert run(ContentChangeWindows(size), elements, seed) == expected


@given(ELEMENTS, st.integers(1, 12), st.integers(1, 25), st.integers(0, 1000))
def test_sessions_that_may_not_get_too_long(
    elements: list[Element], gap: int, longest: int, seed: int
) -> None:
    expected = []
    for key in "ab":
        expected += [
            (key, end, found)
            for end, found in sessions(sorted(t for k, t in elements if k == key), gap, longest)
        ]
    assert run(CappedSessionWindows(gap, longest), elements, seed) == expected


def sessions(timestamps: list[int], gap: int, longest: int) -> list[tuple[int, list[int]]]:
    """One ms after another: end what is over, then take in what comes."""
    found: list[tuple[int, list[int]]] = []
    current: list[int] = []
    start, cut_at, cut_last = 0, 0, None
    for now in range(-40, 120):
        checked = now % longest == 0 and now - start >= longest
        if current and (now >= current[-1] + gap or checked):
            found.append((now, current))
            cut_last = current[-1] if now < current[-1] + gap else None
            cut_at, current = now, []
        for timestamp in timestamps:
            if timestamp == now:
                if not current:
                    goes_on = cut_last is not None and now < cut_last + gap
                    start = _last_check(now, longest, cut_at) if goes_on else now
                current.append(now)
    return found


def _last_check(now: int, longest: int, cut: int) -> int:
    """Return the start of a session that goes on: the cut, or a check since then that found nothing
    in it."""
    return max(cut, now // longest * longest)


class Count(AggregateFunction[Element, int, int]):
    def createAccumulator(self) -> int:
        return 0

    def add(self, value: Element, accumulator: int) -> int:
        return accumulator + 1

    def getResult(self, accumulator: int) -> int | None:  # type: ignore[override]
        return accumulator if accumulator > 1 else None


def test_an_aggregate_of_none_is_no_result() -> None:
    harness = StreamTestHarness(
        lambda s: s.keyBy(lambda e: e[0]).window(ContentChangeWindows(5)).aggregate(Count())
    )
    for timestamp in (1, 2, 2):
        harness.processElement(("a", timestamp), timestamp)
    harness.endInput()
    assert harness.getOutput()[:-1] == [StreamRecord(3, 2), StreamRecord(2, 6)]


def test_a_window_of_the_last_five_ms_ends_with_the_ms_of_the_change() -> None:
    assigner = ContentChangeWindows(5)
    assert assigner.isEventTime()
    harness = StreamTestHarness(
        lambda s: s.windowAll(assigner).apply(lambda window, found: [(window, list(found))])
    )
    for timestamp in (3, 6):
        harness.processElement(timestamp, timestamp)
    harness.endInput()
    assert values(harness) == [
        (TimeWindow(-1, 4), [3]),
        (TimeWindow(2, 7), [3, 6]),
        (TimeWindow(4, 9), [6]),
    ]


def test_an_error_in_a_firing_names_the_timer() -> None:
    def broken(key: str, window: Any, found: Any) -> list[Any]:
        raise ZeroDivisionError("oh")

    harness = StreamTestHarness(
        lambda s: s.keyBy(lambda e: e[0]).window(ContentChangeWindows(15)).apply(broken)
    )
    harness.processElement(("a", 3), 3)
    with pytest.raises(UserFunctionError, match=r"oh on the element .*timestamp=3, key='a'"):
        harness.processWatermark(3)


def test_what_comes_at_or_below_the_watermark_is_late() -> None:
    harness = StreamTestHarness(contents(ContentChangeWindows(5)))
    harness.processWatermark(10)
    for timestamp in (9, 10, 11):
        harness.processElement(("a", timestamp), timestamp)
    assert harness.getSideOutput(LATE) == [StreamRecord(("a", t), t) for t in (9, 10)]
    harness = StreamTestHarness(
        lambda s: s.windowAll(ContentChangeWindows(5)).reduce(lambda a, b: a)
    )
    harness.processWatermark(10)
    harness.processElement(("a", 10), 10)
    assert harness.numLateRecordsDropped() == 1


@pytest.mark.parametrize("assigner", [ContentChangeWindows(15), CappedSessionWindows(8, 20)])
def test_the_same_in_batches(assigner: ContentWindows) -> None:
    strategy = WatermarkStrategy[Element].forBoundedOutOfOrderness(10)
    chosen = random.Random(3)
    elements = [(chosen.choice("abc"), i * 2 + chosen.randrange(10)) for i in range(60)]
    job = MicroBatches(
        lambda s: contents(assigner)(s.assignTimestampsAndWatermarks(strategy)), keyGroups=4
    )
    for start in range(0, 60, 7):
        job.process([[(element, element[1]) for element in elements[start : start + 7]]])
    job.end()
    found = sorted((r.value[0], r.timestamp, r.value[2]) for r in job.results[0])
    assert found == run(assigner, elements, 0)


@pytest.mark.parametrize(
    "settings",
    [
        lambda windows: windows.trigger(CountTrigger.of(1)),
        lambda windows: windows.evictor(CountEvictor.of(1)),
        lambda windows: windows.allowedLateness(1),
    ],
)
def test_nothing_else_has_a_say(settings: Any) -> None:
    def build(stream: DataStream[Element]) -> DataStream[Element]:
        result: DataStream[Element] = settings(stream.windowAll(ContentChangeWindows(5))).reduce(
            max
        )
        return result

    with pytest.raises(InvalidProgramError, match=r"window: ContentChangeWindows\(5\) itself says"):
        StreamTestHarness(build)


def test_lengths_that_will_not_do() -> None:
    with pytest.raises(IllegalArgumentError, match="size is 0 ms"):
        ContentChangeWindows.of(0)
    with pytest.raises(IllegalArgumentError, match="maxDuration is 0 ms, but must"):
        CappedSessionWindows.of(5, 0)
