"""Spark's calls of a stage's processor, in separate processes."""

from __future__ import annotations

import subprocess
import sys

from pyspark import cloudpickle

import flinkish.spark.translation  # noqa: F401 - how processors are pickled
from flinkish.spark.processor import StageProcessor

UNPICKLE = """
import pickle, sys
processor = pickle.load(sys.stdin.buffer)
print(type(processor).__name__, any(name.startswith("flinkish") for name in sys.modules))
"""


def test_a_process_that_asks_for_its_states_imports_nothing_of_flinkish() -> None:
    """Spark starts one for each stage of each query, and a query waits for it."""
    pickled = cloudpickle.dumps(StageProcessor(b"of a stage"))
    run = subprocess.run(
        [sys.executable, "-c", UNPICKLE], input=pickled, capture_output=True, check=True
    )
    assert run.stdout.split() == [b"StageProcessor", b"False"]
