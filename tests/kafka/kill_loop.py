"""Kills a job from topic to topic, and looks whether a consumer misses anything, or finds it twice.

    python -m tests.kafka.kill_loop [--kills 100] [--seed 1] [--directory D]

The job (``hit_job``) has keyed windows and timers, and writes exactly once from workers. While it is fed, its workers, its
driver, its JVM or all of them are killed, the broker is killed and started at once, or is away for a while. Now and
then the job is stopped with a savepoint, and begins from that in another checkpoint directory with another
parallelism; after some kills of all it begins there from the checkpoint that they have left. What is expected is computed from the input. A line a kill is printed, and at the end the differences.
With a directory the job goes on where the loop has left it there, so that kills can be collected in portions.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.kafka.broker import KafkaBroker
from tests.kafka.hit_job import WINDOW, Run
from tests.kafka.topics import Topics
from tests.reliability.processes import gone, kill, launched, tree_of, victims

KINDS = {
    "worker": 25,
    "workers": 15,
    "driver": 10,
    "jvm": 10,
    "tree": 10,
    "elsewhere": 10,
    "broker": 15,
    "away": 5,
}
"""The targets of kills, and how often in a hundred: the broker is started at once, or ``away`` for a while; ``elsewhere`` is
all of the job, which begins from its checkpoint in another directory with another parallelism."""

KEYS = 7
PARTITIONS = 2
PARALLELISMS = (2, 3, 1, 4)
"""The number of writers of the sink, rescale by rescale."""

BEGIN = 1_700_000_000_000
STEP = 20
"""Milliseconds from one element to the next."""

PATIENCE = 600.0
AHEAD = 2_000
"""The number of elements that the job may be behind."""


class Feeder:
    """Writes elements to a topic, the keys of a partition always the same, with rising timestamps. Those that are there
    stay the first."""

    def __init__(self, broker: KafkaBroker, topic: str, seed: int) -> None:
        self._broker = broker
        self._topic = topic
        self._choice = random.Random(seed)
        there = sent_elements(broker, topic)
        self._next = max((at - BEGIN for _, _, at in there), default=-STEP) // STEP + 1
        self._count = sum(not key.startswith("end") for key, _, _ in there)
        self.allowed = AHEAD
        """Return the number of elements that may be sent by now, so that a slow machine keeps
        up."""
        self._ended = threading.Event()
        self._away = threading.Lock()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        while not self._ended.wait(self._choice.choice((0.1, 0.3, 1.0))):
            if self._count < self.allowed:
                with self._away:
                    self._send(self._choice.randrange(20, 200))

    def _send(self, count: int) -> None:
        elements = []
        for number in range(self._next, self._next + count):
            elements.append((f"k{self._choice.randrange(KEYS)}", number, BEGIN + number * STEP))
        topics = Topics(self._broker.bootstrapServers)
        for partition in range(PARTITIONS):
            own = [e for e in elements if int(e[0][1:]) % PARTITIONS == partition]
            topics.send(self._topic, partition, [(f"{k},{n}", at) for k, n, at in own])
        self._next += count
        self._count += count

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is sent inside the block, so that the input is known although the broker goes."""
        with self._away:
            yield

    def end(self) -> None:
        """Send elements behind which all windows and timers of the others fire."""
        self._ended.set()
        self._thread.join()
        last = BEGIN + self._next * STEP + 3_600_000
        for partition in range(PARTITIONS):
            Topics(self._broker.bootstrapServers).send(
                self._topic, partition, [(f"end{partition},0", last)]
            )


def sent_elements(broker: KafkaBroker, topic: str) -> list[tuple[str, int, int]]:
    """Key, number and timestamp of each element of a topic."""
    found = []
    for message in Topics(broker.bootstrapServers).read(topic):
        key, number = message.value().decode().split(",")
        found.append((key, int(number), message.timestamp()[1]))
    return found


