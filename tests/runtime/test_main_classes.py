"""Classes of the main script, of a notebook and of functions are those of the program that reads the state.

Each run is a separate process, as only there the classes are others than when the state was
written.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("separate programs")

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("main_class_jobs.py")
FIRST, THEN = (1, 2, 3, 4), (5, 6, 7, 8, 1100)


class FailedError(Exception):
    """A run ended with an error; this is what it said."""


LAUNCHER = """
import json, os, runpy, sys
import flinkish.local.executor, flinkish.testing

for line in sys.stdin:
    output, errors, script, *arguments = json.loads(line)
    child = os.fork()
    if not child:
        for number, path in ((1, output), (2, errors)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = [script, *arguments]
        sys.path[0] = os.path.dirname(script)
        failed = False
        try:
            runpy.run_path(script, run_name="__main__")
        except BaseException:
            failed = True
            sys.excepthook(*sys.exc_info())
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(failed)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs scripts, each in a separate process, in which flinkish is imported already."""


class Launcher:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
        )

    def run(
        self, engine: str, directory: Path, numbers: tuple[int, ...], script: Path = SCRIPT
    ) -> list[str]:
        """Return the output of the script, with these numbers as arguments."""
        output, errors = directory / "output", directory / "errors"
        arguments = map(str, (output, errors, script, engine, directory, *numbers))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(list(arguments)) + "\n")
        self._process.stdin.flush()
        if int(self._process.stdout.readline()):
            raise FailedError(errors.read_text())
        results: list[str] = json.loads(output.read_text())
        return results

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    launched = Launcher()
    yield launched
    launched.close()


@pytest.mark.not_on("batches", reason="their pages do not leave the process")
@pytest.mark.not_on("spark", reason="takes three programs: tests/spark/test_main_classes.py")
def test_a_new_process_goes_on(engine: str, launcher: Launcher, tmp_path: Path) -> None:
    whole, cut = tmp_path / "all-whole", tmp_path / "all-cut"
    whole.mkdir()
    cut.mkdir()
    due = launcher.run(engine, whole, FIRST + THEN)
    found = launcher.run(engine, cut, FIRST) + launcher.run(engine, cut, THEN)
    assert Counter(found) == Counter(due)
    # All that state holds is known, from the third element on
    assert {text.split()[3] for text in due if text.startswith("pair ") and ": " in text} == {
        "False",
        "True",
    }


# ---------------------------------------------------------------------- another script

GOES_ON = {
    "a member more": {'    BUSY = "busy"\n': '    BUSY = "busy"\n    OUT = "out"\n'},
    "members in another order": {
        '    IDLE = "idle"\n    BUSY = "busy"\n': '    BUSY = "busy"\n    IDLE = "idle"\n'
    },
    "a field with a default": {
        "    name: str\n    mode: Mode\n": "    name: str\n    mode: Mode\n    place: int = 0\n"
    },
    "a field more of a NamedTuple": {
        "    sensor: Sensor\n    value: int\n": "    sensor: Sensor\n    value: int\n    unit: str = ''\n"
    },
    "renamed, with the old name kept": {
        "Sensor(": "Probe(",
        "class Sensor:": "class Probe:",
        "class Reading(": "Sensor = Probe\n\n\nclass Reading(",
    },
    "moved to a module": {
        'class Mode(enum.Enum):\n    IDLE = "idle"\n    BUSY = "busy"\n': "from moved import Mode\n"
    },
    "another variable": {"Point = collections": "Point = Dot = collections"},
}

REFUSED = {
    "renamed": ({"Sensor": "Probe"}, "class Sensor of the main script", "Sensor = "),
    "a renamed Enum": (
        {"Mode": "Status", "class Level(": "Mode = Status\n\n\nclass Level("},
        "Enum Mode of the main script",
        "Call the class Mode again",
    ),
    "gone": ({"Reduced": "Lowered"}, "class Reduced of the main script", "Define it there again"),
    "nested, renamed": ({"Desk": "Table"}, "class Place.Desk of the main script", "Place.Desk = "),
    "of a function, renamed": (
        {"Shade": "Hue"},
        "class local_classes.<locals>.Shade of the main script",
        "Let a function of the job refer to it",
    ),
    "of another function": (
        {"local_classes": "other_classes"},
        "class local_classes.<locals>.",
        "Let a function of the job refer to it",
    ),
}


@pytest.fixture(scope="module")
def snapshot(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    directory = tmp_path_factory.mktemp("first")
    launcher.run("harness", directory, FIRST)
    return (directory / "snapshot").read_bytes()


@pytest.fixture(scope="module")
def due(
    launcher: Launcher, tmp_path_factory: pytest.TempPathFactory, snapshot: bytes
) -> Counter[str]:
    directory = tmp_path_factory.mktemp("due")
    (directory / "snapshot").write_bytes(snapshot)
    return Counter(launcher.run("harness", directory, THEN))


def changed(directory: Path, changes: Mapping[str, str]) -> Path:
    """The script with texts in place of others."""
    text = SCRIPT.read_text()
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    script = directory / "changed_jobs.py"
    script.write_text(text)
    (directory / "moved.py").write_text(
        "import enum\n\nclass Mode(enum.Enum):\n    IDLE = 'idle'\n    BUSY = 'busy'\n"
    )
    return script


@pytest.mark.parametrize("change", GOES_ON)
def test_a_changed_class_goes_on(
    change: str, launcher: Launcher, snapshot: bytes, due: Counter[str], tmp_path: Path
) -> None:
    (tmp_path / "snapshot").write_bytes(snapshot)
    found = launcher.run("harness", tmp_path, THEN, changed(tmp_path, GOES_ON[change]))
    assert Counter(found) == due


@pytest.mark.parametrize("change", REFUSED)
def test_a_class_that_is_gone_is_refused_by_name(
    change: str, launcher: Launcher, snapshot: bytes, tmp_path: Path
) -> None:
    changes, name, advice = REFUSED[change]
    (tmp_path / "snapshot").write_bytes(snapshot)
    with pytest.raises(FailedError) as said:
        launcher.run("harness", tmp_path, THEN, changed(tmp_path, changes))
    last = str(said.value).strip().splitlines()[-1]
    assert "IncompatibleCheckpointError: the state of '" in last
    assert name in last
    assert advice in last


def test_a_savepoint_is_refused_too(launcher: Launcher, tmp_path: Path) -> None:
    launcher.run("local", tmp_path, FIRST)
    with pytest.raises(FailedError) as said:
        launcher.run("local", tmp_path, THEN, changed(tmp_path, {"Sensor": "Probe"}))
    assert "IncompatibleCheckpointError: " in str(said.value)
    assert "class Sensor of the main script" in str(said.value)
    assert "state '" in str(said.value)


# ---------------------------------------------------------------------- notebooks

NOTEBOOK = '''
import sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()

def cell(text):
    shell.run_cell(text).raise_error()

CLASS = """
import enum
from dataclasses import dataclass

class Mode(enum.Enum):
    IDLE = 0
    BUSY = 1

@dataclass(frozen=True)
class Sensor:
    mode: Mode
"""
cell(CLASS)
cell("""
import flinkish as fl
from flinkish.testing import StreamTestHarness

class Uses(fl.KeyedProcessFunction):
    def open(self, openContext):
        self.mode = self.getRuntimeContext().getState(fl.ValueStateDescriptor("mode"))
        self.each = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("each"))

    def processElement(self, sensor, ctx, out):
        self.each.put(sensor, (self.each.get(sensor) or 0) + 1)
        out.collect((self.mode.value() is Mode.BUSY, dict(self.each.entries()) == {Sensor(Mode.BUSY): self.each.get(sensor)}, self.each.get(sensor)))
        self.mode.update(Mode.BUSY)

