"""The command line: programs run, are listed, stopped and explained; a new project passes its own checks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import flinkish as fl
from flinkish.api.execution.client import JobStatus
from flinkish.cli import run_directory
from flinkish.cli.main import main
from flinkish.cli.run_directory import Program, programs, registered
from flinkish.web.server import WebServer
from tests.savepoint_jobs import stopped
from tests.spark.waiting import wait_for
from tests.web.jobs import Client, details

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_run_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def server():
    """A program of which this process is the driver."""
    served = WebServer()
    with registered(Program(os.getpid(), "job.py", served.address, served.token)):
        yield served
    served.close()


def script(tmp_path, text):
    file = tmp_path / "job.py"
    file.write_text(dedent(text))
    return str(file)


JOB = """
    import sys
    import flinkish as fl
    if __name__ == "__main__":
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        numbers = env.fromCollection([1, 2, 3]).map(lambda n: n * 2).name("doubled")
        numbers.keyBy(lambda n: n).reduce(max).print()
        env.execute(" ".join(["doubles", *sys.argv[1:]]))
        raise AssertionError("what comes after the job is not reached")
"""


def test_explain_shows_what_would_run_and_runs_nothing(tmp_path, capsys):
    assert main(["explain", script(tmp_path, JOB), "--of", "ten"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(
        "doubles --of ten\nStage 0 (sources)\n  Source: Collection Source -> doubled"
    )
    assert main(["explain", "--json", script(tmp_path, JOB)]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"]
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    assert "Stage 0" not in env.explain().splitlines()[1:]


def test_explain_says_that_there_is_no_job(tmp_path, capsys):
    assert main(["explain", script(tmp_path, "print('hello')")]) == 1
    assert "without a job" in capsys.readouterr().err


def test_run_runs_a_program_as_python_does(tmp_path, capsys, monkeypatch):
    file = script(
        tmp_path,
        """
        import sys
        import beside
        import flinkish as fl
        print(__name__, sys.argv[1:], beside.NAME)
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        print(env.getCheckpointConfig().getCheckpointStorage(), env.getParallelism())
        env.enableCheckpointing("mine")
        print(env.getCheckpointConfig().getCheckpointStorage())
        """,
    )
    (tmp_path / "beside.py").write_text("NAME = 'found'")
    before = sys.argv, sys.path[:]
    assert main(["run", "--checkpoint", "dir", "-p", "3", file, "--input", "x"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "__main__ ['--input', 'x'] found",
        "dir 3",
        "mine",
    ]
    assert (sys.argv, sys.path) == before
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    assert env.getCheckpointConfig().getCheckpointStorage() is None
    assert list(programs()) == []


@pytest.mark.parametrize(
    ("given", "checkpoint", "left"),
    [
        (["--checkpoint", "dir", "SCRIPT", "x"], "dir", ["x"]),
        (["SCRIPT", "--checkpoint", "dir", "x", "--web"], "dir", ["x", "--web"]),
        (["SCRIPT", "--checkpoint=dir", "--web", "x"], "dir", ["x"]),
        (["SCRIPT", "--web", "0", "--checkpoint", "dir", "--input", "5"], "dir", ["--input", "5"]),
        (["SCRIPT", "--", "--checkpoint", "dir"], None, ["--checkpoint", "dir"]),
        (["--checkpoint", "one", "SCRIPT", "-p", "2"], "one", []),
        (["SCRIPT"], None, []),
    ],
)
def test_options_come_before_the_script_or_after_it(tmp_path, capsys, given, checkpoint, left):
    file = script(
        tmp_path,
        """
        import sys
        import flinkish as fl
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        print([env.getCheckpointConfig().getCheckpointStorage(), sys.argv[1:]])
        """,
    )
    assert main(["run", *(file if part == "SCRIPT" else part for part in given)]) == 0
    assert capsys.readouterr().out.strip() == str([checkpoint, left])


@pytest.mark.parametrize(
    "given",
    [["-s", "dir", "-n", "SCRIPT"], ["SCRIPT", "--fromSavepoint=dir", "--allowRepeatedOutput"]],
)
def test_run_begins_from_a_savepoint(tmp_path, capsys, given):
    file = script(
        tmp_path,
        """
        import flinkish as fl
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        begin = env.getSavepointRestoreSettings()
        print(begin.getRestorePath(), begin.allowNonRestoredState(), begin.allowRepeatedOutput())
        """,
    )
    assert main(["run", *(file if part == "SCRIPT" else part for part in given)]) == 0
    assert capsys.readouterr().out.split() == ["dir", str("-n" in given), str("-n" not in given)]


def test_run_says_where_the_page_is_if_it_is_asked_to(tmp_path, capsys):
    assert main(["run", script(tmp_path, "")]) == 0
    assert capsys.readouterr().err == ""
    assert main(["run", "--web", "0", script(tmp_path, "")]) == 0
    assert re.search(r"http://127\.0\.0\.1:\d+/#token=", capsys.readouterr().err)


def test_the_page_listens_where_it_is_told_to_with_the_token_of_the_environment(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("FLINKISH_WEB_TOKEN", "known")
    file = script(tmp_path, "import sys; print(sys.argv[1:])")
    assert main(["run", "--host", "0.0.0.0", "--web", "0", file, "--host", "other"]) == 0
    told = capsys.readouterr()
    assert re.search(r"http://0\.0\.0\.0:\d+/#token=known$", told.err.strip())
    assert told.out.strip() == "['--host', 'other']", "an option of the program's own"
    assert main(["run", "--host", "127.0.0.1", file]) == 0
    assert re.search(r"http://127\.0\.0\.1:\d+/#token=known$", capsys.readouterr().err.strip())


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["--web", "SCRIPT"], []),
        (["--web", "SCRIPT", "--web", "0", "x"], ["x"]),
        (["--web", "SCRIPT", "x", "--web", "y"], ["x", "--web", "y"]),
        (["--we", "SCRIPT", "8080"], ["8080"]),
        (["--checkpoint", "dir", "-p", "2", "--web", "SCRIPT", "x"], ["x"]),
        (["-s", "dir", "-n", "--web", "SCRIPT"], []),
        (["--check", "dir", "--web", "SCRIPT"], []),
        (["--web", "-p", "2", "SCRIPT"], []),
        (["--web=0", "SCRIPT", "x"], ["x"]),
        (["--web", "0", "--parallelism=2", "SCRIPT"], []),
        (["--web", "SCRIPT", "--", "--web"], ["--web"]),
    ],
)
def test_web_does_not_take_the_script_for_a_port(tmp_path, capsys, given, left):
    file = script(tmp_path, "import sys; print(sys.argv[1:])")
    assert main(["run", *(file if part == "SCRIPT" else part for part in given)]) == 0
    told = capsys.readouterr()
    assert told.out.strip() == str(left)
    assert "The web page is at http://127.0.0.1:" in told.err


def test_an_error_of_the_program_is_its_own(tmp_path):
    with pytest.raises(ZeroDivisionError):
        main(["run", script(tmp_path, "1 / 0")])
    assert list(programs()) == []


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_file_that_is_not_there_is_one_line(command, capsys):
    assert main([command, "no.py"]) == 1
    assert capsys.readouterr().err == f"flinkish {command}: there is no file no.py.\n"


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("flinkish ")


def test_list_shows_the_jobs_that_run(server, capsys):
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "No job is running.\n"
    server.addJob(Client(details()))
    server.addJob(Client(details("b2", JobStatus.FINISHED)))
    assert main(["list"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert re.search(
        r"^started .*  a1  RUNNING +100 s  clicks by user  \(job\.py, process \d+", line
    )
    assert server.token not in line
    assert main(["list", "--all"]) == 0
    running, heading, ended = capsys.readouterr().out.splitlines()
    assert ("a1  RUNNING" in running, heading) == (True, "Ended, in programs that still run:")
    assert re.search(r"^ended .*  b2  FINISHED +99 s", ended)


@pytest.mark.parametrize("named", ["a1", "a", "clicks by user"])
def test_stop_stops_a_job_by_its_id_or_name(server, capsys, named):
    client = Client(details())
    server.addJob(client)
    assert main(["stop", named]) == 0
    assert client.asked == ["stop"]
    assert "goes on from /data/checkpoint" in capsys.readouterr().out


def test_stop_says_what_it_cannot_do(server, capsys):
    client = Client(details(directory=None))
    server.addJob(client)
    assert main(["stop", "a1"]) == 1
    assert "--cancel" in capsys.readouterr().err
    assert main(["stop", "other"]) == 1
    assert "no job 'other' is running" in capsys.readouterr().err
    server.addJob(Client(details("a2")))
    assert main(["stop", "a"]) == 1
    assert "several jobs are 'a': a2, a1" in capsys.readouterr().err
    assert main(["stop", "a1", "--cancel"]) == 0
    assert client.asked == ["cancel"]
    assert main(["cancel", "a2"]) == 0


def test_savepoint_of_a_running_job(server, capsys, tmp_path, monkeypatch):
    client = Client(details())
    server.addJob(client)
    monkeypatch.chdir(tmp_path)
    assert main(["savepoint", "a1", "mine"]) == 0
    assert f"The savepoint {tmp_path}/mine of clicks by user (a1)" in capsys.readouterr().out
    assert main(["savepoint", "clicks by user", "s3://bucket/mine"]) == 0
    assert "The savepoint s3://bucket/mine of" in capsys.readouterr().out
    assert client.asked == ["savepoint"] * 2
    assert client.told.status is JobStatus.RUNNING
    assert main(["savepoint", "other", "mine"]) == 1
    assert "no job 'other' is running" in capsys.readouterr().err
    assert main(["savepoint", "clicks by user"]) == 1
    assert "flinkish savepoint 'clicks by user' DIRECTORY" in capsys.readouterr().err
    assert main(["savepoint", "--check", "a1", "mine"]) == 1
    assert "DIRECTORY alone" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--savepointPath", "-p"])
def test_stop_with_a_savepoint_needs_no_checkpoint_directory(server, capsys, tmp_path, option):
    client = Client(details(directory=None))
    server.addJob(client)
    assert main(["stop", "a1", option, str(tmp_path / "mine")]) == 0
    assert client.asked == ["stop"]
    assert f"begins from its savepoint {tmp_path}/mine" in capsys.readouterr().out


def numbers():
    """A job that runs in this process until it is stopped."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    source = fl.DataGeneratorSource(lambda n: n, elementsPerSecond=100)
    stream = env.fromSource(source).keyBy(lambda n: n % 3)
    stream.reduce(lambda a, b: a + b).uid("sums").addSink(lambda n: None)
    return env.executeAsync("numbers")


