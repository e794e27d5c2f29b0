"""The session window operator gives what the general one gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flinkish import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    OutputTag,
)
from flinkish.api.plan.windows import WindowOperatorDescription, apply_call
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.windowing.session_windows import SessionWindowOperator
from flinkish.runtime.windowing.window_operator import WindowOperator
from tests.runtime.windowing.operators import WindowOperatorDriver
from tests.runtime.windowing.streams import Digest, joined, listed, run, steps

FUNCTIONS: list[dict[str, Any]] = [
    {"aggregation": joined},
    {"aggregation": Digest()},
    {"call": apply_call(listed)},
    {"aggregation": Digest(), "call": apply_call(listed)},
]


@st.composite
def descriptions(draw: st.DrawFn) -> WindowOperatorDescription:
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
    return replace(description, **draw(st.sampled_from(FUNCTIONS)))


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
    sessions = WindowOperatorDriver(SessionWindowOperator, description, paged)
    general = WindowOperatorDriver(WindowOperator, description)
    for mine, theirs in zip(run(sessions, steps), run(general, steps)):
        assert (mine.seen, mine.timers, mine.entries) == (
            theirs.seen,
            theirs.timers,
            theirs.entries,
        )
        assert mine.due is not None or theirs.due is None
        assert theirs.due is None or (mine.due or 0) <= theirs.due


def test_a_session_that_grows_keeps_its_timer() -> None:
    description = WindowOperatorDescription(
        EventTimeSessionWindows.withGap(10), EventTimeTrigger.create(), aggregation=joined
    )
    driver = WindowOperatorDriver(SessionWindowOperator, description)
    driver.process([("a", ("a", n), n) for n in range(100)])
    assert driver.operator.numEventTimeTimers() == 1
    assert driver.operator.nextEventTimeTimer() == 9
    driver.watermark(50)
    assert driver.operator.nextEventTimeTimer() == 108
    driver.watermark(MAX_TIMESTAMP)
    assert driver.operator.numEventTimeTimers() == driver.numEntries() == 0
