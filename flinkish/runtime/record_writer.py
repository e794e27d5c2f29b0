"""Cuts the output of an operator into frames for the stage that reads it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from flinkish.api.elements import WatermarkStatus
from flinkish.runtime.elements import Hashes, Records, Timestamps
from flinkish.runtime.frames import (
    NO_HASHES,
    NO_MARKS,
    NO_TIMESTAMPS,
    Frame,
    Marks,
    MarksBuilder,
    encode_frame,
)
from flinkish.runtime.key_groups import KeyHashes
from flinkish.runtime.output import Input
from flinkish.runtime.user_code import mapped

RECORDS_A_FRAME = 1 << 16
"""After so many records a writer cuts frames, to bound its memory."""


@dataclass(frozen=True)
class Gate:
    """Where a frame arrives: the edges into a vertex, numbered, each from one upstream vertex.

    ``name`` says the same by uids, so that it is good beyond a change of the graph.
    ``sequential``: the slices are parts of one channel, in order (those of a source); else each is a
    channel of its own (the key groups of an operator). ``folded``: the watermark of a batch is the
    highest of all slices (the running maximum of a built-in strategy), taken at the end of it.
    """

    level: int
    target: str
    index: int
    name: str
    inputIndex: int
    sequential: bool
    folded: bool


class FrameRow(NamedTuple):
    """A frame on its way, as the columns of a Spark row."""

    level: int
    target: str
    key_group: int
    gate: int
    slice: int
    sequence: int
    clock: int
    frame: bytes


@dataclass(frozen=True)
class Slice:
    """What a writer stamps its frames with: which part of the batch it is, and the clock."""

    number: int
    clock: int


class RecordWriter(Input):
    """Reads an edge that leaves a task and cuts frames (Flink: ``RecordWriter``).

    ``operator`` names, in errors, where the elements come from.
    """

    def __init__(self, gate: Gate, operator: str) -> None:
        self._gate = gate
        self._operator = operator
        self._values: list[Sequence[Any]] = []
        self._timestamps: list[Timestamps] = []
        self._count = 0
        self._marks = MarksBuilder()
        self._rows: list[FrameRow] = []
        self._sequence = 0
        self._slice = Slice(0, 0)

    def begin(self, part: Slice) -> None:
        """Begin a slice."""
        self._slice = part
        self._sequence = 0

    def processRecords(self, records: Records) -> None:
        self._values.append(records.values)
        self._timestamps.append(records.timestamps)
        self._count += len(records)
        if self._count >= RECORDS_A_FRAME:
            self._cut()

    def processWatermark(self, timestamp: int) -> None:
        self._marks.addWatermark(self._count, timestamp)

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        self._marks.addStatus(self._count, status)

    def rows(self) -> list[FrameRow]:
        """The frames cut so far; each is handed out once."""
        rows, self._rows = self._rows, []
        return rows

    def finish(self) -> list[FrameRow]:
        """End the slice: cut what is left and hand out all frames."""
        self._cut()
        return self.rows()

    def _cut(self) -> None:
        values = _joined(self._values)
        timestamps = np.concatenate(self._timestamps) if self._timestamps else NO_TIMESTAMPS
        marks = self._marks.build()
        self._values, self._timestamps, self._count = [], [], 0
        self._marks = MarksBuilder()
        if len(values) or len(marks):
            self._partition(Records(values, timestamps), marks)

    @abstractmethod
    def _partition(self, records: Records, marks: Marks) -> None:
        """Add the rows of a run of elements."""

    def _add(self, key_group: int, frame: Frame) -> None:
        self._add_encoded(key_group, encode_frame(frame, self._operator))

    def _add_encoded(self, key_group: int, data: bytes) -> None:
        gate, part = self._gate, self._slice
        self._rows.append(
            FrameRow(
                gate.level,
                gate.target,
                key_group,
                gate.index,
                part.number,
                self._sequence,
                part.clock,
                data,
            )
        )
        self._sequence += 1


class KeyedRecordWriter(RecordWriter):
    """Sends each record to the key group of its key, and every mark to all key groups."""

    def __init__(
        self,
        gate: Gate,
        operator: str,
        keySelector: Callable[[Any], Any],
        keyGroups: int,
    ) -> None:
        super().__init__(gate, operator)
        self._select = keySelector
        self._keyGroups = keyGroups
        self._hashes = KeyHashes()

    def _partition(self, records: Records, marks: Marks) -> None:
        keys = mapped(f"keyBy after {self._operator}", self._select, records.values)
        hashes = self._hashes.column(keys)
        groups = (hashes.astype(np.uint64) * np.uint64(self._keyGroups)) >> np.uint64(32)
        order = np.argsort(groups, kind="stable")
        bounds = np.searchsorted(groups[order], np.arange(self._keyGroups + 1))
        for group in range(self._keyGroups):
            members = order[bounds[group] : bounds[group + 1]]
            if len(members) or len(marks):
                part = _taken(records.values, records.timestamps, keys, hashes, members)
                # A mark comes, among this group's records, after those that came before it.
                positions = np.searchsorted(members, marks.positions)
                self._add(group, Frame(part, marks.at(positions)))


class BroadcastRecordWriter(RecordWriter):
    """Sends everything to every key group of the target."""

    def __init__(self, gate: Gate, operator: str, keyGroups: int) -> None:
        super().__init__(gate, operator)
        self._keyGroups = keyGroups

    def _partition(self, records: Records, marks: Marks) -> None:
        data = encode_frame(Frame(records, marks), self._operator)
        for group in range(self._keyGroups):
            self._add_encoded(group, data)


class SingleRecordWriter(RecordWriter):
    """Sends everything to one key group: to an operator that is there once."""

    def __init__(self, gate: Gate, operator: str, keyGroup: int) -> None:
        super().__init__(gate, operator)
        self._keyGroup = keyGroup

    def _partition(self, records: Records, marks: Marks) -> None:
        self._add(self._keyGroup, Frame(records, marks))


class SinkRecordWriter(RecordWriter):
    """Sends records to a sink, which wants no marks and has no key groups."""

    def _partition(self, records: Records, marks: Marks) -> None:
        if len(records):
            self._add(0, Frame(records, NO_MARKS))


def _joined(runs: list[Sequence[Any]]) -> Sequence[Any]:
    if len(runs) == 1:
        return runs[0]
    return list(chain.from_iterable(runs))


def _taken(
    values: Sequence[Any],
    timestamps: Timestamps,
    keys: Sequence[Any],
    hashes: Hashes,
    members: Any,
) -> Records:
    if len(members) == len(values):
        return Records(values, timestamps, keys, hashes)
    if len(members) == 0:
        return Records([], NO_TIMESTAMPS, [], NO_HASHES)
    if len(members) == 1:
        at = int(members[0])
        return Records([values[at]], timestamps[members], [keys[at]], hashes[members])
    take = itemgetter(*members.tolist())
    return Records(list(take(values)), timestamps[members], list(take(keys)), hashes[members])
