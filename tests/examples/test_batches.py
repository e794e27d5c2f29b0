"""Examples give the same results however their input is cut into micro-batches and key groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from examples import (
    broadcast_rules,
    fraud_detection,
    rides_and_fares,
    session_windowing,
    side_output,
    top_speed_windowing,
    window_join,
    window_word_count,
)
from examples.hamlet import SOLILOQUY
from flinkish import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import feed, values


class Job(NamedTuple):
    """An example over one stream of all its elements, in the order of their times."""

    build: Callable[[DataStream[Any]], DataStream[Any] | Sequence[DataStream[Any]]]
    elements: Callable[[], Sequence[Any]]


def of_two_inputs(
    build: Callable[[DataStream[Any], DataStream[Any]], Any], first: type
) -> Callable[[DataStream[Any]], Any]:
    """``build`` of the elements of one stream that are of type ``first``, and of the others."""
    return lambda stream: build(
        stream.filter(lambda element: isinstance(element, first)),
        stream.filter(lambda element: not isinstance(element, first)),
    )


def in_order_of_time(*streams: Sequence[Any]) -> list[Any]:
    return sorted((element for stream in streams for element in stream), key=lambda e: e.at)


JOBS = {
    "window_word_count": Job(window_word_count.build, lambda: SOLILOQUY),
    "session_windowing": Job(session_windowing.build, lambda: session_windowing.EVENTS),
    "top_speed_windowing": Job(
        top_speed_windowing.build, lambda: list(top_speed_windowing.drive(cars=3, seconds=40))
    ),
    "side_output": Job(
        side_output.build,
        lambda: [side_output.Line(i * 1000, line) for i, line in enumerate(SOLILOQUY)],
    ),
    "window_join": Job(
        of_two_inputs(window_join.build, window_join.Grade),
        lambda: in_order_of_time(
            [window_join.Grade(window_join.NAMES[i * i % 6], i, 300 * i) for i in range(30)],
            [window_join.Salary(window_join.NAMES[i % 6], i, 250 * i) for i in range(30)],
        ),
    ),
    "fraud_detection": Job(
        fraud_detection.build, lambda: list(fraud_detection.payments(200, accounts=7))
    ),
    "rides_and_fares": Job(
        of_two_inputs(rides_and_fares.build, rides_and_fares.Ride),
        lambda: in_order_of_time(*rides_and_fares.taxis(40)),
    ),
    "broadcast_rules": Job(
        of_two_inputs(broadcast_rules.build, broadcast_rules.Action),
        lambda: in_order_of_time(broadcast_rules.BUILT_IN_ACTIONS, broadcast_rules.BUILT_IN_RULES),
    ),
}


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(("a_batch", "key_groups"), [(1, 2), (5, 3), (10_000, 4)])
def test_results_are_those_of_the_harness(name: str, a_batch: int, key_groups: int) -> None:
    elements = JOBS[name].elements()
    harness = StreamTestHarness(JOBS[name].build)
    feed(harness, elements)
    harness.endInput()

    batches = [elements[i : i + a_batch] for i in range(0, len(elements), a_batch)]
    outputs = MicroBatches(JOBS[name].build, key_groups, parallelism=2).run(
        [[[(element, None) for element in batch]] for batch in batches]
    )
    assert any(outputs)
    for index, results in enumerate(outputs):
        assert sorted(result.value for result in results) == sorted(values(harness, index))


SAME_IN_BATCH = sorted(JOBS.keys() - {"fraud_detection", "broadcast_rules"})
"""The jobs whose results do not depend on the watermark, or on earlier broadcast elements, when an
element comes."""


@pytest.mark.parametrize("name", SAME_IN_BATCH)
def test_results_of_a_batch_are_those_of_the_harness(name: str) -> None:
    elements = JOBS[name].elements()
    harness = StreamTestHarness(JOBS[name].build)
    feed(harness, elements)
    harness.endInput()

    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).setRuntimeMode(RuntimeExecutionMode.BATCH)
    built = JOBS[name].build(env.fromCollection(elements))
    streams = [built] if isinstance(built, DataStream) else built
    found = [stream.collectAsync() for stream in streams]
    env.execute()
    for index, results in enumerate(found):
        assert sorted(results) == sorted(values(harness, index))
