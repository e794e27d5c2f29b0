"""Kills a job from topic to topic, and looks whether a consumer misses anything, or finds it twice.

    python -m tests.kafka.kill_loop [--kills 100] [--seed 1]

The job (``hit_job``) has keyed windows and timers, and writes exactly once from workers. While it is fed, its workers, its
driver, its JVM or all of them are killed, the broker is killed and started at once, or is away for a while. Now and
then the job is stopped with a savepoint, and begins from that in another checkpoint directory with another
parallelism. What is expected is computed from the input. A line a kill is printed, and at the end the differences.
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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from tests.kafka.broker import KafkaBroker
from tests.kafka.hit_job import WINDOW, Run
from tests.kafka.topics import Topics
from tests.reliability.processes import gone, kill, launched, tree_of, victims

KINDS = {"worker": 30, "workers": 15, "driver": 10, "jvm": 15, "tree": 10, "broker": 15, "away": 5}
"""What is killed, and how often in a hundred: the broker is started at once, or ``away`` for a while."""

KEYS = 7
PARTITIONS = 2
BEGIN = 1_700_000_000_000
PATIENCE = 600.0
AHEAD = 2_000
"""How many elements the job may be behind."""


class Feeder:
    """Writes elements to a topic, the keys of a partition always the same, with rising timestamps."""

    def __init__(self, broker: KafkaBroker, topic: str, seed: int) -> None:
        self._broker = broker
        self._topic = topic
        self._choice = random.Random(seed)
        self.sent: list[tuple[str, int, int]] = []
        """Key, number and timestamp of each element."""
        self.allowed = AHEAD
        """How many may be sent by now, so that a slow machine keeps up."""
        self._ended = threading.Event()
        self._away = threading.Lock()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        while not self._ended.wait(self._choice.choice((0.1, 0.3, 1.0))):
            if len(self.sent) < self.allowed:
                with self._away:
                    self._send(self._choice.randrange(20, 200))

    def _send(self, count: int) -> None:
        elements = []
        for number in range(len(self.sent), len(self.sent) + count):
            elements.append((f"k{self._choice.randrange(KEYS)}", number, BEGIN + number * 20))
        topics = Topics(self._broker.bootstrapServers)
        for partition in range(PARTITIONS):
            own = [e for e in elements if int(e[0][1:]) % PARTITIONS == partition]
            topics.send(self._topic, partition, [(f"{k},{n}", at) for k, n, at in own])
        self.sent += elements

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is sent inside the block, so that the input is known although the broker goes."""
        with self._away:
            yield

    def end(self) -> None:
        """Send elements behind which all windows and timers of the others fire."""
        self._ended.set()
        self._thread.join()
        last = BEGIN + len(self.sent) * 20 + 3_600_000
        for partition in range(PARTITIONS):
            Topics(self._broker.bootstrapServers).send(
                self._topic, partition, [(f"end{partition},0", last)]
            )


def expected(sent: Sequence[tuple[str, int, int]]) -> Counter[str]:
    """What the job makes of elements, but of the last of all."""
    found: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    for key, number, at in sent:
        counts[key] += 1
        found[f"{key}|element|{counts[key]}|{number}"] += 1
        found[f"{key}|timer|{at}"] += 1
        windows[key, at // WINDOW * WINDOW].append(number)
    for (key, start), numbers in windows.items():
        found[f"{key}|window|{start}|{numbers}"] += 1
    return found


def differences(found: Sequence[str], wanted: Counter[str]) -> list[str]:
    """What is missing, what is there too often, and where the elements of a key are not in order."""
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
    """The program with the job, started again whenever it has ended."""

    def __init__(self, run: Run, log: Path) -> None:
        self.run = run
        self._log = log
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
        own = {"checkpoint": str(checkpoint), "savepoint": str(savepoint)}
        self.run = replace(self.run, parallelism=parallelism, **own)
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


class Loop:
    """A broker, a job on it, and what is done to them."""

    def __init__(self, directory: Path, seed: int, away: float) -> None:
        self._directory = directory
        self._choice = random.Random(seed)
        self._away = away
        self.broker = KafkaBroker(directory / "broker")
        self.broker.start()
        self._topics = Topics(self.broker.bootstrapServers)
        self._topics.create("elements", PARTITIONS)
        self._topics.create("results", PARTITIONS)
        checkpoint = str(directory / "checkpoint-0")
        run = Run(self.broker.bootstrapServers, "elements", "results", checkpoint, 2)
        self.job = HitJob(run, directory / "job.log")
        self.feeder = Feeder(self.broker, "elements", seed)
        self._parallelisms = cycle((3, 1, 2, 4))
        self.rescales = 0

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
            pids = victims(kind, process.pid, self._choice)
            if pids:
                kill(pids)
                return len(pids)
            time.sleep(0.02)
        return 0

    def rescale(self) -> None:
        """Go on from a savepoint with another parallelism."""
        self._await_output()
        self.rescales += 1
        place = self._directory / f"savepoint-{self.rescales}"
        checkpoint = self._directory / f"checkpoint-{self.rescales}"
        self.job.rescale(place, checkpoint, next(self._parallelisms))

    def finish(self) -> list[str]:
        """End the input, wait for its results, and tell what is wrong with them."""
        self.feeder.end()
        wanted = expected(self.feeder.sent)
        until = time.monotonic() + PATIENCE
        found: list[str] = []
        while len(found) < wanted.total() and time.monotonic() < until:
            self.job.start()
            time.sleep(1)
            found = [text for text in self._results() if not text.startswith("end")]
        # What would be doubled comes with the next batches
        time.sleep(3)
        return differences(self._results(), wanted)

    def close(self) -> None:
        self.job.close()
        self.broker.close()

    def _results(self) -> list[str]:
        found = [message.value().decode() for message in self._topics.read("results")]
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
        for number, kind in enumerate(chosen, 1):
            began = time.monotonic()
            found = {"kill": number, "kind": kind, "processes": loop.strike(kind)}
            if rescaleAfter and number % rescaleAfter == 0:
                loop.rescale()
                found["parallelism"] = loop.job.run.parallelism
            seconds = round(time.monotonic() - began, 1)
            print(json.dumps({**found, "starts": loop.job.starts, "seconds": seconds}), flush=True)
        wrong = loop.finish()
        total = expected(loop.feeder.sent).total()
        print(
            f"{len(chosen)} kills, {loop.rescales} rescales by savepoint, {loop.job.starts} programs,"
            f" {len(loop.feeder.sent):,} elements, {total:,} results: {len(wrong)} differences",
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
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="flinkish-kills-") as directory:
        chosen = kinds(options.kills, options.seed)
        wrong = run(Path(directory), chosen, options.seed, options.away, options.rescale_after)
        print("\n".join(wrong[:50]))
        if wrong:
            log = Path(directory, "job.log").read_text()
            sys.exit(log[-5_000:])


if __name__ == "__main__":
    main()
