"""A cell that starts a job is run again while the job still runs."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace

import pytest

import flinkish as fl
from flinkish.api.execution import cells

CELL = """
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=10)).addSink(print)
client = env.executeAsync(NAME)
"""


@pytest.fixture
def offered(monkeypatch):
    """The jobs that the user was offered to cancel."""
    found: list[fl.JobClient] = []
    monkeypatch.setattr(cells, "_offer_to_cancel", found.append)
    return found


@pytest.fixture
def run(monkeypatch, offered):
    """Runs the cell with a name for its job, and returns the client."""
    shell = SimpleNamespace(execution_count=0)
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(cells, "_started", [])
    clients = []

    def again(name, file="cell-1"):
        shell.execution_count += 1
        names = {"__name__": "__main__", "fl": fl, "NAME": name}
        exec(compile(CELL, file, "exec"), names)
        clients.append(names["client"])
        return names["client"]

    yield again
    for client in clients:
        client.cancel()


@pytest.mark.parametrize(
    ("first", "second"),
    [((None, "cell-1"), (None, "cell-1")), (("clicks", "cell-1"), ("clicks", "edited"))],
)
def test_a_job_that_still_runs_is_named_and_can_be_cancelled(run, offered, caplog, first, second):
    before = run(*first)
    assert caplog.records == []
    with caplog.at_level(logging.WARNING, "flinkish"):
        run(*second)
    (record,) = caplog.records
    assert f"The job {before.getJobID()} that an earlier run" in record.getMessage()
    assert offered == [before]


def test_other_jobs_and_those_that_have_ended_are_not(run, offered, caplog):
    run("clicks")
    run("prices", "cell-2")
    run(None, "cell-3")
    run(None, "cell-4").cancel()
    run(None, "cell-4")
    assert caplog.records == []
    assert offered == []


def test_outside_of_a_notebook_nothing_is_said(run, caplog, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython")
    run("clicks")
    run("clicks")
    assert caplog.records == []
