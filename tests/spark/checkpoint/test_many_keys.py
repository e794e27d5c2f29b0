"""State and timers of 100,000 keys, over a kill and a restart with another number of cores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.spark.waiting import wait_for
from tests.watched import drop

ROOT = Path(__file__).parents[3]
KEYS = 100_000


def write_input(directory):
    """First every key once, then every key again, then one that moves the watermark."""
    directory.mkdir()
    every = "\n".join(f"{key},0" for key in range(KEYS))
    for number, lines in enumerate((every, every, "0,2700")):
        drop(directory, f"{number}.csv", lines + "\n", changed=1_767_225_600 + number)


def started(tmp_path, master, parallelism, held, log):
    arguments = [str(tmp_path / part) for part in ("input", "output", "checkpoint")]
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.spark.checkpoint.many_keys_job",
            master,
            parallelism,
            held,
            *arguments,
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def committed(tmp_path):
    return sorted(p.name for p in (tmp_path / "checkpoint" / "query" / "commits").glob("[0-9]*"))


@pytest.mark.processes
@pytest.mark.rotating("a loop of kills runs with each commit; this one has many keys")
@pytest.mark.slow("starts Spark twice, with 300,000 timers")
def test_state_and_timers_of_many_keys_go_on_with_other_cores_after_a_kill(tmp_path):
    """It is killed when the second batch has written its state and is not committed. The second run does not say its
    parallelism: it goes on with that of the checkpoint."""
    write_input(tmp_path / "input")
    with (tmp_path / "log").open("w") as log:
        first = started(tmp_path, "local[1]", "2", "1", log)
        wait_for(lambda: first.poll() is not None or (tmp_path / "output.held").exists())
        assert first.poll() is None, (tmp_path / "log").read_text()
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        assert committed(tmp_path) == ["0"], "it was killed before the timers fired"
        second = started(tmp_path, "local[2]", "0", "-1", log)
        assert second.wait(300) == 0, (tmp_path / "log").read_text()
    fired = defaultdict(list)
    for part in sorted((tmp_path / "output").glob("batch=*/part-*")):
        for line in part.read_text().splitlines():
            key, timestamp, count = map(int, line.split(","))
            fired[key].append((timestamp, count))
    expected = {key: [(1000 + key % 500, 2), (3000 + key % 500, 2)] for key in range(KEYS)}
    expected[0] = [(1000, 3), (3000, 3)]
    assert fired == expected, "once each, in order"
