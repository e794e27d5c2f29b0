"""The sources among several aligned ones that may read on."""

from __future__ import annotations

from flinkish.runtime.sources.alignment import AlignedPlanner, SourceAlignment
from flinkish.runtime.sources.planners import NumberPlanner


def test_a_source_waits_while_it_is_too_far_ahead_of_any_other():
    alignment = SourceAlignment("a", ("a", "b", "c"), 10, 1_000)
    assert alignment.mayRead({})
    assert alignment.mayRead({"a": None, "b": 5, "c": 5})
    assert not alignment.mayRead({"a": 5, "b": None, "c": 5}), "b has sent nothing yet"
    assert alignment.mayRead({"a": 15, "b": 5, "c": 90})
    assert not alignment.mayRead({"a": 16, "b": 5, "c": 90})
    assert alignment.mayRead({"a": 5, "b": 10**6, "c": 10**6}), "the lowest never waits"


def test_a_planner_looks_again_after_its_interval():
    now, noted, looks = [0.0], {"a": 100, "b": 0}, []

    def watermarks():
        looks.append(now[0])
        return dict(noted)

    alignment = SourceAlignment("a", ("a", "b"), 10, 500)
    planner = AlignedPlanner(NumberPlanner(0, 9, 5, 1), alignment, watermarks, lambda: now[0])
    assert planner.plan() is None
    noted["b"] = 90
    now[0] = 0.4
    assert planner.plan() is None
    assert looks == [0.0]
    now[0] = 0.5
    step = planner.plan()
    assert step is not None
    assert step.pieces == [(0, 4)]
    assert planner.plan() is not None
    assert planner.plan() is None, "the source has ended"
    again = AlignedPlanner(NumberPlanner(0, 9, 5, 1), alignment, watermarks, lambda: now[0])
    again.restore(planner.snapshot(), ())
    assert again.position() == planner.position() == {"next": 10}
    assert again.plan() is None