def job(stream):
    return stream.keyBy(lambda sensor: sensor.mode).process(Uses())

old = Sensor(Mode.BUSY)
harness = StreamTestHarness(job)
harness.processElement(old)
snapshot = harness.snapshot()
""")
cell("_, _12 = Mode, Mode")  # as where it was shown
cell(CLASS)
cell("""
assert type(old) is not Sensor
harness = StreamTestHarness.restore(job, snapshot)
harness.processElement(Sensor(Mode.BUSY))
print([e.value for e in harness.getOutput()])

# An object that was made with the old class is stored, and is one of the new class when it comes back
env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
stream = env.fromCollection([old, Sensor(Mode.BUSY)])
print([v for v in job(stream).executeAndCollect(2)])
""")

# A job goes on with the classes that it began with
cell("""
import builtins, queue

builtins.turns, found = queue.Queue(), queue.Queue()

class Given(fl.Source):
    bounded = False

    def read(self, position):
        for n in range(2):
            yield Sensor(Mode.BUSY), n
            builtins.turns.get()

env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
job(env.fromSource(Given(), None, "given")).forEachBatch(lambda values, batch: [found.put(v) for v in values])
client = env.executeAsync()
print(found.get(timeout=20))
""")
cell(CLASS)
cell("""
builtins.turns.put(1)
print(found.get(timeout=20))
client.cancel()
""")
'''


def test_a_cell_that_defines_a_class_runs_again(tmp_path: Path) -> None:
    """State is of the newest definition, and a job that runs keeps those that it began with."""
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)},
    )
    assert done.stdout.splitlines() == [
        "[(True, True, 2)]",
        "[(False, True, 1), (True, True, 2)]",
        "(False, True, 1)",
        "(True, True, 2)",
    ], done.stdout + done.stderr
