"""Runs a job on flinkish's session until the process is terminated; run by ``test_job_life.py``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import flinkish as fl

READY = Path(sys.argv[1])


def slow(value):
    READY.touch()
    time.sleep(0.02)
    return value


env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(2)
numbers = env.fromSequence(1, 1_000_000)
numbers.keyBy(lambda n: n % 2).map(slow).sinkTo(fl.DiscardingSink())
env.execute()
