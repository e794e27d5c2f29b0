"""The kernel is interrupted, as by the stop button of a notebook: the job of the cell ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.notebooks

JOB = """
import flinkish as fl
env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
numbers = env.fromSource(fl.DataGeneratorSource(lambda n: n, 2**63 - 1, 10), None, "numbers")
numbers.keyBy(lambda n: n % 2).reduce(lambda a, b: a + b).print()
env.execute("endless")
"""

AFTERWARDS = """
from pyspark.sql import SparkSession
print("running:", [query.name for query in SparkSession.getActiveSession().streams.active])
"""


@pytest.mark.slow("a separate kernel and JVM")
def test_an_interrupted_cell_ends_its_job():
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT))
    try:
        # Else the kernel drops a cell that reaches it soon after one that failed
        cell = client.execute(JOB, stop_on_error=False)
        printed = read_until(client, lambda said: said.get("name") == "stdout", 240)
        assert printed["text"].strip()
        manager.interrupt_kernel()
        reply = reply_to(client, cell)
        assert (reply["status"], reply["ename"]) == ("error", "KeyboardInterrupt")
        after = client.execute(AFTERWARDS)
        assert reply_to(client, after)["status"] == "ok"
        # What the job printed last may come in one message with it
        left = read_until(client, lambda said: "running:" in said.get("text", ""), 120)
        assert left["text"].splitlines()[-1] == "running: []"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def read_until(client, wanted, seconds):
    """Return the kernel's messages, up to the first that is ``wanted``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        said = client.get_iopub_msg(timeout=max(deadline - time.monotonic(), 0.1))["content"]
        if wanted(said):
            return said
    raise TimeoutError("the kernel did not say it in time")


def reply_to(client, cell):
    """The kernel's reply to the cell of that id."""
    while True:
        reply = client.get_shell_msg(timeout=60)
        if reply["parent_header"]["msg_id"] == cell:
            return reply["content"]
