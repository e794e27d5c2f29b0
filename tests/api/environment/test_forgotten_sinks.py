"""Sinks that no job has taken, and those that a notebook's cell adds once more, are named."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow("separate programs")

BEGIN = """
import flinkish as fl
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
stream = env.fromData(1, 2)
stream.map(lambda n: n).print().name("my print")
"""


def said_at_the_end_of(program):
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    return ran.stderr


def test_a_program_without_execute_says_so_at_its_end():
    said = said_at_the_end_of(BEGIN)
    assert said.strip() == (
        "The job was not run: execute() was not called after my print was added. End the program in env.execute()."
    )


@pytest.mark.parametrize("end", ["env.execute()", "env.explain()", "del stream, env"])
def test_a_program_that_has_run_or_looked_says_nothing(end):
    assert said_at_the_end_of(BEGIN + end) == ""


def test_an_error_says_enough():
    assert "was not run" not in said_at_the_end_of(BEGIN + "1 / 0")


def test_a_cell_that_is_run_again_names_the_sink_that_is_there_twice(caplog):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell()
    interactive.InteractiveShell._instance = shell
    try:
        with caplog.at_level(logging.WARNING, "flinkish"):
            cells = [BEGIN.partition("stream.map")[0], "stream.print();", "stream.print();"]
            for cell in ("import builtins", *cells):
                assert shell.run_cell(cell, store_history=True).success
            assert [r.getMessage().partition(" was")[0] for r in caplog.records] == [
                "Print to Std. Out"
            ]
            caplog.clear()
            for cell in ("env.execute();", "stream.print();", "for _ in 'ab': stream.print();"):
                assert shell.run_cell(cell, store_history=True).success
            assert not caplog.records
    finally:
        interactive.InteractiveShell._instance = None
