"""Runs a case on the harness and records what comes out as Flink's was recorded."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

from flinkish import StreamRecord, Watermark
from flinkish.testing import StreamTestHarness
from tests.conformance.cases import Case
from tests.conformance.comparison import Item, assert_same
from tests.conformance.families import family_of
from tests.conformance.family import Family


def replay(family: Family, case: Case, cuts: random.Random | None = None) -> list[Item]:
    """The output of ``case``; with ``cuts`` the harness is snapshotted and restored now and then."""
    run = _Run(family, case)
    number = 0
    for item in case.data["input"]:
        if cuts is not None and cuts.random() < 0.2:
            run.restart()
        family.step(run.harness, item, number)
        number += item[0] == "e"
        run.record()
        if item[0] == "p":
            run.output.append(item)
    if cuts is not None:
        run.restart()
    family.end(run.harness)
    run.record()
    if case.data.get("output", [[""]])[-1][0] == "timers":
        harness = run.harness
        run.output.append(
            ["timers", harness.numEventTimeTimers(), harness.numProcessingTimeTimers()]
        )
    return run.output


def puts_out_the_same(case: Case) -> None:
    """Check that the output equals Flink's."""
    assert_same(case, replay(family_of(case), case))


def goes_on_the_same(case: Case) -> None:
    """So it is where the harness goes on from snapshots."""
    assert_same(case, replay(family_of(case), case, random.Random(case.name)))


class _Run:
    def __init__(self, family: Family, case: Case) -> None:
        self._build = family.build(case)
        self._options = family.options(case)
        self._sides = family.sides(case)
        self._taken: Counter[str] = Counter()
        self.harness = StreamTestHarness(self._build, **self._options)
        self.output: list[Item] = []

    def restart(self) -> None:
        """Go on from a snapshot."""
        self.harness = StreamTestHarness.restore(
            self._build, self.harness.snapshot(), **self._options
        )
        self._taken.clear()

    def record(self) -> None:
        """Take what has come out since the last time."""
        for element in self._new("", self.harness.getOutput()):
            self.output.append(_item(element))
        for label, tag in self._sides.items():
            for record in self._new(label, self.harness.getSideOutput(tag)):
                self.output.append(recorded(label, record.value, record.timestamp))

    def _new(self, label: str, elements: list[Any]) -> Iterator[Any]:
        yield from elements[self._taken[label] :]
        self._taken[label] = len(elements)


def _item(element: Any) -> Item:
    if isinstance(element, StreamRecord):
        return recorded("r", element.value, element.timestamp)
    if isinstance(element, Watermark):
        return ["w", element.timestamp]
    return ["idle" if element.isIdle() else "active"]


def recorded(label: str, value: Any, timestamp: int | None) -> Item:
    """The output item of a record, or of late data where the label is not ``r``."""
    plain = _plain(value)
    return [label, plain, timestamp] if label == "r" else [label, [*plain, timestamp]]


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, (tuple, list)) else value
