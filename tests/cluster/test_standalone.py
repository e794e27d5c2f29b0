"""A real cluster of Spark's, whose processes are killed while a job runs."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.cluster.standalone import StandaloneCluster
from tests.reliability.processes import ROOT, kill

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow("starts a cluster of three JVMs, and an executor for each worker"),
    pytest.mark.timeout(900),
]

JOB = ROOT / "tests" / "cluster" / "clicks_job.py"

ACCOUNTS = ROOT / "tests" / "cluster" / "accounts_job.py"

FILES = 5

PATIENCE = 400.0
"""Seconds for a job whose processes are killed, on a machine with other things to do."""


def assert_without_flinkish(cluster: StandaloneCluster, directory: Path) -> None:
    """The executors do not find flinkish by themselves."""
    alone = [str(cluster.python), "-c", "import pyspark, pandas, flinkish"]
    variables = cluster.environment(PYTHONPATH="")
    found = subprocess.run(alone, env=variables, cwd=directory, capture_output=True)
    assert b"No module named 'flinkish'" in found.stderr


def write_input(directory: Path) -> None:
    """Files with clicks out of order, some of them too late."""
    choice = random.Random(18)
    (directory / "input").mkdir(parents=True)
    for file in range(FILES):
        lines = [
            f"user {choice.randrange(7)},{file * 100 + number},{file * 60 + choice.randrange(110)}\n"
            for number in range(60)
        ]
        path = directory / "input" / f"{file:03d}.csv"
        path.write_text("".join(lines))
        # Files are read by their times
        os.utime(path, (1_700_000_000 + file,) * 2)


def run_locally(directory: Path, variables: dict[str, str]) -> None:
    """Run the job in a process, without Spark."""
    subprocess.run([sys.executable, str(JOB), str(directory)], env=variables, check=True)


def results(directory: Path) -> dict[str, Counter[str]]:
    """All that the job has written, by sink."""
    rows = {
        name: [line for file in directory.glob(f"{name}/batch=*/part-*") for line in lines_of(file)]
        for name in ("sessions", "totals")
    }
    batches = (directory / "batches").glob("*.json")
    rows["batches"] = [json.dumps(row) for file in batches for row in json.loads(file.read_text())]
    return {name: Counter(found) for name, found in rows.items()}


def lines_of(file: Path) -> list[str]:
    return [json.dumps(json.loads(line), sort_keys=True) for line in file.read_text().splitlines()]


def await_batch(directory: Path, number: int, job: subprocess.Popen[str]) -> None:
    """Return once Spark has begun a batch, which is some seconds before its end."""
    until = time.monotonic() + PATIENCE
    while not (directory / f"checkpoint/query/offsets/{number}").exists():
        assert job.poll() is None, "the job has ended before it was to be disturbed"
        assert time.monotonic() < until, f"batch {number} has not begun"
        time.sleep(0.02)


@pytest.mark.rotating("a job on a cluster runs with each commit")
def test_a_savepoint_is_made_and_read_by_sessions_that_have_run_no_job(tmp_path):
    cluster = StandaloneCluster(tmp_path / "cluster", workers=1)
    try:
        assert_without_flinkish(cluster, tmp_path)
        for step in ("make", "read"):
            command = [sys.executable, str(ACCOUNTS), step, str(tmp_path), cluster.master]
            ended = subprocess.run(
                command, env=cluster.environment(), capture_output=True, text=True, timeout=PATIENCE
            )
            assert ended.returncode == 0, ended.stderr[-5000:]
    finally:
        cluster.close()
    assert json.loads((tmp_path / "accounts.json").read_text()) == {
        "balances": [["ada", 70], ["bob", 50]],
        "timers": [["ada", 970], ["ada", 1100], ["bob", 1050]],
    }


def test_an_executor_and_a_worker_are_killed_while_a_job_of_the_main_script_runs(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    write_input(whole)
    write_input(killed)
    cluster = StandaloneCluster(tmp_path / "cluster")
    try:
        assert_without_flinkish(cluster, tmp_path)
        command = [sys.executable, str(JOB), str(killed), cluster.master]
        with (tmp_path / "job.log").open("w") as log:
            job = subprocess.Popen(
                command, env=cluster.environment(), stdout=log, stderr=log, text=True
            )
            try:
                await_batch(killed, 1, job)
                first = cluster.executors()
                kill([first[0].pid])
                await_batch(killed, 3, job)
                # When a worker ends, its executor ends too
                kill([cluster.workers[1].pid])
                ended_at = commits(killed)
                run_locally(whole, cluster.environment())
                assert job.wait(PATIENCE) == 0, (tmp_path / "job.log").read_text()[-5000:]
            finally:
                job.kill()
                job.wait()
        assert len(first) == 2
        assert cluster.workers[1].poll() is not None
        assert ended_at < commits(killed)
        executors = set((tmp_path / "cluster").glob("work-*/app-*/[0-9]*"))
        assert len(executors) > 2, "no executor was started in place of the one that was killed"
    finally:
        cluster.close()
    expected = results(whole)
    assert min(found.total() for found in expected.values()) > 5
    assert results(killed) == expected


def commits(directory: Path) -> int:
    """Return the number of committed batches."""
    return len(list((directory / "checkpoint/query/commits").glob("[0-9]*")))
