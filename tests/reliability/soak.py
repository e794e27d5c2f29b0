"""A job under steady load for a given time, with kills and rescales: ``python -m tests.reliability.soak DIRECTORY``.

Every second comes a file of elements. At random moments a worker is killed, so that the job restarts; or the job is
stopped with a savepoint and goes on from it with another parallelism. In the first third of the time all processes
are killed too, also while a savepoint is written or read; after that, driver and JVM are left to live, to see
whether they grow. What was measured is in ``memory.jsonl`` and ``health.jsonl``, what happened in ``events.jsonl``.

At the end each element must have been counted once, in its order among those of its key, and have been in its
window or have been late once; each timer must have fired once, none before its time.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from flinkish.deployment.savepoint.metadata import METADATA
from tests.reliability.kill_loop import PATIENCE, rows_of, wait_for
from tests.reliability.processes import gone, kill, launched, tree_of, victims
from tests.reliability.soak_job import CLOCKED, OUT_OF_ORDER, WINDOW, Run
from tests.watched import drop

SAMPLE_SECONDS = 5.0

BUSY_SECONDS = 60.0
"""Within which there is a worker at work."""

SOAK_PATIENCE = 5 * PATIENCE
"""Seconds within which the job starts, stops or gives a result, on a machine with other things to do."""


# ---- load --------------------------------------------------------------------------------------

ELEMENTS_A_FILE = 100
MILLIS_A_FILE = 100
"""The event time (ms) that passes within a file."""
GROUPS, FILES_A_GROUP = 4, 10
"""Half of the elements are of keys in groups, which take turns: the others are silent, and expire."""
END = 1_000_000
"""The event time (ms) of the last file, which is ahead of all others."""


@dataclass(frozen=True)
class Element:
    key: str
    id: int
    at: int


def elements_of(file: int, isLast: bool = False) -> list[Element]:
    """The elements of a file: out of order, a few of them late by up to three windows."""
    choice = random.Random(file)
    elements = []
    for number in range(file * ELEMENTS_A_FILE, (file + 1) * ELEMENTS_A_FILE):
        key = f"key-{choice.randrange(100)}"
        if choice.random() < 0.5:
            key = f"group-{file // FILES_A_GROUP % GROUPS}-{choice.randrange(20)}"
        at = file * MILLIS_A_FILE + choice.randrange(OUT_OF_ORDER)
        if choice.random() < 0.02:
            at = max(at - choice.randrange(3 * WINDOW), 0)
        elements.append(Element(key, number, at + (END if isLast else 0)))
    return elements


class Load:
    """Drops a file in every second, until it is ended."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ended = threading.Event()
        self.files = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(due - time.monotonic(), 0)):
            self._drop()
            due += 1.0

    def _drop(self, isLast: bool = False) -> None:
        elements = elements_of(self.files, isLast)
        lines = [f"{element.key},{element.id},{element.at}\n" for element in elements]
        drop(self._directory, f"{self.files:08d}.csv", "".join(lines))
        self.files += 1

    def end(self) -> None:
        """Drop the last file, which carries event time past all windows and timers but its own."""
        self._ended.set()
        self._thread.join()
        self._drop(isLast=True)


# ---- the process of the job --------------------------------------------------------------------