@pytest.mark.slow("savepoints of a job that runs")
def test_savepoints_are_written_of_jobs_that_run(server, capsys, tmp_path):
    client = numbers()
    server.addJob(client)
    for directory in ("one", "two"):
        assert main(["savepoint", "numbers", str(tmp_path / directory)]) == 0
        assert client.getJobStatus() is JobStatus.RUNNING
    assert main(["savepoint", "numbers", str(tmp_path / "one")]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main(["stop", "numbers", "--savepointPath", str(tmp_path / "last")]) == 0
    assert client.getJobStatus() is JobStatus.CANCELED
    for directory in ("one", "two", "last"):
        capsys.readouterr()
        assert main(["savepoint", "--check", str(tmp_path / directory)]) == 0
        assert "the job 'numbers'" in capsys.readouterr().out


def test_the_run_directory_is_for_its_owner_only(server, tmp_path):
    (directory,) = tmp_path.glob("flinkish-run-*")
    (file,) = directory.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    directory.chmod(0o755)
    with pytest.raises(fl.FlinkishError, match="not a directory of this user alone"):
        list(programs())
    directory.chmod(0o700)


def test_what_a_killed_program_left_is_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with registered(Program(ended.pid, "job.py", "http://127.0.0.1:9", "")):
        assert list(programs()) == []
        assert list(run_directory._directory().iterdir()) == []


def test_a_program_that_does_not_answer_is_left_out(capsys):
    with registered(Program(os.getpid(), "job.py", "http://127.0.0.1:9", "")):
        assert main(["list"]) == 0
    assert capsys.readouterr().out == "No job is running.\n"


@pytest.mark.processes
@pytest.mark.timeout(900)
@pytest.mark.slow("a separate JVM, twice")
def test_a_job_is_started_listed_and_stopped_and_goes_on(tmp_path):
    job = script(
        tmp_path,
        """
        import flinkish as fl
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setParallelism(1)
        numbers = env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=20))
        numbers.keyBy(lambda n: 0).reduce(max).uid("highest").print()
        env.execute("numbers")
        """,
    )
    checkpoint = tmp_path / "checkpoint"

    def flinkish(*arguments):
        return [sys.executable, "-m", "flinkish", *arguments]

    for stop in (["stop", "numbers"], ["stop", "numbers", "-p", str(tmp_path / "last")]):
        running = subprocess.Popen(
            flinkish("run", job, "--checkpoint", str(checkpoint)),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert running.stdout is not None
            first = int(running.stdout.readline())
            wait_for(
                lambda: (
                    "numbers"
                    in subprocess.run(
                        flinkish("list"), cwd=ROOT, capture_output=True, text=True
                    ).stdout
                )
            )
            of_this_run = str(tmp_path / f"savepoint of {running.pid}")
            for command in (["savepoint", "numbers", of_this_run], stop):
                done = subprocess.run(flinkish(*command), cwd=ROOT, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
            rest, _ = running.communicate(timeout=120)
        finally:
            running.kill()
        assert running.returncode == 0
        last = int(rest.split()[-1]) if rest.split() else first
        assert main(["savepoint", "--check", of_this_run]) == 0
    assert main(["savepoint", "--check", str(tmp_path / "last")]) == 0
    assert last > first > 0


@pytest.fixture
def savepoint(tmp_path):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).getConfig().setElementsPerBatch(15)
    stopped(env, ["totals", "priced"], 150, 40, f"{tmp_path}/savepoint")
    return tmp_path / "savepoint"


def test_savepoint_shows_operators_states_and_positions(savepoint, capsys):
    assert main(["savepoint", str(savepoint)]) == 0
    shown = capsys.readouterr().out
    assert f"{savepoint}: the job 'Flink Streaming Job' after batch 2" in shown
    assert "parallelism 2, maximum 8, 8 key group(s)" in shown
    assert re.search(r"totals  \(KeyedProcess\), watermark 40 \(1970-01-01T00:00:00.040Z\)", shown)
    assert re.search(r"values total: 7 entries, 7 keys, [\d.]+ (bytes|kB)", shown)
    assert re.search(
        r"timers timers/event: 44 entries, 7 keys, .*, due from 41 \(.*\) to 84", shown
    )
    assert "broadcast rules: 3 entries" in shown
    assert re.search(
        r"numbers  \(Source: .*\), a SequenceSource\n    goes on at {'next': 45}", shown
    )
    assert main(["savepoint", "--json", str(savepoint)]) == 0
    described = json.loads(capsys.readouterr().out)
    states = {state["name"]: state for state in described["operators"]["totals"]["states"]}
    assert (states["seen"]["entries"], states["seen"]["keys"]) == (7, 7)
    assert described["version"] == 2


class Kept(fl.KeyedStateBootstrapFunction):
    def open(self, context):
        self.kept = self.getRuntimeContext().getListState(fl.ListStateDescriptor("kept"))

    def processElement(self, value, ctx):
        self.kept.add(value)


def test_savepoint_names_the_largest_keys(tmp_path, capsys):
    words = ["small"] * 2 + ["large"] * 500 + ["medium"] * 50
    kept = fl.OperatorTransformation.bootstrapWith(words).keyBy(lambda w: w).transform(Kept())
    writer = fl.SavepointWriter.newSavepoint(maxParallelism=4)
    writer.withOperator(fl.OperatorIdentifier.forUid("words"), kept).write(f"{tmp_path}/words")
    assert main(["savepoint", "--keys", "2", f"{tmp_path}/words"]) == 0
    found = re.search(
        r"largest keys: 'large' [\d.]+ kB, 'medium' \d+ bytes", capsys.readouterr().out
    )
    assert found is not None
    assert main(["savepoint", "--keys", "1", "--json", f"{tmp_path}/words"]) == 0
    (state,) = json.loads(capsys.readouterr().out)["operators"]["words"]["states"]
    (largest,) = state["largestKeys"]
    assert largest["key"] == "'large'"
    assert 500 <= largest["bytes"] < state["bytes"] * 2
    assert main(["savepoint", "--json", f"{tmp_path}/words"]) == 0
    assert "largestKeys" not in capsys.readouterr().out
    assert main(["savepoint", "--keys", "1", "job", f"{tmp_path}/words"]) == 1
    assert "--keys go with DIRECTORY alone" in capsys.readouterr().err


def test_savepoint_check_names_the_file_that_was_altered(savepoint, capsys):
    assert main(["savepoint", "--check", savepoint.as_uri()]) == 0
    assert "all 1 file(s) are as they were written" in capsys.readouterr().err
    file = next((savepoint / "state").glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-40])
    assert main(["savepoint", "--check", str(savepoint)]) == 1
    assert file.name in capsys.readouterr().err
    assert main(["savepoint", str(savepoint.parent / "nowhere")]) == 1
    assert "there is no savepoint" in capsys.readouterr().err


def test_savepoint_needs_no_class_of_a_value(savepoint, capsys):
    """Who looks into a savepoint has not the program that wrote it."""
    code = (
        "import sys, flinkish as fl; from flinkish.cli.main import main;"
        f"raise SystemExit(main(['savepoint', {str(savepoint)!r}]))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/")
    assert "values total: 7 entries" in shown.stdout, shown.stderr
