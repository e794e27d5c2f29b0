"""Runs the benchmark, and puts the parts that it ran whole into docs/benchmarks.md.

python -m tests.benchmarks [--jobs tumbling sessions ...] [--elements 1000000] [--files 8] [--sides flinkish Spark]
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks import flink, growth, micro_batches, peers
from tests.benchmarks.files import BUILD, ROOT, Workload, fresh_directory
from tests.benchmarks.jobs import JOBS, Job, chosen
from tests.benchmarks.quoted import quote
from tests.benchmarks.report import (
    CHECKPOINTED,
    GROUPS,
    JAVA,
    PYFLINK,
    PYFLINK_THREADS,
    Measured,
    Row,
    as_json,
    latencies,
    page,
    read_measured,
    run_lines,
    throughput,
)
from tests.benchmarks.results import Digest, check_equal, digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "benchmarks.md"
MEASURED = Path(__file__).parent / "measured.json"
"""The data of the page."""
FILE = 1_000_000
"""Elements in a file; a batch of more is several files."""
BATCHES = (1_000_000, 4_000_000)
WARM_UP_ELEMENTS = 1_000
SMALL = Workload(files=80, elements=100)
SMALL_WARM_UP = 40
PYFLINK_ELEMENTS = 500_000
PYFLINK_JOB = "tumbling"
PYFLINK_PATIENCE = 12
"""The time that PyFlink may take, as a multiple of the others'."""
PYFLINK_MODES = {"process": PYFLINK, "thread": PYFLINK_THREADS}
SIDES = ("flinkish", "Spark", JAVA, PYFLINK, *(peer.side for peer in peers.PEERS))


@dataclass(frozen=True)
class Counted:
    """The part of a run that counts."""

    first: int
    """The first batch that does."""
    seconds: Callable[[micro_batches.Batches], float]
    """The figure of a run."""


@dataclass(frozen=True)
class Run:
    """One run of a job on one side."""

    seconds: float
    results: Digest
    steps: str = ""
    """The steps that took the time of flinkish's batches."""


@dataclass
class Figure:
    """The measurement of one side, for ``rows``: the best of its runs, after one that does not
    count."""

    side: str
    rows: Sequence[Row]
    measured: Callable[[], Run | None]
    """Runs the job once. None: it was not done in time."""
    runs: list[Run] = field(default_factory=list)
    ended: bool = False
    """Whether a run was not done in time, after which there are no more."""

    def run(self) -> None:
        found = None if self.ended else self.measured()
        if found is None:
            self.ended = True
        else:
            self.runs.append(found)

    def show(self, unfinished: str) -> None:
        """Put the figure into the rows, or ``unfinished`` where no run counts."""
        best = min(self.runs[1:], key=lambda run: run.seconds, default=None)
        for row in self.rows:
            if best is None:
                row.unfinished[self.side] = unfinished
                continue
            row.seconds[self.side] = best.seconds
            row.results = str(best.results)
            if self.side == "flinkish":
                row.steps = best.steps


