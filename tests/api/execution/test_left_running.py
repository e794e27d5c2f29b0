"""A program that ends while a job runs says that the job ends with it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow("separate programs")

BEGIN = """
import atexit, builtins, threading
import flinkish as fl
import flinkish.local.job
builtins.entered, builtins.held = threading.Event(), threading.Event()
def held_back(number):
    entered.set()
    held.wait()
    return number
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
env.fromData(1, 2).map(held_back).sinkTo(fl.DiscardingSink())
atexit.register(held.set)
client = env.executeAsync("clicks")
entered.wait()
"""
"""The job is in the middle of a batch, whose task keeps what is logged."""


@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("", True),
        ("1 / 0", True),
        ("held.set(); client.awaitTermination()", False),
        ("raise KeyboardInterrupt", False),
    ],
)
def test_a_job_that_is_left_running_is_named(end, says):
    ran = subprocess.run(
        [sys.executable, "-c", BEGIN + end], capture_output=True, text=True, check=False
    )
    said = "The job clicks was still running when the program ended, and ends with it: the rest of its results is missing. Wait"
    assert (said in ran.stderr) == says
