"""The layout of windows says which operator runs them and what a checkpoint notes."""

import pytest

import flinkish as fl
from flinkish.api.plan.window_operator import AlignedLayout
from flinkish.compat.stream_analytics import CappedSessionWindows
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.evicting_windows import ColumnEvictingWindows
from flinkish.runtime.columns.session_windows import ColumnSessionWindows
from flinkish.runtime.columns.triggered_windows import ColumnWindowOperator
from flinkish.runtime.registry import create_operator
from flinkish.runtime.windowing.content_windows import ContentWindowOperator
from flinkish.testing import StreamTestHarness

TUMBLING = fl.TumblingEventTimeWindows.of(10, 3)
STAGGERED = fl.TumblingEventTimeWindows.of(10, 0, fl.WindowStagger.RANDOM)
SLIDING = fl.SlidingEventTimeWindows.of(10, 5, 2)
SESSIONS = fl.EventTimeSessionWindows.withGap(5)
CLOCK_SESSIONS = fl.ProcessingTimeSessionWindows.withGap(5)
COUNT = fl.CountTrigger.of(2)
EVICTOR = fl.CountEvictor.of(2)


def windows(assigner, trigger=None, evictor=None):
    stream = fl.StreamExecutionEnvironment().fromData(1).keyBy(lambda e: e).window(assigner)
    if trigger is not None:
        stream.trigger(trigger)
    if evictor is not None:
        stream.evictor(evictor)
    return stream.reduce(lambda a, b: a).getTransformation().operator  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("description", "name", "operator"),
    [
        (windows(TUMBLING), "aligned", AlignedWindowOperator),
        (windows(SLIDING), "aligned", AlignedWindowOperator),
        (windows(SESSIONS), "session", ColumnSessionWindows),
        (windows(STAGGERED), "general", ColumnWindowOperator),
        (windows(CLOCK_SESSIONS), "general", ColumnWindowOperator),
        (windows(TUMBLING, COUNT), "general", ColumnWindowOperator),
        (windows(SESSIONS, COUNT), "general", ColumnWindowOperator),
        (windows(TUMBLING, evictor=EVICTOR), "evicting", AlignedWindowOperator),
        (windows(TUMBLING, COUNT, EVICTOR), "evicting", ColumnEvictingWindows),
        (windows(SESSIONS, evictor=EVICTOR), "evicting", ColumnEvictingWindows),
        (windows(CappedSessionWindows.of(5, 10)), "content", ContentWindowOperator),
    ],
)
def test_layouts_and_their_operators(description, name, operator, monkeypatch):
    assert description.stateLayout == description.layout.name == name
    made = []
    monkeypatch.setattr(
        "flinkish.runtime.task.chain.create_operator",
        lambda context, d: made.append(create_operator(context, d)) or made[-1],  # type: ignore[func-returns-value]
    )
    StreamTestHarness(
        lambda s: s.keyBy(lambda e: e)._transform(description),
    )
    assert [type(each) for each in made] == [operator]


def test_an_aligned_layout_has_the_assigners_times():
    assert windows(TUMBLING).layout == AlignedLayout(size=10, slide=10, offset=3)
    assert windows(SLIDING).layout == AlignedLayout(size=10, slide=5, offset=2)
