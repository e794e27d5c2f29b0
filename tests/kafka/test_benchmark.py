"""The table of ``make bench-kafka``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.kafka import benchmark
from tests.kafka.benchmark import FEW, FLINK, FLINKISH, SPARK


class Bench:
    """Finds the results it is given."""

    def __init__(self, found: dict[str, int]) -> None:
        self._found = found

    def run(self, job: str, side: str) -> int:
        return self._found[side]

    def results(self, job: str, found: int) -> int:
        return found


class Clock:
    """The n-th run takes the sum of the numbers up to n, in seconds."""

    def __init__(self) -> None:
        self._runs = 0

    def timed(self, run: Callable[[], Any]) -> tuple[float, Any]:
        self._runs += 1
        return self._runs * (self._runs + 1) / 2, run()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "timed", Clock().timed)


def row(found: dict[str, int]) -> str:
    benches: list[Any] = [Bench(found), Bench(found)]
    return benchmark.compare("read", benches, [FLINKISH, SPARK, FLINK], FEW + 500_000, 1)


def test_a_row_has_whole_jobs_their_starts_and_the_ratios_beyond():
    """Each side runs with few messages first."""
    cells = row(dict.fromkeys((FLINKISH, SPARK, FLINK), 7)).strip("| ").split(" | ")
    assert cells == [
        "read",
        "3.0 (1.0)",
        "10.0 (6.0)",
        "21.0 (15.0)",
        "250,000",
        "2.00 (3.33)",
        "3.00 (7.00)",
    ]


def test_other_results_are_an_error():
    with pytest.raises(AssertionError, match="read: the sides differ"):
        row({FLINKISH: 7, SPARK: 7, FLINK: 8})
