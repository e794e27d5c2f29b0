"""A short form of ``make kills-kafka``, and what that would find."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.kafka.hit_job import Run
from tests.kafka.kill_loop import Progress, differences, expected, run

SENT = [("a", 0, 100), ("b", 1, 120), ("a", 2, 1_050), ("end0", 0, 9_000)]
GIVEN = [
    "a|element|1|0",
    "a|element|2|2",
    "a|timer|100",
    "a|timer|1050",
    "a|window|0|[0]",
    "a|window|1000|[2]",
    "b|element|1|1",
    "b|timer|120",
    "b|window|0|[1]",
]


@pytest.mark.kafka
@pytest.mark.slow("starts a program with Spark three times")
@pytest.mark.rotating("test_transactions.py kills a writer at each of its steps")
@pytest.mark.timeout(1200)
def test_a_job_that_is_killed_loses_and_doubles_nothing(tmp_path: Path):
    chosen = ["worker", "elsewhere"]
    assert run(tmp_path, chosen, seed=1, away=0, rescaleAfter=len(chosen)) == []


def test_what_is_expected():
    assert expected(SENT) == Counter(GIVEN)
    assert differences([*GIVEN, "end0|element|1|0"], Counter(GIVEN)) == []


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (GIVEN[1:], "lost 1: a|element|1|0"),
        ([*GIVEN, GIVEN[-1]], "doubled 1: b|window|0|[1]"),
        ([GIVEN[1], GIVEN[0], *GIVEN[2:]], "not in order: a|element|1|0"),
    ],
)
def test_what_is_wrong_is_said(found, wrong):
    assert differences(found, Counter(GIVEN)) == [wrong]


def test_what_was_done_is_noted(tmp_path: Path):
    file = tmp_path / "progress.json"
    assert Progress.read(file) is None
    run = Run("localhost:1", "elements", "results", "checkpoint", 3, "savepoint")
    done = Progress(run, {"worker": 2, "away": 1}, rescales=2, starts=4)
    done.write(file)
    assert Progress.read(file) == done
    assert done.count == 3