@dataclass
class Bench:
    """One run: what it reads, which sides take part, and where its files are."""

    sides: Sequence[str]
    workload: Workload
    batches: Sequence[int]
    """The sizes of a batch, in elements."""
    runs: int
    """The number of runs of a job that count on each side; its figure is that of the best."""
    patience: float
    """The seconds after which a job on Spark or Flink is ended."""
    root: Path
    spark: SparkSession
    warmUp: Workload
    """The input on which each job runs first, a file a batch."""
    sessionWarmUp: Workload | None = None
    """The input on which the first job runs before that: the JVM of a session compiles for two
    minutes."""
    classPath: str | None = None

    def measure(self, job: Job) -> list[Row]:
        """The rows of a job. Raises DifferentResultsError if two sides differ."""
        if self.sessionWarmUp is not None:
            self._warm_up(job, self.sessionWarmUp)
            self.sessionWarmUp = None
        if job.group == "smallest":
            return [self._smallest(job)]
        self._warm_up(job, self.warmUp)
        rows = [Row(job.title, job.group, size) for size in self.batches]
        figures = [figure for row in rows for figure in self._of_batches(job, row)]
        with ExitStack() as stack:
            if self.classPath is not None and job.format == "csv":
                figures += self._of_java(job, rows, self.classPath, stack)
            self._in_turn(job, figures)
        return rows

    def _warm_up(self, job: Job, workload: Workload) -> None:
        """Run a job in many small batches that do not count: the JVM of flinkish and Spark compiles what it
        needs only when that has run often, and the jobs of a stream run for days."""
        inputs = workload.inputs(job, self.root)
        for side, run in self._sides(job):
            with fresh_directory(f"{job.name}-{side}", self.root) as output:
                run(self.spark, job, inputs, 1, output)

    def _of_batches(self, job: Job, row: Row) -> list[Figure]:
        """flinkish and Spark with batches of the size of ``row``."""
        files = max(row.batch // self.workload.elements, 1)
        batches = -(-self.workload.files // files)
        first = max(batches // 3, 1) if batches > 1 else 0
        millions = (self.workload.total - first * files * self.workload.elements) / 1e6
        counted = Counted(first, lambda found: found.wall(first, batches) / millions)
        return self._on_spark(job, row, self.workload, files, counted)

    def _smallest(self, job: Job) -> Row:
        """flinkish and Spark with batches of a few elements."""
        row = Row(job.title, job.group)
        counted = Counted(SMALL_WARM_UP, lambda found: found.a_batch(SMALL_WARM_UP))
        self._in_turn(job, self._on_spark(job, row, SMALL, 1, counted))
        return row

    def _on_spark(
        self, job: Job, row: Row, workload: Workload, files: int, counted: Counted
    ) -> list[Figure]:
        inputs = workload.inputs(job, self.root)

        def measured(side: str, run: micro_batches.Side) -> Run | None:
            with fresh_directory(f"{job.name}-{side}", self.root) as output:
                found = run(self.spark, job, inputs, files, output)
                if found is None:
                    return None
                results = digest(output / "results", job.results, job.updates)
            return Run(counted.seconds(found), results, found.largest_steps(counted.first))

        return [Figure(side, [row], partial(measured, side, run)) for side, run in self._sides(job)]

    def _of_java(
        self, job: Job, rows: Sequence[Row], classPath: str, stack: ExitStack
    ) -> list[Figure]:
        inputs = self.workload.inputs(job, self.root)
        directory = stack.enter_context(fresh_directory(f"{job.name}-java", self.root))
        output = directory / "output"
        java = stack.enter_context(flink.JavaFlink(classPath, job, inputs, output, self.patience))

        def measured(kind: str) -> Run | None:
            seconds = java.run(kind)
            if seconds is None:
                return None
            results = digest(output / kind / "results", job.results, job.updates)
            return Run(seconds / self.workload.total * 1e6, results)

        return [
            Figure(side, rows, partial(measured, kind))
            for side, kind in ((JAVA, flink.PLAIN), (CHECKPOINTED, flink.CHECKPOINTED))
        ]

    def _in_turn(self, job: Job, figures: Sequence[Figure]) -> None:
        """Measure ``figures`` and put them into their rows. Each runs once and then each again, as a shared machine
        is quicker at times. Raises DifferentResultsError if two runs differ."""
        for _ in range(1 + self.runs):
            for figure in figures:
                figure.run()
        check_equal(
            job.name,
            {
                f"{figure.side}, {figure.rows[0].batch:,} a batch, run {number}": run.results
                for figure in figures
                for number, run in enumerate(figure.runs)
            },
        )
        for figure in figures:
            figure.show(f"not done after {self.patience:.0f} s")

    def _sides(self, job: Job) -> list[tuple[str, micro_batches.Side]]:
        sides: list[tuple[str, micro_batches.Side]] = [("flinkish", micro_batches.run_flinkish)]
        if "Spark" in self.sides and job.spark is not None:
            sides.append(("Spark", partial(micro_batches.run_spark, patience=self.patience)))
        return sides

    def pyflink(self, python: Path, rows: Sequence[Row], elements: int) -> list[Row]:
        """PyFlink's row in both modes, beside what flinkish takes for the same job in ``rows``."""
        job, workload = JOBS[PYFLINK_JOB], Workload(1, elements)
        inputs = workload.inputs(job, self.root)
        row = Row(f"{job.title}: {elements:,} elements", "pyflink")
        patience = self.patience * PYFLINK_PATIENCE
        sides = {
            side: partial(flink.run_pyflink, python, inputs, patience=patience, mode=mode)
            for mode, side in PYFLINK_MODES.items()
        }
        self._compare(job, row, workload, inputs, sides, patience)
        self._put_flinkish(row, job, rows)
        return [row]

    def peers(self, pythons: Mapping[peers.Peer, Path], rows: Sequence[Row], job: Job) -> list[Row]:
        """The row of a job with those peers, beside what flinkish takes for it in ``rows``."""
        inputs = self.workload.inputs(job, self.root)
        row = Row(job.title, "peers")
        sides = {
            peer.side: partial(peer.run, python, job, inputs, patience=self.patience)
            for peer, python in pythons.items()
        }
        self._compare(job, row, self.workload, inputs, sides, self.patience)
        self._put_flinkish(row, job, rows)
        return [row]

    def _compare(
        self,
        job: Job,
        row: Row,
        workload: Workload,
        inputs: Mapping[str, Path],
        sides: Mapping[str, Callable[[Path], float | None]],
        patience: float,
    ) -> None:
        """Put the seconds of ``sides`` into ``row``. Raises DifferentResultsError if one differs from flinkish."""
        with ExitStack() as stack:
            ours = stack.enter_context(fresh_directory(f"{job.name}-flinkish", self.root))
            micro_batches.run_flinkish(self.spark, job, inputs, 1, ours)
            found = {"flinkish": digest(ours / "results", job.results)}
            for side, run in sides.items():
                theirs = stack.enter_context(fresh_directory(f"{job.name}-{side}", self.root))
                seconds = run(theirs / "results")
                if seconds is None:
                    row.unfinished[side] = f"not done after {patience:.0f} s"
                    continue
                row.seconds[side] = seconds / workload.total * 1e6
                found[side] = digest(theirs / "results", job.results)
        check_equal(job.name, found)
        row.results = str(found["flinkish"])

    def _put_flinkish(self, row: Row, job: Job, rows: Sequence[Row]) -> None:
        of_this_job = [each for each in rows if each.title == job.title]
        if of_this_job and "flinkish" in of_this_job[-1].seconds:
            row.seconds["flinkish"] = of_this_job[-1].seconds["flinkish"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; the exit status is 1 if a job failed, or two sides gave different results."""
    options = _options(arguments)
    if options.growth is not None:
        return growth.run(options.growth)
    jobs = chosen(options.jobs)
    size = options.elements
    bench = Bench(
        sides=options.sides,
        workload=Workload(options.files, size or FILE),
        batches=(size,) if size else BATCHES,
        runs=options.runs,
        patience=options.patience,
        root=BUILD,
        spark=micro_batches.session(),
        warmUp=Workload(options.warm_up, WARM_UP_ELEMENTS),
        sessionWarmUp=Workload(options.session_warm_up, WARM_UP_ELEMENTS),
    )
    notes, java, python = [], None, None
    if JAVA in options.sides or PYFLINK in options.sides:
        try:
            bench.classPath = flink.compile_jobs()
            python = flink.install()
            java = f"{_java_version()}, apache-flink {flink.FLINK_VERSION}"
        except flink.MissingError as missing:
            notes.append(f"Flink was not run: {missing}.")
        if JAVA not in options.sides:
            bench.classPath = None

    began = time.monotonic()
    rows: list[Row] = []
    measures: list[Callable[[], list[Row]]] = [partial(bench.measure, job) for job in jobs]
    if python is not None and PYFLINK in options.sides and JOBS[PYFLINK_JOB] in jobs:
        measures.append(partial(bench.pyflink, python, rows, size or PYFLINK_ELEMENTS))
    pythons = _pythons(options.sides, notes)
    if pythons:
        measures += [
            partial(bench.peers, pythons, rows, job) for job in jobs if job.name in peers.JOBS
        ]
    failures = []
    for measure in measures:
        # One job that fails should not cost the figures of all others.
        try:
            found = measure()
        except Exception as failure:
            failures.append(failure)
            print(f"FAILED: {failure}", file=sys.stderr, flush=True)
            continue
        rows += found
        for row in found:
            _show(row, time.monotonic() - began)
    notes.append(
        f"{options.files} files; the run took {(time.monotonic() - began) / 60:.0f} minutes"
    )

    given = sys.argv[1:] if arguments is None else arguments
    command = shlex.join(
        ["python", "-m", "tests.benchmarks", *given] if given else ["make", "bench"]
    )
    run = list(run_lines(command, notes, java))
    measured = {
        group: Measured([row for row in rows if row.group == group], run)
        for group in dict.fromkeys(row.group for row in rows)
    }
    (BUILD / "benchmarks.md").write_text(page(measured), "utf-8")
    (BUILD / "benchmarks.json").write_text(as_json(measured), "utf-8")
    if size is None and not failures:
        whole = whole_groups(jobs, options.sides)
        put_into_page({group: found for group, found in measured.items() if group in whole})
        quote(read_measured(MEASURED))
    if failures:
        print(f"{len(failures)} of {len(measures)} jobs failed.", file=sys.stderr)
    return 1 if failures else 0


def whole_groups(jobs: Collection[Job], sides: Collection[str] = SIDES) -> set[str]:
    """The parts of the page that ``jobs`` measure whole on ``sides``; those with other peers need the
    jobs that they share."""
    if not {"flinkish", "Spark", JAVA}.issubset(sides):
        return set()
    left = {job.group for job in JOBS.values() if job not in jobs}
    groups = {job.group for job in jobs} - left
    names = {job.name for job in jobs}
    if names.issuperset(peers.JOBS) and {peer.side for peer in peers.PEERS}.issubset(sides):
        groups.add("peers")
    if PYFLINK_JOB in names and PYFLINK in sides:
        groups.add("pyflink")
    return groups


def put_into_page(found: Mapping[str, Measured]) -> None:
    """Replace those parts of docs/benchmarks.md, and keep the others with the runs that they are from."""
    measured = read_measured(MEASURED) | found if MEASURED.exists() else found
    ordered = {group: measured[group] for group in GROUPS if group in measured}
    MEASURED.write_text(as_json(ordered), "utf-8")
    PAGE.write_text(page(ordered), "utf-8")
    print(f"{', '.join(found) or 'Nothing'} put into {PAGE}")


def _pythons(sides: Sequence[str], notes: list[str]) -> dict[peers.Peer, Path]:
    """The Python of each peer that takes part; why one cannot is added to ``notes``."""
    found = {}
    for peer in peers.PEERS:
        if peer.side in sides:
            try:
                found[peer] = peer.install()
            except flink.MissingError as missing:
                notes.append(f"{peer.side} was not run: {missing}.")
    return found


def _show(row: Row, seconds: float) -> None:
    line = (latencies if row.group == "smallest" else throughput)([row]).splitlines()[-1]
    if row.group in ("pyflink", "peers"):
        others = ", ".join(f"{side} {row.cell(side)}" for side in {**row.seconds, **row.unfinished})
        line = f"| {row.title} | {others} |"
    print(f"{seconds:5.0f} s  {row.batch:>9,}  {line} {row.results}", flush=True)


def _java_version() -> str:
    printed = subprocess.run(
        ["java", "-version"], capture_output=True, text=True, check=True
    ).stderr
    return printed.splitlines()[1].split("(build")[0].strip()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--jobs",
        nargs="*",
        default=[],
        help=f"all, or of: table more nexmark smallest {' '.join(JOBS)}",
    )
    parser.add_argument(
        "--elements",
        type=int,
        help="in a file and a batch; without it a million and four million a batch",
    )
    parser.add_argument("--files", type=int, default=8, help="of each input: %(default)s")
    parser.add_argument(
        "--warm-up", type=int, default=40, help="small batches before each job: %(default)s"
    )
    parser.add_argument(
        "--session-warm-up",
        type=int,
        default=400,
        help="and before the first one: %(default)s",
    )
    parser.add_argument("--sides", nargs="*", default=list(SIDES), choices=SIDES)
    parser.add_argument(
        "--runs",
        type=int,
        default=2,
        help="of each job on each side that count, of which the best is shown: %(default)s",
    )
    parser.add_argument(
        "--growth",
        nargs="*",
        help="instead of the jobs, how cost grows, into docs/growth.md; or only some, as in keys=1000,10000",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=150,
        help="seconds for a job on Spark or Flink: %(default)s",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
