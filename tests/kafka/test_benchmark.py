"""The table of ``make bench-kafka``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.kafka.benchmark import FEW, FLINK, FLINKISH, SPARK, Took, compare


class Bench:
    """Finds what it is told to."""

    def __init__(self, found: dict[str, int]) -> None:
        self._found = found

    def run(self, job: str, side: str) -> int:
        return self._found[side]

    def results(self, job: str, found: int) -> int:
        return found


class Sides:
    """Take one second more with each run, with half of that as processor time."""

    def __init__(self) -> None:
        self._runs = 0

    def of(self, job: str) -> list[str]:
        return [FLINKISH, SPARK, FLINK]

    def timed(self, side: str, run: Callable[[], Any]) -> tuple[Took, Any]:
        self._runs += 1
        return Took(self._runs, self._runs / 2), run()


def row(found: dict[str, int]) -> str:
    benches: list[Any] = [Bench(found), Bench(found)]
    sides: Any = Sides()
    return compare("read", benches, sides, FEW + 500_000, 1)


def test_a_row_has_seconds_processor_time_and_what_a_message_costs():
    """Each side runs with few messages first."""
    cells = row(dict.fromkeys((FLINKISH, SPARK, FLINK), 7)).strip("| ").split(" | ")
    assert cells == [
        "read",
        "2.0 (1.0; 1.0)",
        "4.0 (2.0; 1.0)",
        "6.0 (3.0; 1.0)",
        "250,500",
        "2.00 (2.00)",
        "3.00 (3.00)",
    ]


def test_other_results_are_an_error():
    with pytest.raises(AssertionError, match="read: the sides differ"):
        row({FLINKISH: 7, SPARK: 7, FLINK: 8})
