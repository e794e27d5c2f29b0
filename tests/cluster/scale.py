"""Jobs on a standalone cluster of 1, 2, 4 and 8 workers, each with the same share of a core: what grows, what does not.

    python -m tests.cluster.scale [--jobs tumbling] [--workers 1 2 4 8] [--share 0.2] [--elements 10000] [--write]

A job reads files of ``--elements`` elements, eight a batch, so that all workers have one; the first two batches warm up.
It runs on each number of workers, and the results have to be equal. A number on which it takes longer than ``--limit`` seconds is
left out. ``--write`` puts a table for each job into docs/scaling.md, in place of the one that it has. The shares take root and
Linux's control groups. The driver and the master have what the workers leave.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

from tests.benchmarks.results import DifferentResultsError
from tests.cluster.cpu_share import CpuShare
from tests.cluster.scale_job import FILES_PER_BATCH, KAFKA, TITLES, JobRun
from tests.cluster.standalone import StandaloneCluster
from tests.kafka.broker import KafkaBroker
from tests.reliability.processes import ROOT, kill, tree_of
from tests.reliability.soak import pss_of

PAGE = ROOT / "docs" / "scaling.md"

BEGIN, END = "<!-- tests.cluster.scale: {} -->\n", "<!-- end -->\n"

WARM_UP = 2

JOBS = ("tumbling", KAFKA)
"""Those for which docs/scaling.md has a place."""


@dataclass(frozen=True)
class Memory:
    """The most MB (PSS: what processes share counts once) of the driver with its JVM, and of one executor with its
    Python worker."""

    driver: int
    executor: int


@dataclass(frozen=True)
class Measured:
    """A job on so many workers. ``shuffled`` is bytes an element, ``driver`` is processor seconds."""

    workers: int
    run: JobRun
    elements: int
    shuffled: float
    memory: Memory

    @property
    def seconds(self) -> float:
        """The time from the beginning of the first batch that counts to the end of the last."""
        begins, seconds = self.run.begins, self.run.seconds
        return begins[-1] + seconds[-1] - begins[WARM_UP]

    @property
    def throughput(self) -> float:
        """Elements a second."""
        return (len(self.run.seconds) - WARM_UP) * self.elements / self.seconds

    def cells(self) -> list[str]:
        return [
            str(self.workers),
            f"{self.throughput:,.0f}",
            f"{median(self.run.seconds[WARM_UP:]):.2f}",
            f"{self.run.driver / len(self.run.seconds):.2f}",
            f"{self.shuffled:.1f}",
            f"{self.memory.driver}",
            f"{self.memory.executor}",
        ]


class MemorySampler:
    """Looks every two seconds at the processes of the driver and at each worker's executor, while the block runs."""

    def __init__(self, driver: int, workers: Sequence[int]) -> None:
        self._driver = driver
        self._workers = workers
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._most = Memory(0, 0)

    def __enter__(self) -> MemorySampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def most(self) -> Memory:
        return self._most

    def _sample(self) -> None:
        while not self._ended.wait(2):
            driver = sum(pss_of(process.pid) for process in tree_of(self._driver))
            executors = [
                # The first is the worker itself
                sum(pss_of(process.pid) for process in tree_of(worker)[1:])
                for worker in self._workers
            ]
            self._most = Memory(
                max(self._most.driver, driver >> 10), max(self._most.executor, max(executors) >> 10)
            )


def shuffled_bytes(log: Path) -> dict[str, int]:
    """By job, what tasks wrote for shuffles in batches after the warm-up, from Spark's log of events."""
    stages: dict[int, str] = {}
    found: dict[str, int] = defaultdict(int)
    for line in log.open("rb"):
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            description = (event.get("Properties") or {}).get("spark.job.description", "")
            # As in "tumbling\nid = ...\nrunId = ...\nbatch = 3"
            name, *more = description.split("\n")
            batch = more[-1].rpartition(" = ")[2] if more else ""
            if name in TITLES and batch.isdecimal() and int(batch) >= WARM_UP:
                stages.update(dict.fromkeys(event["Stage IDs"], name))
        elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            metrics = event.get("Task Metrics") or {}
            written = metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
            found[stages[event["Stage ID"]]] += written
    return found


@contextmanager
def cluster_of(directory: Path, workers: int) -> Iterator[tuple[StandaloneCluster, list[CpuShare]]]:
    """A cluster whose workers have a control group each."""
    cluster = StandaloneCluster(directory, workers)
    shares: list[CpuShare] = []
    try:
        for number, worker in enumerate(cluster.workers):
            shares.append(CpuShare(str(number), worker.pid))
        yield cluster, shares
    finally:
        cluster.close()
        for share in shares:
            share.close()


@dataclass(frozen=True)
class Setting:
    """Under what jobs run. ``share``: of a core, for each worker; ``limit``: s for a job, and for the start of the
    cluster; ``broker``: the address of Kafka, if a job needs it."""

    share: float
    files: int
    elements: int
    limit: float
    broker: str = ""


class TooSlowError(Exception):
    """A job has not ended within the limit."""