class Job:
    """The process of the job, which is started again where it is killed."""

    def __init__(self, run: Run, log: Path) -> None:
        self._run = run
        self._log = log
        self._savepoints = 0
        self._launch()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def parallelism(self) -> int:
        return self._run.parallelism

    def _launch(self) -> None:
        self._process = launched(self._log, "tests.reliability.soak_job")
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(self._process, self._said), daemon=True).start()
        try:
            self._await("ready")
        except BaseException:
            self.close()
            raise
        self._start()

    @staticmethod
    def _listen(process: subprocess.Popen[str], said: queue.SimpleQueue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line.strip())
        said.put("")

    def _start(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(self._run)) + "\n")
        self._process.stdin.flush()

    def _await(self, wanted: str, seconds: float = SOAK_PATIENCE) -> None:
        """Raises TimeoutError if the process does not say so in time, RuntimeError if it has ended."""
        try:
            said = self._said.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"the job is not {wanted} after {seconds} s") from None
        if said != wanted:
            raise RuntimeError(f"the job has ended, and is not {wanted}: see {self._log}")

    def check(self) -> None:
        """Raises RuntimeError if the process has ended unasked."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the process of the job has ended: see {self._log}")

    def killWorker(self, choice: random.Random) -> str:
        """Kill a worker, mostly one at work, as the job does not notice the death of another; how it was."""
        return kill_worker(self.pid, choice)

    def killTree(self) -> None:
        """Kill all processes, and start the job again."""
        self._kill_tree()
        self._launch()

    def _kill_tree(self) -> None:
        pids = [process.pid for process in tree_of(self.pid)]
        kill(pids)
        self._process.wait()
        wait_for(lambda: all(map(gone, pids)), "the processes of a killed job end")

    def rescale(self, parallelism: int) -> None:
        """Stop the job with a savepoint, and go on from that with another parallelism."""
        savepoint = self._ask_for_savepoint()
        self._await("stopped")
        self._go_on_from(savepoint, parallelism)
        self._start()

    def killedRescale(self, parallelism: int, seconds: float) -> str:
        """Rescale, and kill all processes so many seconds after the savepoint was asked for; what the kill
        found. The job goes on from the savepoint if that is complete, else from where it was."""
        until = time.monotonic() + seconds
        savepoint = self._ask_for_savepoint()
        found = "savepoint began"
        with suppress(TimeoutError):
            self._await("stopped", seconds)
            self._go_on_from(savepoint, parallelism)
            self._start()
            found = "savepoint was read"
            time.sleep(max(until - time.monotonic(), 0))
        self._kill_tree()
        (Path(self._run.directory) / "stop").unlink(missing_ok=True)
        if found == "savepoint began":
            if (savepoint / METADATA / "text").exists():
                found = "savepoint was written"
                self._go_on_from(savepoint, parallelism)
            else:
                shutil.rmtree(savepoint, ignore_errors=True)
        self._launch()
        return found

    def _ask_for_savepoint(self) -> Path:
        self._savepoints += 1
        directory = Path(self._run.directory)
        savepoint = directory / f"savepoint-{self._savepoints}"
        drop(directory, "stop", str(savepoint))
        return savepoint

    def _go_on_from(self, savepoint: Path, parallelism: int) -> None:
        earlier = self._run
        checkpoint = Path(earlier.directory, f"checkpoint-{self._savepoints}")
        self._run = replace(
            earlier,
            checkpoint=str(checkpoint),
            savepoint=str(savepoint),
            parallelism=parallelism,
        )
        for left in (earlier.checkpoint, earlier.savepoint):
            if left is not None:
                shutil.rmtree(left, ignore_errors=True)

    def stop(self) -> None:
        """Stop the job after its last batch."""
        self._ask_for_savepoint()
        self._await("stopped")

    def close(self) -> None:
        kill(process.pid for process in tree_of(self._process.pid))
        self._process.wait()


def kill_worker(driver: int, choice: random.Random) -> str:
    """Kill a worker of a driver, and say how it was."""
    until = time.monotonic() + (BUSY_SECONDS if choice.random() < 0.8 else 0)
    while not (busy := busy_workers(driver)) and time.monotonic() < until:
        pass
    pids = busy or victims("worker", driver, choice)
    kill(pids[:1])
    return "at work" if busy else "idle" if pids else "none there"


def busy_workers(driver: int) -> list[int]:
    """The ids of the workers of operators that run at this moment."""
    tree = tree_of(driver)
    daemons = {process.pid for process in tree if "worker_daemon" in process.command}
    workers = [
        process.pid
        for process in tree
        if process.parent in daemons and process.command.rstrip().endswith("pyspark.worker")
    ]
    # To find them takes longer than to look at them.
    for _ in range(20):
        busy = [pid for pid in workers if runs(pid)]
        if busy:
            return busy
        time.sleep(0.005)
    return []


def runs(pid: int) -> bool:
    """Whether a process computes, or waits for nothing but a processor."""
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


# ---- events ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    """A disturbance of the job, so many seconds after it has given results again; ``soon``: after the event before,
    with which the job may still have to do. ``delay``: for a killed rescale, from when the savepoint is asked for until
    the kill."""

    after: float
    kind: str
    parallelism: int = 0
    delay: float = 0.0
    soon: bool = False


KINDS_AT_FIRST = {"worker": 5, "rescale": 3, "tree": 2, "killed rescale": 2}
KINDS_LATER = {"worker": 5, "rescale": 3}


def random_events(minutes: float, choice: random.Random) -> Iterator[Event]:
    """Events for so long; those that end the JVM come in the first third."""
    began = time.monotonic()
    while True:
        passed = (time.monotonic() - began) / 60
        kinds = KINDS_AT_FIRST if passed < minutes / 3 else KINDS_LATER
        kind = choice.choices(list(kinds), list(kinds.values()))[0]
        soon = choice.random() < 0.2
        after = choice.uniform(0, 3) if soon else choice.uniform(10, 40)
        if passed + after / 60 > minutes:
            yield Event(max(minutes - passed, 0) * 60, "end", soon=True)
            return
        yield Event(after, kind, choice.randrange(1, 5), choice.uniform(0, 30), soon)


def strike(job: Job, event: Event, choice: random.Random) -> dict[str, Any]:
    """Let an event happen, and say what it found."""
    began = time.time()
    found: dict[str, Any] = {}
    if event.kind == "worker":
        found["found"] = job.killWorker(choice)
    elif event.kind == "tree":
        job.killTree()
    elif event.kind == "killed rescale":
        found["found"] = job.killedRescale(event.parallelism, event.delay)
    elif event.kind == "rescale":
        job.rescale(event.parallelism)
    return {"at": began, "seconds": round(time.time() - began, 1), **asdict(event), **found}


# ---- memory ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Megabytes at a moment (s since the epoch) by ``PSS``: what processes share counts once. ``workers`` are all
    processes of Python but the driver; ``behind``: how many elements there were without a result."""

    at: float
    driver: int
    jvm: int
    workers: int
    processes: int
    behind: int


