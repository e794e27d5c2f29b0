"""The change campaign: a job that was changed goes on as if it had never been interrupted, or is refused by name.

There is no third outcome. Each cell of the table runs; docs/changes.md has what came out, and is made of it by
``python -m tests.campaign.test_changed_jobs``.
"""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.campaign.changed_jobs import CHANGES, FOLDS, STEP, Pieces, cell, jobs

pytestmark = pytest.mark.slow("a job for each pair of functions and each way to go on")

COUNT, CUT, BATCH = 60, 34, 17
"""The elements of a job, the first of the second run, and the elements of a batch."""

GOES_ON, REFUSED = "goes on", "refused"
PAGE = Path(__file__).parents[2] / "docs/changes.md"
MARKS = "<!-- table -->", "<!-- end of table -->"
COMMAND = "python -m tests.campaign.test_changed_jobs"

JOBS = {job.name: job for job in jobs()}


def plain(row: Any) -> tuple[Any, float]:
    return row.key, float(row.value)


# ---------------------------------------------------------------------- on the harness


def job_of(pieces: Pieces, before: Pieces | None = None, at: int = 0) -> Callable[[Any], Any]:
    def build(numbers: Any) -> Any:
        if not pieces.tracing or before is not None:
            numbers.getExecutionEnvironment().getConfig().disableFunctionTracing()
        return pieces.build(numbers, before, at)

    return build


def feed(harness: StreamTestHarness, numbers: range, clock: bool) -> None:
    for n in numbers:
        if clock:
            harness.setProcessingTime(n * STEP)
        harness.processElement(fl.Row(n=n), n * STEP)
        harness.processWatermark(n * STEP - 1)


def end(harness: StreamTestHarness, clock: bool) -> list[Any]:
    if clock:
        harness.setProcessingTime(10**6)
    harness.processWatermark(10**6)
    timers = harness.numEventTimeTimers() + harness.numProcessingTimeTimers()
    assert not timers, "timers are left of windows that are gone"
    harness.endInput()
    return values(harness)


def values(harness: StreamTestHarness) -> list[Any]:
    return [plain(e.value) for e in harness.getOutput() if hasattr(e, "value")]


@cache
def undisturbed(before: Pieces, after: Pieces) -> Counter[Any]:
    """The results of a run in which the pieces change at the element ``CUT``, and nothing is interrupted."""
    harness = StreamTestHarness(job_of(after, before, CUT * STEP))
    feed(harness, range(COUNT), after.byClock)
    return Counter(end(harness, after.byClock))


@cache
def snapshot_of(pieces: Pieces) -> tuple[bytes, list[Any]]:
    """The snapshot of a job after ``CUT`` elements, and what it had given."""
    harness = StreamTestHarness(job_of(pieces))
    feed(harness, range(CUT), pieces.byClock)
    return harness.snapshot(), values(harness)


def on_harness(before: Pieces, after: Pieces, directory: Path) -> list[Any]:
    snapshot, given = snapshot_of(before)
    return given + restored(snapshot, after)


def restored(snapshot: bytes, after: Pieces) -> list[Any]:
    """The results of a harness that goes on from a snapshot."""
    # Its classes are there before state is read
    job_of(after)(fl.StreamExecutionEnvironment().fromData(0))
    second = StreamTestHarness.restore(job_of(after), snapshot)
    feed(second, range(CUT, COUNT), after.byClock)
    return end(second, after.byClock)


# ---------------------------------------------------------------------- from a savepoint


def environment(pieces: Pieces) -> Any:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    # As few key groups as can be, since each is a task
    env.setParallelism(pieces.parallelism).setMaxParallelism(pieces.parallelism)
    if not pieces.tracing:
        env.getConfig().disableFunctionTracing()
    return env


def write_numbers(directory: Path, count: int) -> None:
    """Files of the first ``count`` numbers, which are read in their order."""
    directory.mkdir(parents=True, exist_ok=True)
    for first in range(0, count, BATCH):
        file = directory / f"{first:04}.parquet"
        if not file.exists():
            pq.write_table(pa.table({"n": range(first, min(first + BATCH, COUNT))}), file)
            os.utime(file, (first, first))


def numbers_of(env: Any, directory: Path, goOn: bool = False) -> Any:
    """Rows of files, which are columns, a file in a batch. ``goOn``: wait for more of them."""
    files = directory / "numbers"
    if not goOn:
        write_numbers(files, COUNT)
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    timed = strategy.withTimestampAssigner(lambda e, at: e.n * STEP)
    source = fl.FileSource.forParquet(str(files), "n bigint").withFilesPerBatch(1)
    source = source.monitorContinuously() if goOn else source
    return env.fromSource(source, timed, "numbers").uid("numbers")


