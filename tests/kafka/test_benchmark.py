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
    """Says how many seconds each run takes."""

    def __init__(self, seconds: list[float]) -> None:
        self._seconds = iter(seconds)

    def timed(self, run: Callable[[], Any]) -> tuple[float, Any]:
        return next(self._seconds), run()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "timed", Clock([1, 3, 6, 10, 15, 21]).timed)


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


def test_there_is_no_figure_if_the_run_with_few_messages_was_the_slower_one(
    monkeypatch: pytest.MonkeyPatch,
):
    found = dict.fromkeys((FLINKISH, SPARK, FLINK), 7)
    monkeypatch.setattr(benchmark, "timed", Clock([3, 2, 1, 4, 1, 2]).timed)
    *_, rate, spark, flink = row(found).strip("| ").split(" | ")
    assert (rate, spark, flink) == ("-", "- (2.00)", "- (1.00)")
    monkeypatch.setattr(benchmark, "timed", Clock([1, 2, 1, 4, 5, 4]).timed)
    *_, rate, spark, flink = row(found).strip("| ").split(" | ")
    assert (rate, spark, flink) == ("500,000", "3.00 (2.00)", "- (2.00)")


def test_other_results_are_an_error():
    with pytest.raises(AssertionError, match="read: the sides differ"):
        row({FLINKISH: 7, SPARK: 7, FLINK: 8})
