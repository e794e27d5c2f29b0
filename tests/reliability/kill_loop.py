"""Kills a job again and again, and compares what it has given with a run without kills.

``python -m tests.reliability.kill_loop DIRECTORY --kills 200`` goes on where it stopped. An *episode* is one
job on one checkpoint with some kills, and then the same job undisturbed, on files that are the first one's
steps. A line of ``kills.jsonl`` is a kill, one of ``episodes.jsonl`` an episode with its differences.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.reliability.killed_job import Run
from tests.reliability.processes import ROOT, gone, kill, launched, tree_of, victims
from tests.watched import drop

KINDS = {"tree": 7, "jvm": 8, "driver": 4, "worker": 46, "workers": 20, "planner": 15}
"""The targets of kills, and how often in a hundred: one that needs no new JVM is quick."""

AIMS = ("plan", "offsets", "commits", "state", "windows", "expired", "clocked", "control")
"""The files whose appearance a kill waits for. Besides: ``random``, and ``start``, before the job runs."""

PATIENCE = 120.0
"""Seconds in which a job that is not disturbed gets on, on a machine with other things to do."""


# ---- the input ---------------------------------------------------------------------------------


def lines_of(seed: int, number: int) -> str:
    """The elements of a file: out of order, some of them too late wherever batches are cut."""
    choice = random.Random(seed * 100_003 + number)
    lines = []
    for element in range(choice.randrange(5, 40)):
        at = number * 40 + choice.randrange(80) - (choice.random() < 0.2) * choice.randrange(150)
        lines.append(f"k{choice.randrange(5)},{number * 1000 + element},{max(at, 0)}\n")
    return "".join(lines)


END = "end,-1,1000000000\n"
"""The element that carries event time past all windows and timers."""


class Feeder:
    """Drops files in while the job runs, so that some always wait, but never many."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run = run
        self._seed = seed
        self._choice = random.Random(seed + 1)
        # Those of an episode that was interrupted
        self._dropped = sorted(file.name for file in Path(run.directory, "input").glob("[0-9]*"))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        directory = Path(self._run.directory)
        planned: dict[Path, int] = {}
        while not self._ended.wait(self._choice.choice((0.05, 0.1, 0.3))):
            for step in plan_of(directory):
                if step not in planned:
                    planned[step] = len(files_of(step))
            waiting = self._choice.randrange(1, 2 * self._run.filesPerBatch + 2)
            while len(self._dropped) < sum(planned.values()) + waiting:
                self._drop(lines_of(self._seed, len(self._dropped)))

    def _drop(self, text: str) -> None:
        name = f"{len(self._dropped):06d}.csv"
        drop(Path(self._run.directory, "input"), name, text)
        self._dropped.append(name)

    def end(self) -> list[str]:
        """Drop the last file; gives the names of all."""
        self._ended.set()
        self._thread.join()
        self._drop(END)
        return self._dropped


# ---- what is in a run's directory --------------------------------------------------------------


def plan_of(directory: Path) -> list[Path]:
    """The files of the steps in the plan of the source."""
    plan = directory / "checkpoint/sources/files/plan"
    names = os.listdir(plan) if plan.is_dir() else []
    return [plan / name for name in sorted(names) if name.endswith(".step") and name[0] != "."]


def steps_of(directory: Path) -> list[list[str]]:
    """The paths of each step."""
    return [files_of(step) for step in plan_of(directory)]


def files_of(step: Path) -> list[str]:
    """The paths of a step."""
    _, *pieces = map(json.loads, step.read_text().splitlines())
    return [path for _, path, _ in pieces]


def _last(directory: Path) -> int:
    """The last number among names of files, -1 if there is none."""
    names = os.listdir(directory) if directory.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)


def step_of_batch(directory: Path, batch: int) -> int:
    """The last step that Spark knew of when it began a batch."""
    with suppress(OSError, ValueError):
        for line in (directory / f"checkpoint/query/offsets/{batch}").read_text().splitlines():
            found = json.loads(line) if line.startswith("{") else {}
            if "step" in found:
                return int(found["step"])
    return 0


