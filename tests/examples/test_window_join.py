"""WindowJoin on the harness: pairs of one name and one window."""

from __future__ import annotations

from examples.window_join import Grade, Person, Salary, build
from flinkish import StreamRecord
from flinkish.testing import StreamTestHarness
from tests.streams import values


def test_all_pairs_of_a_name_and_window_come_out_when_both_watermarks_have_passed() -> None:
    harness = StreamTestHarness(build)
    harness.processElement1(Grade("tom", 1, 100))
    harness.processElement1(Grade("tom", 2, 1999))
    harness.processElement1(Grade("tom", 3, 2000))  # the next window
    harness.processElement1(Grade("bob", 4, 500))  # has no salary
    harness.setProcessingTime(200)
    assert values(harness) == []
    harness.processElement2(Salary("tom", 900, 0))
    harness.processElement2(Salary("alice", 700, 2100))
    harness.setProcessingTime(400)
    # Grades are at 1999, as the watermark is one below the last timestamp.
    assert values(harness) == [Person("tom", 1, 900), Person("tom", 2, 900)]
    assert harness.getOutput()[0] == StreamRecord(Person("tom", 1, 900), 1999)
    harness.processElement2(Salary("tom", 950, 3999))
    harness.endInput()
    assert values(harness)[2:] == [Person("tom", 3, 950)]


def test_the_window_size_is_an_option() -> None:
    harness = StreamTestHarness(lambda grades, salaries: build(grades, salaries, 100))
    harness.processElement1(Grade("tom", 1, 0))
    harness.processElement2(Salary("tom", 800, 99))
    harness.processElement2(Salary("tom", 900, 100))
    harness.endInput()
    assert values(harness) == [Person("tom", 1, 800)]
