"""The sources among several aligned ones that may read on."""

from __future__ import annotations

from flinkish.runtime.sources.alignment import AlignedReading, SourceAlignment


def test_a_source_waits_while_it_is_too_far_ahead_of_any_other():
    alignment = SourceAlignment("a", ("a", "b", "c"), 10, 1_000)
    assert alignment.mayRead({})
    assert alignment.mayRead({"a": None, "b": 5, "c": 5})
    assert not alignment.mayRead({"a": 5, "b": None, "c": 5}), "b has sent nothing yet"
    assert alignment.mayRead({"a": 15, "b": 5, "c": 90})
    assert not alignment.mayRead({"a": 16, "b": 5, "c": 90})
    assert alignment.mayRead({"a": 5, "b": 10**6, "c": 10**6}), "the lowest never waits"


def test_the_watermarks_are_looked_at_again_after_the_interval():
    now, noted, looks = [0.0], {"a": 100, "b": 0}, []

    def watermarks():
        looks.append(now[0])
        return dict(noted)

    alignment = SourceAlignment("a", ("a", "b"), 10, 500)
    mayRead = AlignedReading(alignment, watermarks, lambda: now[0])
    assert not mayRead()
    noted["b"] = 90
    now[0] = 0.4
    assert not mayRead()
    assert looks == [0.0]
    now[0] = 0.5
    assert mayRead()
    assert mayRead()
    assert looks == [0.0, 0.5, 0.5]
