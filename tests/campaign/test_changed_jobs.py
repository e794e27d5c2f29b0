"""The change campaign: a job that was changed goes on as if it had never been interrupted, or is refused by name.

There is no third outcome. Each cell of the table runs; docs/changes.md has what came out, and is made of it by
``python -m tests.campaign.test_changed_jobs``.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import flinkish as fl
from flinkish.testing import StreamTestHarness
from tests.campaign.changed_jobs import CHANGES, STEP, Pieces, cell, jobs

COUNT, CUT = 60, 31
"""The elements of a job, and the first of the second run on the harness."""

GOES_ON, REFUSED = "goes on", "refused"
PAGE = Path(__file__).parents[2] / "docs/changes.md"

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
        harness.processElement(n, n * STEP)
        harness.processWatermark(n * STEP - 1)


def end(harness: StreamTestHarness, clock: bool) -> list[Any]:
    if clock:
        harness.setProcessingTime(10**6)
    harness.endInput()
    return values(harness)


def values(harness: StreamTestHarness) -> list[Any]:
    return [plain(e.value) for e in harness.getOutput() if hasattr(e, "value")]


@cache
def undisturbed(before: Pieces, after: Pieces, cut: int) -> Counter[Any]:
    """The results of a run in which the pieces change at the element ``cut``, and nothing is interrupted."""
    harness = StreamTestHarness(job_of(after, before, cut * STEP))
    feed(harness, range(COUNT), after.byClock)
    return Counter(end(harness, after.byClock))


def on_harness(before: Pieces, after: Pieces, directory: Path) -> tuple[list[Any], int]:
    first = StreamTestHarness(job_of(before))
    feed(first, range(CUT), before.byClock)
    second = StreamTestHarness.restore(job_of(after), first.snapshot())
    feed(second, range(CUT, COUNT), after.byClock)
    return values(first) + end(second, after.byClock), CUT


# ---------------------------------------------------------------------- from a savepoint


def environment(pieces: Pieces) -> Any:
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(pieces.parallelism).getConfig().setElementsPerBatch(6)
    if not pieces.tracing:
        env.getConfig().disableFunctionTracing()
    return env


def numbers_of(env: Any) -> Any:
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    timed = strategy.withTimestampAssigner(lambda n, at: n * STEP)
    return env.fromSequence(0, COUNT - 1).uid("numbers").assignTimestampsAndWatermarks(timed)


_stopped: dict[Pieces, tuple[str, list[Any], int]] = {}


def stopped(pieces: Pieces, directory: Path) -> tuple[str, list[Any], int]:
    """The savepoint of a job, what it had given, and how many elements it had read."""
    if pieces not in _stopped:
        env, seen, results = environment(pieces), [], []
        numbers, held = numbers_of(env), threading.Event()
        numbers.forEachBatch(lambda batch, number: (seen.extend(batch), held.wait(0.02)))
        pieces.build(numbers).forEachBatch(lambda batch, number: results.extend(map(plain, batch)))
        savepoint = str(directory / f"savepoint-{len(_stopped)}")
        env.executeAsync().stopWithSavepoint(savepoint)
        assert 0 < len(seen) < COUNT
        _stopped[pieces] = savepoint, results, len(seen)
    return _stopped[pieces]


def from_savepoint(before: Pieces, after: Pieces, directory: Path) -> tuple[list[Any], int]:
    savepoint, results, cut = stopped(before, directory)
    results = list(results)
    env = environment(after).setSavepoint(savepoint)
    numbers = numbers_of(env)
    numbers.forEachBatch(lambda batch, number: None)
    after.build(numbers).forEachBatch(lambda batch, number: results.extend(map(plain, batch)))
    env.execute()
    return results, cut


WAYS = {"harness": on_harness, "savepoint": from_savepoint}


# ---------------------------------------------------------------------- the table


def outcome(way: str, before: Pieces, after: Pieces, directory: Path) -> str:
    """``GOES_ON`` or ``REFUSED``, else what came instead."""
    try:
        results, cut = WAYS[way](before, after, directory)
    except fl.IncompatibleCheckpointError as error:
        return (
            REFUSED
            if "(kept)" in str(error) or "state 'kept'" in str(error)
            else f"refused without a name: {error}"
        )
    except fl.FlinkishError as error:
        return f"{type(error).__name__}: {error}"
    found, due = Counter(results), undisturbed(before, after, cut)
    return GOES_ON if found == due else f"lost {due - found}, and found {found - due}"


def cells(way: str, job: Pieces) -> Iterator[tuple[str, Pieces, Pieces]]:
    for change in CHANGES:
        found = cell(job, change)
        # The clock of local execution is the real one
        if found is not None and (way == "harness" or not any(p.byClock for p in found)):
            yield change, *found


def row(way: str, job: Pieces, directory: Path) -> dict[str, str]:
    return {c: outcome(way, before, after, directory) for c, before, after in cells(way, job)}
