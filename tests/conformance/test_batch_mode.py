"""The jobs of the recorded cases in BATCH: they give what they give as a stream of the elements in the order of time
with no watermark before the end, which is how Flink runs a batch.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from flinkish import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.conformance.batches import covered
from tests.conformance.cases import Case, check_each, load, parametrized
from tests.conformance.comparison import Item, by_key
from tests.conformance.families import family_of
from tests.conformance.jobs import InputItem, input_items, results_of
from tests.streams import values

EVERY = 6


def makes_sense(case: Case) -> bool:
    """Whether the case has a meaning in BATCH: a batch has no clock, which asynchronous calls need.
    And a trigger that registers its next timer in a timer, as ContinuousEventTimeTrigger does, is
    not called again, in Flink neither."""
    timed = any(item[0] == "p" for item in case.data["input"])
    timed = timed or case.family == "async"
    return covered(case) and not timed and "Continuous" not in str(case.data.get("trigger"))


CASES = list(filter(makes_sense, load("accepted.jsonl") + load("recorded.jsonl")))


def elements_of(case: Case) -> list[InputItem]:
    found = input_items(family_of(case), case)
    return [item for item in found if isinstance(item, InputItem) and not item.isWatermark]


def as_a_batch(case: Case) -> list[Item]:
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).setMaxParallelism(3).setRuntimeMode(RuntimeExecutionMode.BATCH)
    items = env.fromCollection(elements_of(case))
    return list(results_of(family_of(case), case, items).executeAndCollect())


def as_a_stream_in_order(case: Case) -> list[Item]:
    harness = StreamTestHarness(lambda items: results_of(family_of(case), case, items))
    for item in sorted(elements_of(case), key=lambda item: item.timestamp or 0):
        harness.processElement(item, item.timestamp)
    harness.endInput()
    return values(harness)


def compared(case: Case, output: list[Item]) -> dict[object, list[Item]]:
    """Return the part of the output that must be equal. A rolling aggregation gives its last result
    only, behind all time."""
    groups = by_key(case, output)
    if case.family in ("rolling", "windowRolling"):
        return {key: [item[:2] for item in items[-1:]] for key, items in groups.items()}
    if case.data.get("tieOrder"):
        return {key: sorted(items, key=repr) for key, items in groups.items()}
    return groups


def check(case: Case) -> None:
    want = compared(case, as_a_stream_in_order(case))
    assert compared(case, as_a_batch(case)) == want


@parametrized(CASES[::EVERY])
def test_a_batch_gives_what_a_stream_in_order_does(cases: list[Case]) -> None:
    check_each(cases, check)


@pytest.mark.thorough("all of the cases")
@parametrized(CASES)
def test_every_batch_gives_what_a_stream_in_order_does(cases: list[Case]) -> None:
    check_each(cases, check)


def test_there_are_cases_of_each_kind_that_give_results() -> None:
    given = defaultdict(int)
    for case in CASES[::EVERY]:
        given[case.family] += len(as_a_stream_in_order(case))
    assert {"window", "join", "keyedProcess"} <= given.keys()
    assert min(given.values()) > 0
