"""Runs a case on the engine in this process, in batches, over key groups with paged state."""

from __future__ import annotations

import random

from tests.conformance.cases import Case
from tests.conformance.comparison import Item
from tests.conformance.family import Family
from tests.conformance.jobs import input_items, results_of
from tests.runtime.micro_batches import MicroBatches


def covered(case: Case) -> bool:
    """Whether batches can see what was recorded: one source, with separate watermarks."""
    if case.family in ("two", "watermarks") or case.refused:
        return False
    if case.kind in ("windowJoin", "coGroup") and _merges_unordered(case):
        return False
    if case.data.get("tieOrder") and case.kind in ("process-state", "process-global"):
        return False  # they count firings, and of timers of one instant any may be the first
    if any(item[-1] is None for item in case.data["input"]):
        return False  # timestamps are assigned
    steps = [item[0] for item in case.data["input"]]
    # The end of the input is a batch too, and so a step of the clock.
    return "p" not in steps or steps[-1] == "p"


def _merges_unordered(case: Case) -> bool:
    """Whether sessions of both sides merge and fire once, so that their sides come in any order."""
    at_end = case.data.get("trigger") in (None, {"kind": "EventTimeTrigger"})
    fires_once = at_end and not case.data.get("allowedLateness")
    return fires_once and "Session" in case.data["assigner"]["kind"]


def replay_in_batches(
    family: Family, case: Case, chosen: random.Random, keepsTasks: bool = False
) -> list[Item]:
    """Return the output of batches that are cut where the clock steps, or else at random: a further
    batch at the same time would be a further step of the clock."""
    job = MicroBatches(
        lambda items: results_of(family, case, items), chosen.randint(1, 4), keepsTasks=keepsTasks
    )
    timed = any(item[0] == "p" for item in case.data["input"])
    clock, pending = 0, []
    for item in input_items(family, case):
        if isinstance(item, int):
            job.process([pending], clock)
            clock, pending = item, []
            job.tickDue(clock)
        else:
            pending.append((item, item.timestamp))
            if not timed and chosen.random() < 0.2:
                job.process([pending], clock)
                pending = []
    job.process([pending], clock)
    job.end(clock)
    return [result.value for result in job.results[0]]
