"""A program that ends while a job runs says that the job ends with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow("programs of their own")

BEGIN = """
import threading
import flinkish as fl
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
came = threading.Event()
env.fromSource(fl.DataGeneratorSource(str, elementsPerSecond=50)).forEachBatch(lambda v, b: came.set())
client = env.executeAsync("clicks")
came.wait()
"""


@pytest.mark.parametrize(
    ("end", "says"),
    [("", True), ("1 / 0", True), ("client.cancel()", False), ("raise KeyboardInterrupt", False)],
)
def test_a_job_that_is_left_running_is_named(end, says):
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + end], capture_output=True, text=True, check=False
    )
    said = "The job clicks was still running when the program ended, and ends with it: the rest of its results is missing. Wait"
    assert (said in ran.stderr) == says