def expected(sent: Sequence[tuple[str, int, int]]) -> Counter[str]:
    """Return the job's results for the elements, without those for elements that only end the
    others' windows."""
    found: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for key, number, at in sent:
        if key.startswith("end"):
            continue
        counts[key] += 1
        found[f"{key}|element|{counts[key]}|{number}"] += 1
        found[f"{key}|timer|{at}"] += 1
        windows[key, at // WINDOW * WINDOW].append(number)
    for (key, start), numbers in windows.items():
        found[f"{key}|window|{start}|{numbers}"] += 1
    return found


def differences(found: Sequence[str], wanted: Counter[str]) -> list[str]:
    """List results that are missing, that come too often, and the places where the elements of a key are not in
    order."""
    got = Counter(text for text in found if not text.startswith("end"))
    wrong = [f"lost {count}: {text}" for text, count in (wanted - got).items()]
    wrong += [f"doubled {count}: {text}" for text, count in (got - wanted).items()]
    last: Counter[str] = Counter()
    for text in found:
        key, kind, *rest = text.split("|")
        if kind == "element":
            if int(rest[0]) < last[key]:
                wrong.append(f"not in order: {text}")
            last[key] = int(rest[0])
    return wrong


class HitJob:
    """The program with the job, started again whenever it has ended. ``begun`` gets the number of
    the run when it continues from a savepoint."""

    def __init__(self, run: Run, log: Path, begun: Callable[[Run], None]) -> None:
        self.run = run
        self._log = log
        self._begun = begun
        self.starts = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """The program; started if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self.starts += 1
            self._process = launched(self._log, "tests.kafka.hit_job", self.run.json)
        return self._process

    def rescale(self, savepoint: Path, checkpoint: Path, parallelism: int) -> None:
        """Stop the job with a savepoint, and begin from that in another directory."""
        while True:
            process = self.start()
            assert process.stdin is not None
            assert process.stdout is not None
            if process.stdout.readline() == "started\n":
                process.stdin.write(f"{savepoint}\n")
                process.stdin.flush()
                if process.stdout.readline() == "stopped\n":
                    break
            process.wait(PATIENCE)
        process.wait(PATIENCE)
        self.begin(savepoint, checkpoint, parallelism)

    def begin(self, savepoint: Path, checkpoint: Path, parallelism: int) -> None:
        """Begin from a savepoint or checkpoint in another directory."""
        self.close()
        own = {"checkpoint": str(checkpoint), "savepoint": str(savepoint)}
        self.run = replace(self.run, parallelism=parallelism, **own)
        self._begun(self.run)
        self.start()

    def close(self) -> None:
        """End what there is of it."""
        if self._process is not None:
            pids = [process.pid for process in tree_of(self._process.pid)]
            kill(pids)
            self._process.wait()
            until = time.monotonic() + PATIENCE
            while not all(map(gone, pids)) and time.monotonic() < until:
                time.sleep(0.05)
            self._process = None


@dataclass(frozen=True)
class Progress:
    """The progress in a directory: kills of each kind, rescales by savepoint, and the run that goes
    on."""

    run: Run
    kills: Mapping[str, int]
    rescales: int = 0
    starts: int = 0

    @property
    def count(self) -> int:
        """The number of kills."""
        return sum(self.kills.values())

    @staticmethod
    def read(file: Path) -> Progress | None:
        """Read the progress from ``file``; None if there is none."""
        if not file.exists():
            return None
        noted = json.loads(file.read_text())
        return Progress(**{**noted, "run": Run(**noted["run"])})

    def write(self, file: Path) -> None:
        """Note it in ``file``."""
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(file)


class Loop:
    """A broker, a job on it, and what is done to them."""

    def __init__(self, directory: Path, seed: int, away: float) -> None:
        self._directory = directory
        self._away = away
        self.broker = KafkaBroker(directory / "broker")
        self.broker.start()
        self._topics = Topics(self.broker.bootstrapServers)
        self._file = directory / "progress.json"
        progress = Progress.read(self._file)
        if progress is None:
            self._topics.create("elements", PARTITIONS)
            self._topics.create("results", PARTITIONS)
            checkpoint = str(directory / "checkpoint-0")
            run = Run(self.broker.bootstrapServers, "elements", "results", checkpoint, 2)
            progress = Progress(run, {})
            progress.write(self._file)
        self._await_topics()
        self.progress = progress
        self._choice = random.Random(seed + progress.count)
        self._found: dict[int, list[str]] = {number: [] for number in range(PARTITIONS)}
        self._offsets: dict[int, int] = {}
        self.job = HitJob(progress.run, directory / "job.log", self._begun)
        self.feeder = Feeder(self.broker, "elements", seed + progress.count)

    def _begun(self, run: Run) -> None:
        self.progress = replace(self.progress, run=run, rescales=self.progress.rescales + 1)
        self.progress.write(self._file)

    def note(self, kind: str) -> None:
        """Note a kill."""
        done = {**self.progress.kills, kind: self.progress.kills.get(kind, 0) + 1}
        starts = self.progress.starts + self.job.starts
        self.progress = replace(self.progress, kills=done, starts=starts)
        self.job.starts = 0
        self.progress.write(self._file)

    def strike(self, kind: str) -> int:
        """Kill once, after a while; returns how many processes that were."""
        process = self.job.start()
        self._await_output()
        time.sleep(self._choice.random() * 2)
        if kind in ("broker", "away"):
            with self.feeder.paused():
                self.broker.kill()
                time.sleep(self._away if kind == "away" else 0)
                self.broker.start()
                self._await_topics()
            return 1
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            process = self.job.start()
            pids = victims("tree" if kind == "elsewhere" else kind, process.pid, self._choice)
            if pids:
                kill(pids)
                if kind == "elsewhere":
                    self._begin_elsewhere()
                return len(pids)
            time.sleep(0.02)
        return 0

    def rescale(self) -> None:
        """Go on from a savepoint with another parallelism."""
        self._await_output()
        place = self._directory / f"savepoint-{self.progress.rescales + 1}"
        self.job.rescale(place, *self._elsewhere())

    def _begin_elsewhere(self) -> None:
        left = Path(self.job.run.checkpoint)
        # It has planned nothing if the job was killed while it was beginning
        begun = any((left / "query/offsets").glob("[0-9]*"))
        self.job.begin(left if begun else Path(self.job.run.savepoint), *self._elsewhere())

    def _elsewhere(self) -> tuple[Path, int]:
        """A new checkpoint directory, and the next parallelism."""
        number = self.progress.rescales + 1
        place = self._directory / f"checkpoint-{number}"
        return place, PARALLELISMS[number % len(PARALLELISMS)]

    def finish(self) -> list[str]:
        """End the input, wait for its results, and tell what is wrong with them."""
        self.feeder.end()
        wanted = self.expected()
        until = time.monotonic() + PATIENCE
        found: list[str] = []
        while len(found) < wanted.total() and time.monotonic() < until:
            self.job.start()
            time.sleep(1)
            found = [text for text in self._results() if not text.startswith("end")]
        # What would be doubled comes with the next batches
        time.sleep(3)
        return differences(self._results(), wanted)

    def expected(self) -> Counter[str]:
        """Return the results that the job should have for everything sent."""
        return expected(sent_elements(self.broker, "elements"))

    def close(self) -> None:
        self.job.close()
        self.broker.close()

    def _results(self) -> list[str]:
        for message in self._topics.read("results", begin=self._offsets):
            self._found[message.partition()].append(message.value().decode())
            self._offsets[message.partition()] = message.offset() + 1
        found = [text for part in self._found.values() for text in part]
        self.feeder.allowed = sum("|element|" in text for text in found) + AHEAD
        return found

    def _await_output(self) -> None:
        """Wait until something has been written since now, by a job that is started if it has ended."""
        before = len(self._results())
        until = time.monotonic() + PATIENCE
        while len(self._results()) == before:
            assert time.monotonic() < until, "nothing is written"
            self.job.start()
            time.sleep(0.3)

    def _await_topics(self) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                if self._topics.isLed("results", PARTITIONS):
                    return
            except Exception:
                time.sleep(0.1)


def kinds(count: int, seed: int) -> list[str]:
    """Kinds of kills, in the shares of ``KINDS``."""
    return random.Random(seed + 1).choices(list(KINDS), list(KINDS.values()), k=count)


def run(
    directory: Path, chosen: Sequence[str], seed: int, away: float, rescaleAfter: int
) -> list[str]:
    """Kill as ``chosen``, rescale after so many kills each, and tell what is wrong with the results."""
    with ExitStack() as at_end:
        loop = Loop(directory, seed, away)
        at_end.callback(loop.close)
        for kind in chosen:
            began = time.monotonic()
            processes = loop.strike(kind)
            loop.note(kind)
            found = {"kill": loop.progress.count, "kind": kind, "processes": processes}
            if rescaleAfter and loop.progress.count % rescaleAfter == 0:
                loop.rescale()
                found["parallelism"] = loop.job.run.parallelism
            seconds = round(time.monotonic() - began, 1)
            print(
                json.dumps({**found, "starts": loop.progress.starts, "seconds": seconds}),
                flush=True,
            )
        wrong = loop.finish()
        done, total = loop.progress, loop.expected()
        elements = sum("|element|" in text for text in total)
        print(
            f"{done.count} kills {json.dumps(done.kills)}, {done.rescales} rescales, {done.starts}"
            f" programs, {elements:,} elements, {total.total():,} results: {len(wrong)} differences",
            flush=True,
        )
        return wrong


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill, and fail if something was lost, doubled or out of order."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka.kill_loop")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--away", type=float, default=20.0, help="how long the broker is away (s)")
    parser.add_argument("--rescale-after", type=int, default=25)
    parser.add_argument("--directory", type=Path, help="where to go on, and to leave what is there")
    parser.add_argument(
        "--kinds", default="", help="kinds of kills between commas, instead of a choice"
    )
    options = parser.parse_args(arguments)
    with ExitStack() as at_end:
        directory = options.directory
        if directory is None:
            temporary = tempfile.TemporaryDirectory(prefix="flinkish-kills-")
            directory = Path(at_end.enter_context(temporary))
        directory.mkdir(parents=True, exist_ok=True)
        # Another choice in each portion
        done = Progress.read(directory / "progress.json")
        seed = options.seed + (done.count if done else 0)
        chosen = options.kinds.split(",") if options.kinds else kinds(options.kills, seed)
        wrong = run(directory.absolute(), chosen, options.seed, options.away, options.rescale_after)
        print("\n".join(wrong[:50]))
        if wrong:
            log = Path(directory, "job.log").read_text()
            sys.exit(log[-5_000:])


if __name__ == "__main__":
    main()
