"""Properties of every windowed job: the jobs are made as the recorded cases describe theirs."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flinkish import (
    EventTimeTrigger,
    MergingWindowAssigner,
    StreamRecord,
    Window,
)
from flinkish.testing import StreamTestHarness
from tests.conformance.batches import covered, replay_in_batches
from tests.conformance.cases import Case
from tests.conformance.comparison import assert_same, assert_same_records
from tests.conformance.families import family_of
from tests.conformance.replay import replay
from tests.runtime.micro_batches import MicroBatches

LENGTHS = st.integers(1, 12)
EVENT_TIME = st.one_of(
    st.builds(lambda size: {"kind": "TumblingEventTimeWindows", "size": size}, LENGTHS),
    st.builds(
        lambda size, slide: {"kind": "SlidingEventTimeWindows", "size": size, "slide": slide},
        LENGTHS,
        LENGTHS,
    ),
    st.builds(lambda gap: {"kind": "EventTimeSessionWindows", "gap": gap}, LENGTHS),
    st.just({"kind": "DynamicEventTimeSessionWindows", "gapExpr": "value"}),
)
CAPPED = st.builds(
    lambda gap, more: {"kind": "CappedSessionWindows", "gap": gap, "cap": gap + more},
    LENGTHS,
    LENGTHS,
)
TRIGGERS = st.one_of(
    st.none(),
    st.builds(lambda n: {"kind": "CountTrigger", "n": n}, st.integers(1, 4)),
    st.builds(lambda time: {"kind": "ContinuousEventTimeTrigger", "interval": time}, LENGTHS),
)
PURGING = TRIGGERS | TRIGGERS.filter(bool).map(lambda of: {"kind": "PurgingTrigger", "of": of})
EVICTORS = st.none() | st.builds(
    lambda n, after: {"kind": "CountEvictor", "n": n, "doEvictAfter": after},
    st.integers(1, 3),
    st.booleans(),
)
KEYS = st.sampled_from(["k0", "k1", "k2"])
ELEMENTS = st.tuples(st.just("e"), KEYS, st.integers(1, 9), st.integers(-20, 40)).map(list)
ITEMS = st.lists(ELEMENTS | ELEMENTS | st.integers(-20, 40), max_size=30).map(
    lambda items: list(with_watermarks(items))
)
FUNCTIONS = st.sampled_from(["reduce", "aggregate", "process", "apply"])


def with_watermarks(items):
    """Numbers become watermarks, where they are higher than those before."""
    reached = -21
    for item in items:
        if isinstance(item, list):
            yield item
        elif item > reached:
            reached = item
            yield ["w", item]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    trigger = draw(PURGING)
    data = {
        "family": "window",
        "assigner": draw(EVENT_TIME | CAPPED),
        "trigger": trigger,
        "evictor": draw(EVICTORS),
        "allowedLateness": draw(st.just(0) | LENGTHS),
        "function": {"kind": draw(FUNCTIONS)},
        "tieOrder": "Continuous" in str(trigger),
        "input": draw(ITEMS),
    }
    return Case({**data, "output": replay(family_of(Case(data)), Case(data))})


@given(cases(), st.integers())
def test_restarts_at_any_point_change_nothing(case: Case, seed: int) -> None:
    assert_same(case, replay(family_of(case), case, random.Random(seed)))


@given(cases().filter(covered), st.integers())
def test_cuts_into_batches_change_nothing(case: Case, seed: int) -> None:
    assert_same_records(case, replay_in_batches(family_of(case), case, random.Random(seed)))


@given(
    EVENT_TIME.filter(lambda of: of["kind"] != "DynamicEventTimeSessionWindows"),
    ITEMS,
    st.randoms(),
)
def test_the_order_between_two_watermarks_does_not_change_what_windows_hold(
    assigner: Any, items: list[Any], chosen: random.Random
) -> None:
    on_time = list(without_late(items))
    runs = [contents(assigner, order) for order in (on_time, shuffled(on_time, chosen))]
    assert runs[0] == runs[1]


def test_a_session_of_just_the_merged_length_takes_its_place_as_in_flink():
    """So under a dynamic gap the order counts: Flink's ``MergingWindowSet`` sees nothing to merge in
    a window that is there already, and gives it a separate state window."""
    assigner = {"kind": "DynamicEventTimeSessionWindows", "gapExpr": "value"}
    one, two, both = ["e", "k0", 1, 0], ["e", "k0", 1, 1], ["e", "k0", 2, 0]
    held = [contents(assigner, order)[0][3] for order in ([one, two, both], [one, both, two])]
    assert held == [[2], [1, 1, 2]]


def without_late(items):
    watermark = -21
    for item in items:
        if item[0] == "w":
            watermark = item[1]
        if item[0] == "w" or item[3] > watermark:
            yield item


def shuffled(items, chosen):
    """The same elements between the same watermarks, in another order."""
    result, run = [], []
    for item in [*items, ["w", None]]:
        if item[0] == "w":
            chosen.shuffle(run)
            result += [*run, item]
            run = []
        else:
            run.append(item)
    return result[:-1]


def contents(assigner, items):
    """The values that each window of a key held when it fired, with the watermark it fired at."""
    data = {"family": "window", "assigner": assigner, "function": {"kind": "process"}}
    case = Case({**data, "input": items})
    records = [item[1] for item in replay(family_of(case), case) if item[0] == "r"]
    return sorted((key, start, end, sorted(held), now) for key, start, end, held, now in records)


@given(st.lists(st.tuples(KEYS, st.integers(0, 60)), max_size=20), LENGTHS)
def test_sessions_are_what_lies_closer_than_the_gap(stamps: list[Any], gap: int) -> None:
    items = [["e", key, number, time] for number, (key, time) in enumerate(stamps)]
    sessions = defaultdict(list)
    for key, time in sorted(stamps):
        if sessions[key] and time <= sessions[key][-1][1]:
            sessions[key][-1][1] = time + gap
        else:
            sessions[key].append([time, time + gap])
    expected = [(key, *session) for key in sessions for session in sessions[key]]
    fired = contents({"kind": "EventTimeSessionWindows", "gap": gap}, items)
    assert [window[:3] for window in fired] == sorted(expected)


@dataclass(frozen=True, order=True)
class Span(Window):
    """A stretch of road with something on it, open until ``closes``."""

    first: int
    last: int
    closes: int

    def maxTimestamp(self) -> int:
        return self.closes


class Spans(MergingWindowAssigner):
    """Spans that touch merge, whatever their times; the latest to close decides."""

    def assignWindows(self, element, timestamp, context):
        return [Span(element[1], element[1] + 1, timestamp + 10)]

    def mergeWindows(self, windows, callback):
        parts: list[Span] = []
        for span in sorted(windows):
            if parts and span.first > max(part.last for part in parts):
                self._merge(parts, callback)
                parts = []
            parts.append(span)
        self._merge(parts, callback)

    def _merge(self, parts, callback):
        if len(parts) > 1:
            cover = Span(
                min(part.first for part in parts),
                max(part.last for part in parts),
                max(part.closes for part in parts),
            )
            callback.merge(parts, cover)

    def getDefaultTrigger(self):
        return EventTimeTrigger.create()

    def isEventTime(self):
        return True


def spans(stream):
    return (
        stream.keyBy(0)
        .window(Spans())
        .apply(lambda key, span, elements: [(key, span, sorted(e[1] for e in elements))])
    )


@given(st.lists(st.tuples(KEYS, st.integers(0, 12)), max_size=15), st.sets(st.integers(0, 14)))
def test_merging_windows_of_ones_own_survive_restarts(
    elements: list[tuple[str, int]], restarts: set[int]
) -> None:
    fired = []
    harness = StreamTestHarness(spans)
    for number, element in enumerate(elements):
        harness.processElement(element, number)
        if number in restarts:
            fired += harness.getOutput()
            harness = StreamTestHarness.restore(spans, harness.snapshot())
    harness.endInput()
    fired += harness.getOutput()
    values = sorted(record.value for record in fired if isinstance(record, StreamRecord))
    assert values == sorted(expected_spans(elements))

    job = MicroBatches(spans, keyGroups=2)
    bounds = [0, *sorted(restarts), len(elements)]
    timed = [(element, number) for number, element in enumerate(elements)]
    job.run([[timed[a:b]] for a, b in pairwise(bounds)])
    assert sorted(result.value for result in job.results[0]) == values


def expected_spans(elements):
    for key in {key for key, _ in elements}:
        placed = sorted((place, number) for number, (k, place) in enumerate(elements) if k == key)
        group: list[tuple[int, int]] = []
        for place, number in [*placed, (99, 0)]:
            if group and place > group[-1][0] + 1:
                places = [p for p, _ in group]
                closes = 10 + max(n for _, n in group)
                yield key, Span(places[0], places[-1] + 1, closes), places
                group = []
            group.append((place, number))
