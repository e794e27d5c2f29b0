"""Classes of the main script on Spark: a program goes on from a checkpoint, and from a savepoint without Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.runtime.test_main_classes import FIRST, ROOT, SCRIPT, THEN, FailedError, changed

pytestmark = pytest.mark.recovery


def run(engine: str, directory: Path, numbers: tuple[int, ...], script: Path = SCRIPT) -> list[str]:
    """Return the output of the script, run as a separate program with these numbers as
    arguments."""
    done = subprocess.run(
        [sys.executable, str(script), engine, str(directory), *map(str, numbers)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
    )
    if done.returncode:
        raise FailedError(done.stderr)
    results: list[str] = json.loads(done.stdout)
    return results


@pytest.mark.slow("three programs with Spark")
def test_a_new_process_goes_on(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    due = Counter(run("local", whole, FIRST + THEN))
    before = run("spark", cut, FIRST)
    with pytest.raises(FailedError) as said:
        run("spark", cut, THEN, changed(tmp_path, {"Sensor": "Probe"}))
    last = str(said.value).strip().splitlines()[-1]
    assert "IncompatibleCheckpointError: " in last
    assert "state '" in last
    assert "class Sensor of the main script" in last
    assert Counter(before + run("spark", cut, THEN, SCRIPT)) == due, "from the checkpoint"
    assert Counter(before + run("local", cut, THEN)) == due, "from the savepoint"