def progress(directory: Path) -> dict[str, int]:
    """Return the progress of the last batch, by the files that record it."""
    query = directory / "checkpoint/query"
    offset = _last(query / "offsets")
    return {
        "planned": len(plan_of(directory)),
        "step": step_of_batch(directory, offset),
        "offset": offset,
        "committed": _last(query / "commits"),
    }


def rows_of(directory: Path) -> list[Any]:
    """All rows of a FileSink."""
    files = directory.glob("batch=*/part-*")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def clocked_of(directory: Path) -> list[Any]:
    """All elements of the sink that is idempotent by the batch id, by batch."""
    files = sorted(directory.glob("*.json"), key=lambda file: int(file.stem))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def places_of(directory: Path, aim: str) -> list[Path]:
    """The directories in which the files appear that a kill aims at, drafts as well."""
    checkpoint = directory / "checkpoint"
    if aim == "state":
        return list((checkpoint / "query/state/0").glob("[0-9]*"))
    if aim in ("windows", "expired"):
        newest = max(directory.glob(f"{aim}/batch=*"), key=os.path.getmtime, default=directory)
        return [directory / aim, newest, newest / "_temporary/0"]
    named = {
        "plan": "sources/files/plan",
        "offsets": "query/offsets",
        "commits": "query/commits",
        "control": "control",
    }
    return [checkpoint / named[aim] if aim in named else directory / aim]


def changes_of(places: Iterable[Path]) -> list[int]:
    """Return the time of the last change in each place."""
    found = []
    for place in places:
        try:
            found.append(os.stat(place).st_mtime_ns)
        except OSError:
            found.append(0)
    return found


# ---- the process of the job --------------------------------------------------------------------


class Driver:
    """The process that a job runs in. Another stands by with a separate JVM when it is killed.

    One that Spark lets try a task again four times goes on when a worker is killed; in every third one
    the job fails, and is started again.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._launches = 0
        self._process: subprocess.Popen[str] | None = None
        self._standby = self._launched()

    def _launched(self) -> subprocess.Popen[str]:
        self._launches += 1
        attempts = 1 if self._launches % 3 == 0 else 4
        return launched(self._log, "tests.reliability.killed_job", str(attempts))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def run(self, run: Run) -> None:
        """Start a run, in a new process if there is none."""
        if self._process is None:
            self._process, self._standby = self._standby, self._launched()
            assert self._process.stdout is not None
            self._process.stdout.readline()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(run)) + "\n")
        self._process.stdin.flush()

    def stop(self, run: Run) -> None:
        """Stop the run, and keep the process for the next."""
        Path(run.directory, "stop").touch()
        assert self._process is not None
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "stopped\n":
            self.lose()

    def lose(self) -> None:
        """Let go of a process that was hit, once nothing of it writes any more."""
        if self._process is None:
            return
        # What the JVM started outlives it for a moment.
        left = [process.pid for process in tree_of(self._process.pid)]
        self._process.wait(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        wait_for(lambda: all(map(gone, left)), "the processes of a killed driver end")
        self._process = None

    def close(self) -> None:
        """Kill what there is."""
        for process in (self._process, self._standby):
            if process is not None:
                kill(p.pid for p in tree_of(process.pid))
                process.wait()


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 2 * PATIENCE) -> None:
    """Return once ``condition()`` is true; a TimeoutError says what did not happen."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.05)


