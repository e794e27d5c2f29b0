"""A job that is killed at any moment goes on as if nothing had been: docs/reliability.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.reliability.kill_loop import (
    Kill,
    differences,
    driver_in,
    episode,
    loop,
    new_directory,
)
from tests.reliability.processes import gone, kill, tree_of, victims

KILLS = 200


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.slow("starts three JVMs, and kills one of them")
@pytest.mark.timeout(1200)
def test_a_job_killed_at_four_moments_gives_what_an_undisturbed_one_does(tmp_path):
    kills = [
        Kill("worker", "state", 0.01, 0),
        Kill("planner", "plan", 0.0, 0),
        Kill("tree", "offsets", 0.03, 1),
        Kill("workers", "windows", 0.0, 0),
    ]
    struck = []
    with driver_in(tmp_path) as driver:
        result = episode(driver, tmp_path, 7, kills, struck.append)
    assert result["differences"] == []
    assert [line for line in struck if not (line["hit"] and line["killed"])] == []
    assert len(struck) == 4
    assert result["steps"] > 2
    assert min(result["windows"], result["late"], result["expired"]) > 0


@pytest.mark.spark
@pytest.mark.kills
@pytest.mark.slow("kills a job hundreds of times")
@pytest.mark.timeout(0)
def test_a_job_killed_hundreds_of_times_gives_what_an_undisturbed_one_does():
    """Goes on where it was interrupted: its state is in ``build/kills``."""
    episodes = loop(Path("build/kills"), KILLS, 20, seed=1)
    assert [found for one in episodes for found in one["differences"]] == []


# ---- what the loop would find ------------------------------------------------------------------


ROWS = [["window", "a", 0, [1, 2]], ["late", "a", 3, 10]]


def run_of(directory, windows=ROWS, clocked=(("recent", "a", 1, 1), ("fired", "a", 1))):
    new_directory(directory)
    for name, rows in (("windows/batch=0", windows), ("expired/batch=0", [])):
        (directory / name).mkdir(parents=True)
        (directory / name / "part-0").write_text("".join(f"{json.dumps(r)}\n" for r in rows))
    (directory / "clocked/0.json").write_text("".join(f"{json.dumps(r)}\n" for r in clocked))
    return directory


def test_runs_that_are_equal_do_not_differ(tmp_path):
    assert differences(run_of(tmp_path / "killed"), run_of(tmp_path / "whole"), {1}) == []


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"windows": ROWS[:1]}, 'windows lost 1: ["late", "a", 3, 10]'),
        ({"windows": [*ROWS, ROWS[1]]}, 'windows doubled 1: ["late", "a", 3, 10]'),
        (
            {"windows": [ROWS[1], ["window", "a", 0, [1]]]},
            'windows lost 1: ["window", "a", 0, [1, 2]]',
        ),
        ({"clocked": [("recent", "a", 1, 1)]}, "fired 0 times: 1"),
        ({"clocked": [("recent", "a", 1, 1), *[("fired", "a", 1)] * 2]}, "fired 2 times: 1"),
        ({"clocked": [("recent", "a", 1, 2), ("fired", "a", 1)]}, "recent went from 0 to 2: a, 1"),
    ],
)
def test_what_was_lost_or_doubled_is_said(tmp_path, changed, found):
    killed = run_of(tmp_path / "killed", **changed)
    assert found in differences(killed, run_of(tmp_path / "whole"), {1})


def test_a_batch_that_came_again_otherwise_is_said(tmp_path):
    killed = run_of(tmp_path / "killed")
    shutil.copy(killed / "clocked/0.json", killed / "clocked/0.differs-1")
    assert differences(killed, run_of(tmp_path / "whole"), {1}) == [
        f"came again otherwise: {killed / 'clocked/0.differs-1'}"
    ]


def test_a_tree_of_processes_is_killed_and_nothing_else():
    nested = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", nested], stdin=subprocess.PIPE) as process:
        while len(tree := tree_of(process.pid)) < 2:
            time.sleep(0.01)
        assert os.getpid() not in [found.pid for found in tree]
        assert victims("jvm", process.pid, choice=None) == []
        kill(found.pid for found in tree)
        process.wait()
        while not all(gone(found.pid) for found in tree):
            time.sleep(0.01)