def build(env: Any, pieces: Pieces, directory: Path, reached: threading.Event | None) -> list[Any]:
    """Add the job to ``env``, and return the list that its results come to. With ``reached``, which is set when all
    of the elements before the cut are read, it has these alone and waits for more."""
    results: list[Any] = []
    seen: list[Any] = []
    numbers = numbers_of(env, directory, goOn=reached is not None)

    def note(batch: list[Any], number: int) -> None:
        seen.extend(batch)
        if reached is not None and len(seen) == CUT:
            reached.set()

    numbers.forEachBatch(note)
    pieces.build(numbers).forEachBatch(lambda batch, number: results.extend(map(plain, batch)))
    return results


_stopped: dict[Pieces, tuple[str, list[Any]]] = {}


def stopped(pieces: Pieces, directory: Path) -> tuple[str, list[Any]]:
    """The savepoint of a job after ``CUT`` elements, and what it had given."""
    if pieces not in _stopped:
        own = directory / f"job-{len(_stopped)}"
        write_numbers(own / "numbers", CUT)
        env, reached = environment(pieces), threading.Event()
        results = build(env, pieces, own, reached)
        client = env.executeAsync()
        assert reached.wait(30)
        _stopped[pieces] = client.stopWithSavepoint(f"{own}/savepoint"), results
    return _stopped[pieces]


def from_savepoint(before: Pieces, after: Pieces, directory: Path) -> list[Any]:
    savepoint, given = stopped(before, directory)
    return given + resumed(savepoint, after)


def resumed(savepoint: str, after: Pieces) -> list[Any]:
    """The results of a job that begins from a savepoint."""
    env = environment(after).setSavepoint(savepoint)
    results = build(env, after, Path(savepoint).parent, None)
    env.execute()
    return results


WAYS = {"harness": on_harness, "savepoint": from_savepoint}


# ---------------------------------------------------------------------- the table


def outcome(way: str, before: Pieces, after: Pieces, directory: Path) -> str:
    """``GOES_ON`` or ``REFUSED``, else what came instead."""
    try:
        results = WAYS[way](before, after, directory)
    except (fl.IncompatibleCheckpointError, fl.CorruptCheckpointError) as error:
        return named(error)
    except fl.FlinkishError as error:
        return f"{type(error).__name__}: {error}"
    return compared(results, before, after)


def named(error: fl.FlinkishError) -> str:
    """``REFUSED`` if ``error`` names the operator or its state."""
    is_named = "(kept)" in str(error) or "state 'kept'" in str(error)
    return REFUSED if is_named else f"refused without a name: {error}"


def compared(results: list[Any], before: Pieces, after: Pieces) -> str:
    """``GOES_ON`` if these are the results of a run that was never interrupted."""
    found, due = Counter(results), undisturbed(before, after)
    return GOES_ON if found == due else f"lost {due - found}, and found {found - due}"


def cells(way: str, job: Pieces) -> Iterator[tuple[str, Pieces, Pieces]]:
    for change in CHANGES:
        found = cell(job, change)
        # The clock of local execution is the real one
        if found is not None and (way == "harness" or not any(p.byClock for p in found)):
            yield change, *found


def row(way: str, job: Pieces, directory: Path) -> dict[str, str]:
    return {c: outcome(way, before, after, directory) for c, before, after in cells(way, job)}


def lines(outcomes: dict[str, dict[str, str]]) -> list[str]:
    """The lines of the page: one for all jobs that are refused after the same changes."""
    alike = defaultdict(list)
    for job, of_job in outcomes.items():
        alike[", ".join(c for c, found in of_job.items() if found == REFUSED)].append(job)
    return [f"| {'; '.join(jobs)} | {refused} |" for refused, jobs in alike.items()]


def in_words(outcomes: dict[str, dict[str, str]]) -> str:
    """The sentence above the table."""
    counts = Counter(found for of_job in outcomes.values() for found in of_job.values())
    return (
        f"{len(outcomes)} jobs with {counts.total()} changes: {counts[GOES_ON]} go on, and"
        f" {counts[REFUSED]} are refused."
    )


def page() -> list[str]:
    return PAGE.read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("changed-jobs")


def wrong_ones(outcomes: dict[str, str]) -> dict[str, str]:
    return {c: found for c, found in outcomes.items() if found not in (GOES_ON, REFUSED)}


@pytest.mark.filterwarnings("ignore:allowedLateness has no effect")
@pytest.mark.parametrize("name", JOBS)
def test_each_change_goes_on_or_is_refused_as_the_page_says(name: str, directory: Path) -> None:
    outcomes = row("harness", JOBS[name], directory)
    assert not wrong_ones(outcomes)
    assert told()[name] == outcomes, f"{PAGE} is stale: run {COMMAND}"


LIKE_ANOTHER = {
    "max",
    *("tumbling, reduce(+)", "tumbling, aggregate(mean)", "tumbling, apply"),
    *("sliding, reduce(+)", "sliding, sum", "sliding, apply"),
    *("session, sum", "session, aggregate(mean)", "session, apply", "session, process"),
    *("tumbling, count 2, reduce(+)", "sliding, count 2, aggregate(mean)"),
    *("session, last 2, reduce(+)", "global, count 2, aggregate(mean)"),
    "global, purging count 2, last 2, apply",
}
"""Jobs whose windows and whose function are each in another job too."""