# ---- one kill ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kill:
    """The target of a kill, and the delay after an event; ``occurrences`` of the event pass
    before."""

    kind: str
    aim: str
    delay: float
    occurrences: int

    @staticmethod
    def chosen(choice: random.Random) -> Kill:
        kind = choice.choices(list(KINDS), list(KINDS.values()))[0]
        aim = choice.choice((*AIMS, "random", "random", "start"))
        delay = choice.choice((0.0, 0.001, 0.003, 0.01, 0.03, 0.1)) * choice.random() * 2
        if aim in ("random", "start"):
            delay = choice.random() * (3 if aim == "random" else 1)
        return Kill(kind, aim, delay, choice.choice((0, 0, 0, 0, 0, 1)))

    def wait(self, directory: Path) -> bool:
        """Wait for the moment; False if what it aims at did not happen."""
        started = self._await_running(directory)
        for _ in range(self.occurrences + 1 if self.aim in AIMS else 0):
            if not (started and self._await_new(directory)):
                return False
        time.sleep(self.delay)
        return started

    def _await_running(self, directory: Path) -> bool:
        if self.aim == "start":
            return True
        commit = _last(directory / "checkpoint/query/commits")
        # Half of the kills come before the batch that was disturbed last has been run again.
        if self.occurrences == 0:
            return True
        until = time.monotonic() + PATIENCE
        while _last(directory / "checkpoint/query/commits") <= commit:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def _await_new(self, directory: Path) -> bool:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            places = places_of(directory, self.aim)
            before = changes_of(places)
            # To look where files may appear costs more than to look whether one has
            for _ in range(20):
                time.sleep(0.002)
                if changes_of(places) != before:
                    return True
        return False


def strike(driver: Driver, run: Run, planned: Kill, choice: random.Random) -> dict[str, Any]:
    """Kill once, start the job again, and say what the kill found."""
    directory = Path(run.directory)
    began = time.time()
    hit = planned.wait(directory)
    pids: list[int] = []
    until = time.monotonic() + PATIENCE
    while not (pids := victims(planned.kind, driver.pid, choice)):
        if time.monotonic() > until:
            break
        time.sleep(0.005)
    kill(pids)
    found = progress(directory)
    if planned.kind in ("tree", "jvm", "driver"):
        driver.lose()
        driver.run(run)
    return {
        **asdict(planned),
        "hit": hit,
        "killed": len(pids),
        **found,
        "seconds": round(time.time() - began, 2),
    }


# ---- one episode -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """The results that event time decides, from the undisturbed run."""

    windows: Counter[str]
    expired: Counter[str]

    @staticmethod
    def of(directory: Path) -> Expected:
        windows, expired = rows_of(directory / "windows"), rows_of(directory / "expired")
        return Expected(Counter(map(json.dumps, windows)), Counter(map(json.dumps, expired)))


def differences(killed: Path, undisturbed: Path, ids: set[int]) -> list[str]:
    """All that a killed run has given that it should not have, and the other way round."""
    found = []
    got, wanted = Expected.of(killed), Expected.of(undisturbed)
    for name in ("windows", "expired"):
        lost = getattr(wanted, name) - getattr(got, name)
        doubled = getattr(got, name) - getattr(wanted, name)
        found += [f"{name} lost {count}: {row}" for row, count in lost.items()]
        found += [f"{name} doubled {count}: {row}" for row, count in doubled.items()]
    found += [f"came again otherwise: {file}" for file in (killed / "clocked").glob("*.differs-*")]
    clocked = clocked_of(killed / "clocked")
    for name in ("fired", "recent"):
        times = Counter(row[2] for row in clocked if row[0] == name)
        found += [f"{name} {times[number]} times: {number}" for number in ids if times[number] != 1]
        found += [f"{name}, and never read: {number}" for number in times.keys() - ids]
    return found + _broken_counts(clocked)


def _broken_counts(clocked: list[Any]) -> list[str]:
    """A state that lives for a while counts on, or from 1: nothing else."""
    last: dict[str, int] = {}
    found = []
    for row in clocked:
        if row[0] == "recent":
            _, key, number, count = row
            if count not in (1, last.get(key, 0) + 1):
                found.append(f"recent went from {last.get(key, 0)} to {count}: {key}, {number}")
            last[key] = count
    return found


