"""The progress bar, in a terminal and in a notebook, of a program that waits for its job."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

import flinkish as fl
from flinkish.api.display import progress_bar as progress_bars
from flinkish.api.display.notebook import facts
from flinkish.api.display.progress_bar import phase, progress_bar, progress_line
from flinkish.api.execution.details import SourceDetails
from flinkish.api.execution.read_progress import ReadProgress, SourceBacklog
from flinkish.local.executor import LocalPipelineExecutor
from tests.spark.waiting import wait_for
from tests.web.jobs import Client, details


@pytest.fixture
def terminal(monkeypatch, capsys):
    """The text sent to a terminal so far; every line is shown at once."""
    monkeypatch.setattr(progress_bars, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress_bars, "_SECONDS", 0.01)
    monkeypatch.setattr(progress_bars, "_is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    sent: list[str] = []

    def so_far():
        sent.append(capsys.readouterr().err)
        return "".join(sent)

    return so_far


def test_a_terminal_shows_the_phases_from_the_beginning(terminal):
    with progress_bar("clicks") as bar:
        wait_for(lambda: "clicks: planning, " in terminal(), seconds=20)
        with phase("starting Spark"):
            wait_for(lambda: "clicks: starting Spark, " in terminal(), seconds=20)
        client = Client(details(batches=0))
        bar.client = client
        wait_for(lambda: "clicks by user: first batch, " in terminal(), seconds=20)
        client.told = details()
        # What it waits for comes first, as a line ends where the terminal does
        waits = "clicks by user: batch 40, waits for Source: slow, whose watermark ("
        wait_for(lambda: waits in terminal(), seconds=20)
    assert ", files 12/40, files 12/40, about " in terminal()
    assert terminal().endswith("\r\x1b[K")


def started(stream):
    stream.forEachBatch(lambda values, batch: None)
    stream.getExecutionEnvironment().executeAsync("started").getJobExecutionResult()


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (started, "started"),
        (fl.DataStream.preview, "preview"),
        (fl.DataStream.display, "preview"),
        (fl.DataStream.collectAsPandas, "DataStream Collect"),
        (fl.DataStream.collectAsArrow, "DataStream Collect"),
        (lambda stream: stream.executeAndCollect(1), "DataStream Collect"),
        (lambda stream: list(stream.executeAndCollect()), "DataStream Collect"),
    ],
    ids=("executeAsync", "preview", "display", "pandas", "arrow", "limit", "collect"),
)
def test_whatever_starts_a_job_shows_its_phases(run, name, terminal, monkeypatch):
    class PatientExecutor(LocalPipelineExecutor):
        def executeAsync(self, environment, sinks, jobName):
            wait_for(lambda: f"{name}: planning, " in terminal(), seconds=20)
            return super().executeAsync(environment, sinks, jobName)

    monkeypatch.setattr(fl.StreamExecutionEnvironment, "localExecutorLoader", PatientExecutor)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    run(env.fromData(1, 2))
    assert terminal().endswith("\r\x1b[K")


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    monkeypatch.setattr(progress_bars, "_FIRST_SECONDS", 0.0)
    with progress_bar("clicks"):
        pass
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_of_a_short_job(monkeypatch, capsys):
    monkeypatch.setattr(progress_bars, "_is_terminal", lambda: True)
    with progress_bar("clicks"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_line_is_no_longer_than_the_terminal(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    with progress_bar("clicks of all users"):
        wait_for(lambda: "\r\x1b[Kclicks of all users" in terminal(), seconds=20)
    assert "planning" not in terminal()


def with_progress(*read):
    """A job of 40 batches of half a second, after a first of 30 s; its sources have read so much."""
    job = details()
    found = iter(read)
    vertices = tuple(
        replace(vertex, source=SourceDetails(None, None, None, SourceBacklog(next(found, None))))
        if vertex.isSource
        else vertex
        for vertex in job.vertices
    )
    return progress_line(replace(job, vertices=vertices))


def test_the_line_says_how_much_is_read_and_is_left():
    assert ", files 25/100, about 58 s left, 900" in with_progress(ReadProgress(25, 100, "files"))
    assert "files 50/100, files 1/5, about 1 min 16 s left" in with_progress(
        ReadProgress(50, 100, "files"), ReadProgress(1, 5, "files")
    )
    assert "records 60/100, about 15 s left" in with_progress(
        ReadProgress(60, 100, "records", before=10)
    )
    assert "left" not in with_progress(ReadProgress(60, 100, "records", before=60))
    done = with_progress(ReadProgress(5, 5, "files"))
    assert ("files 5/5" in done, "left" in done) == (True, False)
    assert ("files" in with_progress(), "left" in with_progress()) == (False, False)
    assert "records in" not in with_progress()


def test_a_job_of_files_says_how_many_it_has_read(tmp_path):
    for number in range(4):
        (tmp_path / f"{number}.txt").write_text(f"{number}\n")
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    source = fl.FileSource.forLines(str(tmp_path)).withFilesPerBatch(1)
    go_on, lines = threading.Event(), []

    def written(values, batchId):
        assert go_on.wait(20), "there is a client"
        lines.append(progress_line(client.getJobDetails()))

    env.fromSource(source).forEachBatch(written)
    client = env.executeAsync("lines")
    go_on.set()
    client.getJobExecutionResult()
    assert lines[0].startswith("lines: first batch, ")
    assert [
        part for line in lines[1:] for part in line.split(", ") if part.startswith("files")
    ] == ["files 1/4", "files 2/4", "files 3/4"]
    assert all("left" in line for line in lines[1:])
    assert "files 4/4" in progress_line(client.getJobDetails())
    assert facts(client.getJobDetails())["read"] == "files 4/4"


def test_what_a_job_prints_is_on_a_line_of_its_own(terminal, capsys):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    with progress_bar("clicks"):
        wait_for(lambda: "planning" in terminal(), seconds=20)
        progress_bars.clear_progress()
        assert "\r\x1b[K" in terminal()
    env.fromData(1).print()
    env.execute("one")
    assert "1\n" in capsys.readouterr().out


def test_a_notebook_shows_the_same_line_in_place(monkeypatch):
    shown: list[str] = []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/plain"])

    monkeypatch.setattr(progress_bars, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(progress_bars, "_SECONDS", 0.01)
    monkeypatch.setattr(progress_bars, "in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda *content, **options: Handle())
    with progress_bar("clicks") as bar:
        wait_for(lambda: any("planning" in line for line in shown), seconds=20)
        bar.client = Client(details())
        wait_for(lambda: any("batch 40" in line for line in shown), seconds=20)
    wait_for(lambda: shown[-1] == "", seconds=20)


@pytest.mark.slow("separate programs")
@pytest.mark.parametrize(("hook", "lines"), [("", 1), ("sys.excepthook = mine", 2)])
def test_an_interrupted_program_says_so_in_one_line(tmp_path, hook, lines):
    program = tmp_path / "job.py"
    program.write_text(INTERRUPTED.format(hook=hook))
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert ran.returncode in (130, -signal.SIGINT)
    told = "the program's hook\nKeyboardInterrupt" if hook else "clicks: interrupted "
    assert ran.stderr.startswith(told), ran.stderr
    assert len(ran.stderr.splitlines()) == lines


INTERRUPTED = """
import os, signal, sys, threading
import flinkish as fl

def mine(kind, error, trace):
    print("the program's hook", kind.__name__, sep="\\n", file=sys.stderr)

{hook}
wrote = threading.Event()

def interrupt():
    wrote.wait(60)
    os.kill(os.getpid(), signal.SIGINT)

env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
numbers = fl.DataGeneratorSource(lambda n: n, elementsPerSecond=50)
env.fromSource(numbers, None, "numbers").forEachBatch(lambda values, batch: wrote.set())
threading.Thread(target=interrupt).start()
env.execute("clicks")
"""