FROM_SAVEPOINTS = [
    pytest.param(name, marks=pytest.mark.rotating("its pieces are in other jobs"))
    if name in LIKE_ANOTHER
    else name
    for name, job in JOBS.items()
    if not job.byClock
]


@pytest.mark.filterwarnings("ignore:allowedLateness has no effect")
@pytest.mark.parametrize("name", FROM_SAVEPOINTS)
def test_a_savepoint_goes_on_or_is_refused_as_the_page_says(name: str, directory: Path) -> None:
    """It is refused exactly where the harness refuses."""
    outcomes = row("savepoint", JOBS[name], directory)
    assert outcomes
    assert not wrong_ones(outcomes)
    assert outcomes.items() <= told()[name].items()


WINDOWED = [
    Pieces("", "tumbling"),
    Pieces("", "sliding"),
    Pieces("", "session"),
    Pieces("", "global", "purging count 2"),
    Pieces("", "tumbling", "count 2"),
    Pieces("", "session", "count 2"),
    Pieces("", "tumbling", evictor="last 2"),
    Pieces("", "global", "purging count 2", "last 2"),
    Pieces("", "processing time"),
    Pieces("", "processing time session"),
]


@pytest.mark.slow("up to 800 runs")
@pytest.mark.thorough("10,584 runs in all")
@pytest.mark.parametrize("windowed", WINDOWED, ids=lambda pieces: pieces.name)
def test_every_pair_of_functions_goes_on_or_is_refused(windowed: Pieces, directory: Path) -> None:
    """It goes on where both keep the same of the elements; with an evictor, all keep the elements themselves."""
    wrong = {}
    for tracing, traces in ((True, True), (True, False), (False, True)):
        for before, after in itertools.product(FOLDS.values(), repeat=2):
            old = replace(windowed, function=before.name, tracing=tracing)
            new = replace(windowed, function=after.name, tracing=traces)
            goes_on = before.keeps == after.keeps or bool(windowed.evictor)
            for way in WAYS:
                if way == "harness" or not windowed.byClock:
                    found = outcome(way, old, new, directory)
                    if found != (GOES_ON if goes_on else REFUSED):
                        wrong[way, old.name, new.name, tracing, traces] = found
    assert not wrong


NEW_PROCESS = {
    "tumbling, sum": "like function",
    "session, apply": "tracing off",
    "ValueState of a class": "nothing",
    "broadcast state": "parallelism",
    "join within 100": "narrower",
}
"""Jobs and changes that are also tried in a new process."""


def test_a_new_process_goes_on_too(directory: Path) -> None:
    parts, found = [], []
    for name, change in NEW_PROCESS.items():
        before, after = cell(JOBS[name], change) or (JOBS[name], JOBS[name])
        snapshot, before_it = snapshot_of(before)
        savepoint, given = stopped(before, directory)
        parts.append((snapshot, savepoint, after))
        found += [(before_it, undisturbed(before, after)), (given, undisturbed(before, after))]
    file = directory / "parts"
    file.write_bytes(pickle.dumps(parts))
    program = "from tests.campaign.test_changed_jobs import in_new_process as run; run(%r)"
    subprocess.run([sys.executable, "-c", program % str(file)], check=True, cwd=PAGE.parents[1])
    for (given, due), later in zip(found, pickle.loads(file.read_bytes()), strict=True):
        assert Counter(given + later) == due


def in_new_process(file: str) -> None:
    """Go on with each of the jobs in ``file``, and write there what comes out."""
    results = []
    for snapshot, savepoint, after in pickle.loads(Path(file).read_bytes()):
        results += [restored(snapshot, after), resumed(savepoint, after)]
    Path(file).write_bytes(pickle.dumps(results))


def test_the_page_has_these_jobs_and_their_number() -> None:
    assert set(told()) == set(JOBS)
    assert in_words(told()) in page(), f"{PAGE} is stale: run {COMMAND}"


def told() -> dict[str, dict[str, str]]:
    """Return the page's entry for each job and change."""
    begin, end = (page().index(mark) for mark in MARKS)
    rows = [text.split("|")[1:-1] for text in page()[begin:end] if text.startswith("| ")][1:]
    return {
        name: {
            change: REFUSED if change in refused.strip().split(", ") else GOES_ON
            for change, _, _ in cells("harness", JOBS[name])
        }
        for jobs, refused in rows
        for name in jobs.strip().split("; ")
    }


def write_page() -> None:
    """Make the table of the page anew."""
    with tempfile.TemporaryDirectory() as directory:
        outcomes = {name: row("harness", job, Path(directory)) for name, job in JOBS.items()}
    begin, end = (page().index(mark) for mark in MARKS)
    table = [in_words(outcomes), "", "| jobs | are refused after |", "|---|---|", *lines(outcomes)]
    text = [*page()[: begin + 1], "", *table, "", *page()[end:]]
    PAGE.write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    write_page()