def pss_of(pid: int) -> int:
    """Kilobytes of a process, 0 if it is gone."""
    with suppress(OSError):
        for line in Path("/proc", str(pid), "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def sample_of(job: Job, directory: Path, elements: int) -> Sample | None:
    """None while there is no job."""
    found: dict[str, int] = defaultdict(int)
    tree = tree_of(job.pid)
    for process in tree:
        is_jvm = "org.apache.spark.deploy" in process.command
        kind = "driver" if process.pid == job.pid else "jvm" if is_jvm else "workers"
        found[kind] += pss_of(process.pid)
    if not all(found[kind] for kind in ("driver", "jvm", "workers")):
        return None
    driver, jvm, workers = (found[kind] >> 10 for kind in ("driver", "jvm", "workers"))
    behind = elements - elements_given(directory / "lives")
    return Sample(time.time(), driver, jvm, workers, len(tree), behind)


def elements_given(lives: Path) -> int:
    """Return the number of elements counted, by the highest id in the last batches."""
    batches = sorted(lives.glob("batch=*"), key=lambda batch: int(batch.name.partition("=")[2]))
    for batch in batches[:-6:-1]:
        # A batch that comes again is written anew.
        with suppress(OSError):
            rows = [json.loads(line) for file in batch.glob("part-*") for line in file.open()]
            ids = [row[2] for row in rows if row[0] == "counted"]
            if ids:
                return max(ids) + 1
    return 0


def parts(samples: Sequence[Any], began: float, ended: float, count: int = 6) -> list[list[Any]]:
    """The samples of each part of a time."""
    found: list[list[Any]] = [[] for _ in range(count)]
    for sample in samples:
        part = int((sample["at"] - began) / (ended - began) * count)
        if 0 <= part < count:
            found[part].append(sample)
    return found


def medians(
    samples: list[dict[str, Any]], kinds: Iterable[str], began: float, ended: float
) -> dict[str, list[int | None]]:
    """By kind, the median of each sixth of the time; None where there was nothing."""
    sixths = parts(samples, began, ended)
    return {
        kind: [round(median(s[kind] for s in sixth)) if sixth else None for sixth in sixths]
        for kind in kinds
    }


GROWTH = 1.2


def grown(by_sixths: dict[str, list[int | None]]) -> list[str]:
    """List the figures that have grown by more than a fifth from the fourth sixth to the last: the JVM lives from the
    third on, and takes until then to load its classes and compile them."""
    found = []
    for kind, (_, _, _, fourth, _, last) in by_sixths.items():
        if fourth and last and last > fourth * GROWTH:
            found.append(f"{kind}: {fourth} in the fourth sixth, {last} in the last")
    return found


# ---- what must be ------------------------------------------------------------------------------


def differences(elements: Sequence[Sequence[Element]], rows: Iterable[Any]) -> list[str]:
    """All that the job has given of the elements of some files that it should not have, and the other way
    round. Where batches were cut decides which elements were late and which keys expired in between, so what
    is said of that is what must hold wherever they are cut."""
    given: dict[str, list[Any]] = {
        "counted": [],
        "fired": [],
        "expired": [],
        "window": [],
        "late": [],
    }
    for kind, *row in rows:
        given[kind].append(row)
    by_id = {element.id: element for file in elements for element in file}
    lasting = {element.id for element in elements[-1]}
    reached = _watermarks(elements)

    found = _once("counted", by_id, (number for _, number, _ in given["counted"]))
    clocked = {number for number in by_id if number % CLOCKED == 0}
    found += _once("timer of the clock", clocked, (number for _, number in given["fired"]))
    found += _differing_keys(by_id, [*given["counted"], *given["fired"], *given["late"]])
    found += _differing_lives(by_id, lasting, reached, given["counted"], given["expired"])

    in_windows = [number for _, _, numbers in given["window"] for number in numbers]
    late = [number for _, number in given["late"]]
    # The windows of the last file stay open.
    decided = by_id.keys() - lasting
    found += _once(
        "in a window or late", decided, [n for n in in_windows + late if n not in lasting]
    )
    for key, start, numbers in given["window"]:
        for number in numbers:
            element = by_id.get(number)
            if element and (element.key, element.at // WINDOW * WINDOW) != (key, start):
                found.append(f"{element} is in the window of {key} from {start}")
    windows = Counter((key, start) for key, start, _ in given["window"])
    found += [f"window fired {n} times: {window}" for window, n in windows.items() if n > 1]
    for number in late:
        if number in by_id:
            end = by_id[number].at // WINDOW * WINDOW + WINDOW
            if reached[number // ELEMENTS_A_FILE] < end - 1:
                found.append(f"{by_id[number]} is late, but its window was open")
    return found


def _watermarks(elements: Sequence[Sequence[Element]]) -> list[int]:
    """The highest watermark that may be reached before each file."""
    found = [-1 - OUT_OF_ORDER]
    for file in elements:
        highest = max(element.at for element in file)
        found.append(max(found[-1], highest - OUT_OF_ORDER - 1))
    return found


def _once(what: str, wanted: Iterable[int], given: Iterable[int]) -> list[str]:
    times = Counter(given)
    expected = set(wanted)
    lost = sorted(expected - times.keys())
    doubled = sorted(number for number, count in times.items() if count > 1)
    unknown = sorted(times.keys() - expected)
    return [
        f"{what}: {len(ids)} {how}, {ids[:5]} the first"
        for how, ids in (("lost", lost), ("doubled", doubled), ("not in the input", unknown))
        if ids
    ]


def _differing_keys(by_id: dict[int, Element], rows: Iterable[Sequence[Any]]) -> list[str]:
    return [
        f"{by_id[number]} is given as one of {key}"
        for key, number, *_ in rows
        if number in by_id and by_id[number].key != key
    ]


def _differing_lives(
    by_id: dict[int, Element],
    lasting: set[int],
    reached: Sequence[int],
    counted: Iterable[Sequence[Any]],
    expired: Iterable[Sequence[Any]],
) -> list[str]:
    """The elements of a key are numbered from 1 to where it expired, and from 1 again."""
    numbered: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, number, count in counted:
        if number in by_id:
            numbered[key].append((number, count))
    found = []
    lives: Counter[tuple[str, int, int]] = Counter()
    still_alive: set[tuple[str, int, int]] = set()
    for key, of_key in numbered.items():
        of_key.sort()
        count, latest = 0, 0
        for number, (given, at) in ((n, (c, by_id[n].at)) for n, c in of_key):
            if given == 1 and count:
                lives[key, latest + WINDOW, count] += 1
                if reached[number // ELEMENTS_A_FILE] < latest + WINDOW:
                    found.append(f"{key} expired before {number}, and too early")
                count, latest = 0, 0
            if given != count + 1:
                found.append(f"{key}: element {number} is the {given}-th after the {count}-th")
            count, latest = given, max(latest, at)
        lives[key, latest + WINDOW, count] += 1
        if of_key[-1][0] in lasting:
            still_alive.add((key, latest + WINDOW, count))
    ended = Counter(tuple(row) for row in expired)
    found += [f"did not expire: {life}" for life in lives - ended if life not in still_alive]
    found += [f"expired, and should not have: {life}" for life in ended - lives]
    return found


# ---- the soak ----------------------------------------------------------------------------------


def soak(directory: Path, events: Iterable[Event], seed: int) -> dict[str, Any]:
    """Run with these events; what happened, and what differs."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "input").mkdir(parents=True)
    choice = random.Random(seed)
    job = Job(Run(str(directory), str(directory / "checkpoint-0"), None, 2), directory / "log")
    began = time.time()
    try:
        load = Load(directory / "input")
        for event in events:
            if not event.soon:
                _await_progress(job, directory, load)
            _observe(job, directory, load, time.monotonic() + event.after)
            if event.kind != "end":
                _append(directory / "events.jsonl", strike(job, event, choice))
        ended = time.time()
        load.end()
        _await_results(job, directory, load.files)
        job.stop()
    finally:
        job.close()
    elements = [elements_of(file, file == load.files - 1) for file in range(load.files)]
    given = [row for sink in ("lives", "windows") for row in rows_of(directory / sink)]
    result = {
        "minutes": round((ended - began) / 60, 1),
        "elements": load.files * ELEMENTS_A_FILE,
        "results": Counter(row[0] for row in given),
        "batches": len(list((directory / "lives").glob("batch=*"))),
        **figures(directory, began, ended),
        "differences": differences(elements, given),
    }
    (directory / "result.json").write_text(json.dumps(result, indent=1))
    return result


def _await_progress(job: Job, directory: Path, load: Load) -> None:
    """Let the job run until it gives results. Raises TimeoutError if it does not."""
    began, given = time.monotonic(), elements_given(directory / "lives")
    while elements_given(directory / "lives") <= given:
        if time.monotonic() > began + SOAK_PATIENCE:
            raise TimeoutError(f"the job gives no results for {SOAK_PATIENCE} s")
        _observe(job, directory, load, time.monotonic() + SAMPLE_SECONDS)


def _observe(job: Job, directory: Path, load: Load, until: float) -> None:
    """Let the job run until a moment, and note what memory it has."""
    while (left := until - time.monotonic()) > 0:
        job.check()
        sample = sample_of(job, directory, load.files * ELEMENTS_A_FILE)
        if sample is not None:
            _append(directory / "memory.jsonl", asdict(sample))
        time.sleep(min(SAMPLE_SECONDS, left))


def _append(file: Path, line: dict[str, Any]) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(line) + "\n")


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _await_results(job: Job, directory: Path, files: int) -> None:
    """Wait until all elements have been counted, and all timers of the clock have fired."""
    elements = files * ELEMENTS_A_FILE

    def is_done() -> bool:
        job.check()
        time.sleep(1)
        if elements_given(directory / "lives") < elements:
            return False
        fired = {row[2] for row in rows_of(directory / "lives") if row[0] == "fired"}
        return len(fired) >= -(-elements // CLOCKED)

    # What is missing then is found in the comparison.
    with suppress(TimeoutError):
        wait_for(is_done, "all results", 3 * PATIENCE)


def figures(directory: Path, began: float, ended: float) -> dict[str, Any]:
    """Read the events and the memory of a soak from its files."""
    events, memory, health = (
        _lines(directory / f"{name}.jsonl") for name in ("events", "memory", "health")
    )
    restarts: dict[int, int] = {}
    total = 0
    for line in health:
        # A new job begins to count at 0.
        before = restarts.get(line["pid"], 0)
        total += line["restarts"] - before if line["restarts"] >= before else line["restarts"]
        restarts[line["pid"]] = line["restarts"]
    of_memory = medians(memory, ("driver", "jvm", "workers"), began, ended)
    kinds = ("objects", "threads", "openFiles", "heap", "outsideHeap", "jvmThreads")
    collected = [line for line in health if line["collected"]]
    besides = medians(memory, ["processes"], began, ended) | medians(collected, kinds, began, ended)
    return {
        "events": Counter(event["kind"] for event in events),
        "found": Counter(f"{e['kind']}: {e['found']}" for e in events if "found" in e),
        "restarts": total,
        "failedStarts": len(_lines(directory / "failed-starts.jsonl")),
        "behind": medians(memory, ["behind"], began, ended)["behind"],
        "mostBehind": max((sample["behind"] for sample in memory), default=None),
        "memory": of_memory,
        "besides": besides,
        "grown": grown(of_memory),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    events = random_events(given.minutes, random.Random(given.seed))
    result = soak(given.directory.absolute(), events, given.seed)
    print(json.dumps(result, indent=1))
    sys.exit(bool(result["differences"] or result["grown"]))


if __name__ == "__main__":
    main()
