"""A checkpoint stays small: its size reaches a plateau, however many batches come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.spark
@pytest.mark.processes
@pytest.mark.rotating("two minutes; `make soak` looks at the size for an hour")
@pytest.mark.slow("a separate session, which keeps few batches, and 120 small batches")
@pytest.mark.timeout(1200)
def test_the_size_of_a_checkpoint_reaches_a_plateau():
    command = [sys.executable, "-m", "tests.reliability.checkpoint_size"]
    command += ["--keys", "2000", "--batches", "120", "--elements", "200", "--every", "2"]
    command += ["--retain", "3", "--maintenance", "1s"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert ran.returncode == 0, ran.stderr
    sizes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert sizes[-1]["batch"] >= 110
    # Spark removes old files in bursts; what only grew would be more than twice as large
    early = [size for size in sizes if 20 <= size["batch"] <= 45]
    late = [size for size in sizes if size["batch"] > 90]
    for part in ("total", "state", "files"):
        assert max(size[part] for size in late) <= 1.6 * max(size[part] for size in early), sizes
