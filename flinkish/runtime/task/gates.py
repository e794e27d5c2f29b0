"""The gates of vertices, where frames arrive, and the rows that carry frames there."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.elements import Records
from flinkish.runtime.records.frames import decode_frame
from flinkish.runtime.task.valve import StatusWatermarkValve


@dataclass(frozen=True)
class Gate:
    """Where a frame arrives: the edges into a vertex, numbered, each from one upstream vertex.

    ``name`` says the same by uids, so that it is good beyond a change of the graph.
    ``sequential``: the slices are parts of one channel, in order (those of a source); else each is a
    channel of its own (the key groups of an operator). ``folded``: the watermark of a batch is the
    highest of all slices (the running maximum of a built-in strategy), taken at the end of it.
    ``broadcast``: everything that comes goes to all tasks, and is read first where nothing else decides.
    """

    level: int
    target: str
    index: int
    name: str
    inputIndex: int
    sequential: bool
    folded: bool
    broadcast: bool = False


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


@dataclass
class _Channel:
    """The frames of a gate that come in one order."""

    gate: Gate
    slice: int
    segments: Iterator[Records | Sequence[int] | WatermarkStatus]
    watermark: int
    idle: bool = False
    ended: bool = False


class InputGates:
    """Reads a batch's frames of one vertex (Flink: ``StreamMultipleInputProcessor``).

    ``inputs`` are those of the vertex's operator. What it keeps from batch to batch is the
    watermark of each gate.
    """

    def __init__(self, gates: Sequence[Gate], inputs: Sequence[Input]) -> None:
        self._gates = {gate.index: gate for gate in gates}
        self._inputs = inputs
        self._watermarks: dict[int, int] = {}
        self._idle: dict[int, bool] = {}
        self._members = [[g for g in gates if g.inputIndex == i] for i in range(len(inputs))]
        self._valves = [
            StatusWatermarkValve(max(len(members), 1), target)
            for members, target in zip(self._members, inputs)
        ]
        self._channel_of = {
            gate.index: channel for members in self._members for channel, gate in enumerate(members)
        }

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        """Go on from a snapshot, or begin if it is None. A gate that it does not know begins."""
        gates = {} if snapshot is None else snapshot["gates"]
        inputs = [MIN_TIMESTAMP] * len(self._inputs) if snapshot is None else snapshot["inputs"]
        for index, gate in self._gates.items():
            self._watermarks[index], self._idle[index] = gates.get(
                gate.name, (MIN_TIMESTAMP, False)
            )
        for members, valve, watermark in zip(self._members, self._valves, inputs):
            valve.restore(
                [self._watermarks[gate.index] for gate in members],
                [self._idle[gate.index] for gate in members],
                watermark,
            )

    def snapshot(self) -> dict[str, Any]:
        """What ``restore`` takes."""
        return {
            "gates": {
                gate.name: (self._watermarks[index], self._idle[index])
                for index, gate in self._gates.items()
            },
            "inputs": [valve.watermark for valve in self._valves],
        }

    @property
    def ended(self) -> bool:
        """Whether all inputs have ended."""
        return all(valve.watermark == MAX_TIMESTAMP for valve in self._valves)

    def process(self, rows: Iterable[FrameRow]) -> None:
        """Read all frames of a batch."""
        channels = self._channels(rows)
        queue = [_rank(channel) for channel in channels.values()]
        heapq.heapify(queue)
        by_gate: dict[int, list[_Channel]] = {}
        for channel in channels.values():
            by_gate.setdefault(channel.gate.index, []).append(channel)
        while queue:
            *_, gate, part = heapq.heappop(queue)
            channel = channels[gate, part]
            if self._read(channel, by_gate[gate]):
                heapq.heappush(queue, _rank(channel))
        folded = [members for gate, members in by_gate.items() if self._gates[gate].folded]
        for members in folded:
            self._advance(members[0].gate, max(c.watermark for c in members))
        # A generator is asked once more at the end of the input, in Flink too.
        for members in folded:
            if any(c.ended for c in members):
                self._advance(members[0].gate, MAX_TIMESTAMP)

    def _channels(self, rows: Iterable[FrameRow]) -> dict[tuple[int, int], _Channel]:
        frames: dict[tuple[int, int], list[FrameRow]] = {}
        for row in rows:
            part = 0 if self._gates[row.gate].sequential else row.slice
            frames.setdefault((row.gate, part), []).append(row)
        return {
            (gate, part): _Channel(
                self._gates[gate],
                part,
                self._segments(self._gates[gate], members),
                self._watermarks[gate],
                self._idle[gate],
            )
            for (gate, part), members in sorted(frames.items())
        }

    def _segments(
        self, gate: Gate, rows: list[FrameRow]
    ) -> Iterator[Records | Sequence[int] | WatermarkStatus]:
        target = self._inputs[gate.inputIndex]
        segments = _segments(rows)
        if target.looksAhead:
            ahead = list(segments)
            for segment in ahead:
                if isinstance(segment, Records):
                    target.expectRecords(segment)
            segments = iter(ahead)
        return segments

    def _read(self, channel: _Channel, members: list[_Channel]) -> bool:
        """Read a channel until its watermark has risen; False at its end."""
        gate = channel.gate
        for segment in channel.segments:
            if isinstance(segment, Records):
                self._inputs[gate.inputIndex].processRecords(segment)
            elif isinstance(segment, WatermarkStatus):
                channel.idle = segment.isIdle()
                self._set_idle(gate, all(c.idle for c in members))
            elif gate.folded:
                channel.ended = channel.ended or segment[-1] == MAX_TIMESTAMP
                risen = (watermark for watermark in segment if watermark != MAX_TIMESTAMP)
                channel.watermark = max([channel.watermark, *risen])
            elif len(members) == 1:
                self._advance_through(gate, segment)
                channel.watermark = segment[-1]
                return True
            else:
                for watermark in segment:
                    channel.watermark = watermark
                    self._advance(gate, min(c.watermark for c in members))
                return True
        return False

    def _advance(self, gate: Gate, watermark: int) -> None:
        if watermark > self._watermarks[gate.index]:
            self._watermarks[gate.index] = watermark
            self._valves[gate.inputIndex].inputWatermark(self._channel_of[gate.index], watermark)

    def _advance_through(self, gate: Gate, watermarks: Sequence[int]) -> None:
        self._watermarks[gate.index] = max(watermarks[-1], self._watermarks[gate.index])
        self._valves[gate.inputIndex].inputWatermarks(self._channel_of[gate.index], watermarks)

    def _set_idle(self, gate: Gate, idle: bool) -> None:
        if idle != self._idle[gate.index]:
            self._idle[gate.index] = idle
            status = WatermarkStatus.IDLE if idle else WatermarkStatus.ACTIVE
            self._valves[gate.inputIndex].inputWatermarkStatus(self._channel_of[gate.index], status)


def _rank(channel: _Channel) -> tuple[int, bool, int, int]:
    gate = channel.gate
    return channel.watermark, not gate.broadcast, gate.index, channel.slice


def _segments(rows: list[FrameRow]) -> Iterator[Records | Sequence[int] | WatermarkStatus]:
    for row in sorted(rows, key=lambda row: (row.slice, row.sequence)):
        yield from decode_frame(row.frame).segments()