def new_directory(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    for name in ("input", "clocked"):
        (directory / name).mkdir(parents=True)
    return directory


def await_all_steps(directory: Path, steps: Callable[[], bool], ids: set[int]) -> None:
    """Wait until all steps are committed, and all timers of the clock have fired."""

    def done() -> bool:
        at = progress(directory)
        if not steps() or at["step"] < at["planned"] or at["committed"] < at["offset"]:
            return False
        fired = {row[2] for row in clocked_of(directory / "clocked") if row[0] == "fired"}
        return ids <= fired

    with suppress(TimeoutError):
        wait_for(done, "all steps and all timers", 2 * PATIENCE)


def ids_of(directory: Path) -> set[int]:
    """The ids of all elements in the files."""
    texts = [file.read_text() for file in (directory / "input").glob("*.csv")]
    return {int(line.split(",")[1]) for text in texts for line in text.splitlines()}


def episode(
    driver: Driver,
    directory: Path,
    seed: int,
    kills: Sequence[Kill],
    note: Callable[[dict[str, Any]], None],
    done: int = 0,
) -> dict[str, Any]:
    """Run a job with kills and the same without, and compare. So many kills were ``done`` before the
    loop was interrupted."""
    choice = random.Random(seed)
    began = time.time()
    killed = directory / "killed"
    if not done:
        new_directory(killed)
    run = Run(
        str(killed), choice.choice((1, 1, 2, 3)), choice.choice((1, 2)), choice.random() < 0.3
    )
    feeder = Feeder(run, seed)
    driver.run(run)
    for planned in kills[done:]:
        note({"seed": seed, **strike(driver, run, planned, choice)})
    dropped = feeder.end()
    ids = ids_of(killed)
    await_all_steps(killed, lambda: sum(map(len, steps_of(killed))) >= len(dropped), ids)
    driver.stop(run)
    steps = [[os.path.basename(path) for path in step] for step in steps_of(killed)]
    found = []
    if [name for step in steps for name in step] != dropped:
        found.append(f"the plan has other files than were dropped in, in this order: {steps}")

    undisturbed = new_directory(directory / "undisturbed")
    for number, step in enumerate(steps):
        texts = [(killed / "input" / name).read_text() for name in step]
        drop(undisturbed / "input", f"{number:06d}.csv", "".join(texts))
    whole = Run(str(undisturbed), 1, run.parallelism, run.chained)
    driver.run(whole)
    await_all_steps(undisturbed, lambda: len(plan_of(undisturbed)) >= len(steps), ids)
    driver.stop(whole)
    if (undisturbed / "failures").exists():
        found.append("the undisturbed run failed: " + (undisturbed / "failures").read_text())
    found += differences(killed, undisturbed, ids)
    wanted = Expected.of(undisturbed)
    late = sum(count for row, count in wanted.windows.items() if row.startswith('["late"'))
    return {
        "seed": seed,
        **asdict(run),
        "kills": len(kills),
        "steps": len(steps),
        "elements": len(ids),
        "windows": wanted.windows.total() - late,
        "late": late,
        "expired": wanted.expired.total(),
        "seconds": round(time.time() - began, 1),
        "differences": found,
    }


# ---- the loop ----------------------------------------------------------------------------------


@contextmanager
def driver_in(directory: Path) -> Iterator[Driver]:
    """A driver that is gone afterwards."""
    directory.mkdir(parents=True, exist_ok=True)
    driver = Driver(directory / "log")
    try:
        yield driver
    finally:
        driver.close()


def _append(file: Path, line: dict[str, Any]) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def loop(directory: Path, kills: int, killsAnEpisode: int, seed: int) -> list[dict[str, Any]]:
    """Run episodes until there have been so many kills; gives all episodes. One that was begun and not
    ended goes on."""
    version = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    with driver_in(directory) as driver:
        while True:
            done = _read(directory / "episodes.jsonl")
            total = sum(episode["kills"] for episode in done)
            if total >= kills:
                return done
            number = seed + len(done)
            place = directory / f"episode-{number}"
            choice = random.Random(f"kills of {number}")
            planned = [Kill.chosen(choice) for _ in range(min(killsAnEpisode, kills - total))]
            result = episode(
                driver,
                place,
                number,
                planned,
                lambda line: _append(directory / "kills.jsonl", {"version": version, **line}),
                sum(line["seed"] == number for line in _read(directory / "kills.jsonl")),
            )
            _append(directory / "episodes.jsonl", {"version": version, **result})
            if not result["differences"]:
                shutil.rmtree(place)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--kills-an-episode", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    episodes = loop(given.directory, given.kills, given.kills_an_episode, given.seed)
    broken = [episode for episode in episodes if episode["differences"]]
    print(json.dumps(broken, indent=1))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
