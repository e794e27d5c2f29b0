"""What functions log in local execution is printed where the program has set up no logging, as Python does."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import logging
import sys
import flinkish as fl

log = logging.getLogger("jobs")
if sys.argv[1] == "root":
    logging.basicConfig(format="%(message)s")
if sys.argv[1] == "own":
    log.addHandler(logging.StreamHandler())

def noted(value):
    log.info("not shown")
    log.warning("saw %s", value)
    return value

env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: 1_760_000_000)
env.fromData("a").map(noted).name("watch").assignTimestampsAndWatermarks(at).forEachBatch(lambda v, b: None)
env.execute()
"""


@pytest.mark.parametrize("handler", ["none", "root", "own"])
def test_each_record_is_printed_once(handler):
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, handler], capture_output=True, text=True, timeout=120
    )
    seen = [line for line in ran.stderr.splitlines() if "saw" in line]
    assert (ran.returncode, seen) == (0, ["[watch] saw a" if handler == "none" else "saw a"])
    assert "If these are seconds, multiply them by 1000." in ran.stderr
    assert "not shown" not in ran.stderr