def measure(
    directory: Path, workers: int, names: Sequence[str], setting: Setting
) -> Iterator[Measured]:
    """Run the jobs on so many workers. Raises TooSlowError."""
    log = directory / f"events-{workers}"
    log.mkdir(parents=True)
    output = directory / f"output-{workers}"
    measured: list[tuple[JobRun, Memory]] = []
    files, elements = setting.files, setting.elements
    with cluster_of(directory / f"cluster-{workers}", workers) as (cluster, shares):
        numbers = (str(files), str(elements))
        program = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.cluster.scale_job"),
                *(cluster.master, str(log), str(output), *numbers, *names),
            ],
            cwd=ROOT,
            env=cluster.environment(JDK_JAVA_OPTIONS="-XX:+UseSerialGC", BROKER=setting.broker),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert program.stdin is not None
            assert program.stdout is not None
            pids = [worker.pid for worker in cluster.workers]
            for name in names:
                if (said := _line(program, setting.limit)) != "ready":
                    raise RuntimeError(f"{name} on {workers} workers: the program said {said!r}")
                for each in shares:
                    each.limit(setting.share)
                with MemorySampler(program.pid, pids) as memory:
                    program.stdin.write("go\n")
                    program.stdin.flush()
                    line = _line(program, setting.limit)
                measured.append((JobRun(**json.loads(line)), memory.most()))
            program.stdin.close()
            if program.wait():
                raise RuntimeError(
                    f"the program on {workers} workers ended with {program.returncode}"
                )
        finally:
            kill(process.pid for process in tree_of(program.pid))
    shuffled = shuffled_bytes(next(log.iterdir()))
    batch = elements * FILES_PER_BATCH
    counted = batch * (files // FILES_PER_BATCH - WARM_UP)
    for run, memory in measured:
        yield Measured(workers, run, batch, shuffled[run.job] / counted, memory)


def _line(program: subprocess.Popen[str], seconds: float) -> str:
    """Return the next line of ``program``. Kills it and raises TooSlowError if that takes longer; raises RuntimeError
    if it has ended."""
    assert program.stdout is not None
    late = threading.Event()

    def end() -> None:
        late.set()
        kill(process.pid for process in tree_of(program.pid))

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        line = program.stdout.readline().strip()
    finally:
        timer.cancel()
    if line:
        return line
    if late.is_set():
        raise TooSlowError
    raise RuntimeError("the program has ended")


def check_equal(measured: Iterable[Measured]) -> None:
    """Raise DifferentResultsError unless a job gave the same on each number of workers."""
    by_job: dict[str, set[str]] = defaultdict(set)
    for each in measured:
        by_job[each.run.job].add(each.run.results)
    if "salted" in by_job and "skewed" in by_job:
        by_job["skewed"] |= by_job["salted"]
    for job, found in by_job.items():
        if len(found) > 1:
            raise DifferentResultsError(f"{job}: {'; '.join(sorted(found))}")


HEAD = ("workers", "elements a second", "a batch, s", "driver, s a batch", "bytes an element", "driver, MB", "executor, MB")  # fmt: skip


def table(job: str, measured: Sequence[Measured], about: str) -> str:
    """The text of the page about a job: a row for each number of workers."""
    lines = [f"**{TITLES[job]}**: {about}", ""]
    lines += [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    lines += [f"| {' | '.join(each.cells())} |" for each in measured if each.run.job == job]
    return "\n".join(lines) + "\n"


def write_page(job: str, text: str) -> None:
    """Put ``text`` into the page, in place of what was there about the job."""
    page, begin = PAGE.read_text("utf-8"), BEGIN.format(job)
    head, found, rest = page.partition(begin)
    if not found:
        raise ValueError(f"{PAGE} has no place for {job}: {begin.strip()}")
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{begin}{text}{END}{tail}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.scale")
    parser.add_argument("--jobs", nargs="+", default=JOBS, choices=TITLES)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--share", type=float, default=0.2, help="of a core, for each worker")
    parser.add_argument("--elements", type=int, default=10_000, help="in a file")
    parser.add_argument("--batches", type=int, default=3, help="that count")
    parser.add_argument("--limit", type=float, default=300.0, help="s for a job on a number")
    parser.add_argument("--write", action="store_true", help="into docs/scaling.md")
    given = parser.parse_args()
    # So that a run that is ended leaves no processes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    files = (given.batches + WARM_UP) * FILES_PER_BATCH
    measured: list[Measured] = []
    slow: list[str] = []
    busy = _others_share()
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        broker = ""
        if KAFKA in given.jobs:
            started = stack.enter_context(closing(KafkaBroker()))
            started.start()
            broker = started.bootstrapServers
        setting = Setting(given.share, files, given.elements, given.limit, broker)
        for workers in given.workers:
            try:
                for each in measure(Path(directory), workers, given.jobs, setting):
                    print(each.run.job, *each.cells(), sep="\t", flush=True)
                    measured.append(each)
            except TooSlowError:
                slow.append(str(workers))
                print(workers, "workers: over", given.limit, "s", flush=True)
    check_equal(measured)
    left_out = f" On {', '.join(slow)} workers it took over {given.limit:g} s." if slow else ""
    for job in given.jobs:
        about = (
            f"`python -m tests.cluster.scale --jobs {job} --elements {given.elements} --batches {given.batches}`,"
            f" {date.today():%d %B %Y}, {os.cpu_count()} cores, of which others used {busy:.1f} before;"
            f" {given.share:g} of a core for each worker, {given.elements * FILES_PER_BATCH:,} elements a batch."
            f" Results were equal.{left_out}"
        )
        text = table(job, measured, about)
        print(text)
        if given.write:
            write_page(job, text)


def _others_share() -> float:
    """Return the number of cores that the machine's other processes use, over five seconds."""
    before = _busy_ticks()
    time.sleep(5)
    return (_busy_ticks() - before) / os.sysconf("SC_CLK_TCK") / 5


def _busy_ticks() -> int:
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    # Idle, and waiting for a disk
    return sum(fields[:8]) - fields[3] - fields[4]


if __name__ == "__main__":
    main()
