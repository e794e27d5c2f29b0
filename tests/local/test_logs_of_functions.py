"""Logs of functions in local execution are printed where the program has set up no logging, as Python does."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow("separate programs")

PROGRAM = """
import logging
import os
import sys
import flinkish as fl

log = logging.getLogger("jobs")

def noted(value):
    log.info("not shown")
    log.warning("saw %s", value)
    return value

def run(handler):
    if handler == "root":
        logging.basicConfig(format="%(message)s")
    if handler == "own":
        log.addHandler(logging.StreamHandler())
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    at = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, t: 1_760_000_000)
    env.fromData("a").map(noted).name("watch").assignTimestampsAndWatermarks(at).forEachBatch(lambda v, b: None)
    env.execute()

# Each in a separate process, which need not import anything again
for handler in sys.argv[1:]:
    print("==", file=sys.stderr)
    child = os.fork()
    if not child:
        try:
            run(handler)
        finally:
            sys.stderr.flush()
            os._exit(sys.exc_info()[0] is not None)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_each_record_is_printed_once():
    handlers = ["none", "root", "own"]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *handlers], capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 0, ran.stderr
    printed = ran.stderr.split("==\n")[1:]
    for handler, text in zip(handlers, printed, strict=True):
        seen = [line for line in text.splitlines() if "saw" in line]
        assert seen == ["[watch] saw a" if handler == "none" else "saw a"], handler
        assert "If these are seconds, multiply them by 1000." in text
        assert "not shown" not in text
