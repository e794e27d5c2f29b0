"""Gates: where the frames of a batch enter a vertex, and are brought into one order.

A *vertex* is a chain of operators between two shuffles. Spark delivers all frames of a batch for a
key group at once, in no particular order. These terms describe how the order is restored:

- A *gate* is one edge into a vertex: the frames of one upstream vertex.
- A *slice* is the part of a batch that one writer wrote: one Spark partition of a source, or one
  key group of an operator. Frames are numbered within their slice.
- A *channel* is a sequence of slices that follow one another, with one watermark. The partitions of
  a source are consecutive parts of its input, hence one channel (a *sequential* gate). The key
  groups of an operator run independently, hence each is a separate channel.

Within a channel the order is fixed. Between channels any order is a legal Flink run; ``InputGates``
always reads on in the channel with the lowest watermark, so that a batch that is run again gives
the same output. The watermark of a gate is the lowest of its channels; the watermark of an input is
the lowest of its gates that are not idle (``StatusWatermarkValve``).

Example: an operator reads a source in two partitions and a key group of an upstream operator. These
are two gates with one channel each. Slices 0 and 1 of the source are read in that order; between
them and the other gate the lower watermark goes first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, WatermarkStatus
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.frames import Segment, SplitMark, decode_frame
from flinkish.runtime.records.records import Records
from flinkish.runtime.reports import InputReport
from flinkish.runtime.task.key_order import in_key_order
from flinkish.runtime.task.valve import StatusWatermarkValve
from flinkish.runtime.time.watermark_generation import combined


@dataclass(frozen=True)
class Gate:
    """An edge into a vertex, where the frames of one upstream vertex arrive.

    ``index`` numbers the gates of a vertex. ``name`` consists of uids instead, so that the
    watermark of a gate is found again after the graph has changed. ``sequential``: all slices are
    one channel, in order (a source); otherwise each is a separate channel (the key groups of an
    operator). ``folded``: the watermark is the highest of all slices and is applied at the end of
    the batch, for the built-in strategies, whose watermark is a running maximum. ``broadcast``: the
    elements go to all tasks; at equal watermarks the gate is read first. ``joinsSplits``: the key
    groups of the upstream operator have splits, whose watermarks are combined here (``_join``).
    ``strategy``: the uid of the strategy behind a folded gate. A strategy after a union has a gate for each of its
    inputs, and one running maximum over all of them.
    """

    level: int
    target: str
    index: int
    name: str
    inputIndex: int
    sequential: bool
    folded: bool
    broadcast: bool = False
    joinsSplits: bool = False
    strategy: str | None = None


CLOSING = 1 << 30
"""Frames with sequence numbers from this on are read after all other frames of their gate."""


class FrameRow(NamedTuple):
    """The columns of the Spark row that carries a frame."""

    level: int
    target: str
    key_group: int = 0
    gate: int = 0
    slice: int = 0
    sequence: int = 0
    clock: int = 0
    frame: bytes = b""


@dataclass(frozen=True)
class Slice:
    """A writer's part of a batch: its number and its clock (ms), noted in each frame."""

    number: int
    clock: int


@dataclass
class _Channel:
    """A channel of a gate while a batch is read."""

    gate: Gate
    slice: int
    segments: Iterator[Segment]
    watermark: int
    idle: bool = False
    ended: bool = False
    closing: Sequence[Segment] = ()
    """The elements for the end of the batch, if the gate joins splits."""


class InputGates:
    """Reads the frames of a batch for one vertex, in a deterministic order (Flink:
    ``StreamMultipleInputProcessor``).

    ``inputs`` are the inputs of the vertex's first operator. The state that is kept between batches
    is the watermark and idleness of each gate, and of each channel of a gate that joins splits.
    """

    def __init__(self, gates: Sequence[Gate], inputs: Sequence[Input]) -> None:
        self._gates = {gate.index: gate for gate in gates}
        self._inputs = inputs
        self._watermarks: dict[int, int] = {}
        self._idle: dict[int, bool] = {}
        self._joined: dict[int, dict[int, tuple[int, bool]]] = {}
        by_strategy: dict[str, list[Gate]] = {}
        for gate in gates:
            if gate.folded:
                by_strategy.setdefault(gate.strategy or gate.name, []).append(gate)
        self._folded = list(by_strategy.values())
        self._members = [[g for g in gates if g.inputIndex == i] for i in range(len(inputs))]
        self._valves = [
            StatusWatermarkValve(max(len(members), 1), target)
            for members, target in zip(self._members, inputs)
        ]
        self._channel_of = {
            gate.index: channel for members in self._members for channel, gate in enumerate(members)
        }

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        """Continue from a snapshot; None, or no such gate in it: start anew."""
        gates = {} if snapshot is None else snapshot["gates"]
        joined = {} if snapshot is None else snapshot.get("joined", {})
        known = [] if snapshot is None else snapshot["inputs"][: len(self._inputs)]
        # There may be more inputs than when a savepoint was taken
        inputs = [*known, *[MIN_TIMESTAMP] * (len(self._inputs) - len(known))]
        for index, gate in self._gates.items():
            self._watermarks[index], self._idle[index] = gates.get(
                gate.name, (MIN_TIMESTAMP, False)
            )
            if gate.joinsSplits:
                self._joined[index] = dict(joined.get(gate.name, {}))
        for members, valve, watermark in zip(self._members, self._valves, inputs):
            valve.restore(
                [self._watermarks[gate.index] for gate in members],
                [self._idle[gate.index] for gate in members],
                watermark,
            )

    def snapshot(self) -> dict[str, Any]:
        snapshot: dict[str, Any] = {
            "gates": {
                gate.name: (self._watermarks[index], self._idle[index])
                for index, gate in self._gates.items()
            },
            "inputs": [valve.watermark for valve in self._valves],
        }
        if self._joined:
            snapshot["joined"] = {self._gates[i].name: known for i, known in self._joined.items()}
        return snapshot

    @staticmethod
    def lowest(snapshots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A snapshot with the lowest watermarks in the snapshots of several key groups."""
        gates: dict[str, tuple[int, bool]] = {}
        for snapshot in snapshots:
            for name, (watermark, idle) in snapshot["gates"].items():
                gates[name] = min(gates.get(name, (watermark, idle)), (watermark, idle))
        inputs = [min(of_input) for of_input in zip(*(known["inputs"] for known in snapshots))]
        return {"gates": gates, "inputs": inputs}

    def reports(self) -> Iterator[InputReport]:
        for index, gate in self._gates.items():
            yield InputReport(gate.name, False, self._watermarks[index], self._idle[index])

    @property
    def ended(self) -> bool:
        return all(valve.watermark == MAX_TIMESTAMP for valve in self._valves)

    def process(self, rows: Iterable[FrameRow]) -> None:
        frames = self._frames(rows)
        if len(self._gates) == len(frames) == 1:
            (((gate, part), of_channel),) = frames.items()
            if self._read_whole(self._gates[gate], part, of_channel):
                return
        channels = self._channels(frames)
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
        for gates in self._folded:
            members = [channel for each in gates for channel in by_gate.get(each.index, ())]
            highest = max((c.watermark for c in members), default=MIN_TIMESTAMP)
            for each in gates:
                self._advance(each, highest)
        # As in Flink, the generator emits once more before the end of the input
        for members in by_gate.values():
            if any(c.ended for c in members):
                self._advance(members[0].gate, MAX_TIMESTAMP)
        for gate, known in self._joined.items():
            members = by_gate.get(gate, [])
            self._close(members)
            known.update((c.slice, (c.watermark, c.idle)) for c in members)

    def processWhole(self, rows: Iterable[FrameRow]) -> None:
        """Read all frames of a bounded input: first broadcast elements, then the others, sorted by
        key and time, and finally the only watermark."""
        self.processElements(rows)
        for gate in self._gates.values():
            self._advance(gate, MAX_TIMESTAMP)

    def processElements(self, rows: Iterable[FrameRow]) -> None:
        """``processWhole`` without a watermark."""
        runs: tuple[list[list[Records]], list[list[Records]]] = (
            [[] for _ in self._inputs],
            [[] for _ in self._inputs],
        )
        for channel in self._channels(self._frames(rows)).values():
            kept = runs[channel.gate.broadcast][channel.gate.inputIndex]
            kept.extend(segment for segment in channel.segments if isinstance(segment, Records))
        elements, broadcast = runs
        for index, members in enumerate(broadcast):
            for run in members:
                self._inputs[index].processRecords(run)
        for index, run in in_key_order(elements):
            self._inputs[index].processRecords(run)

    def _frames(self, rows: Iterable[FrameRow]) -> dict[tuple[int, int], list[FrameRow]]:
        """The frames of each channel, by its gate and slice."""
        frames: dict[tuple[int, int], list[FrameRow]] = {}
        for row in rows:
            part = 0 if self._gates[row.gate].sequential else row.slice
            frames.setdefault((row.gate, part), []).append(row)
        for gate, known in self._joined.items():
            for part in known:
                frames.setdefault((gate, part), [])
        return frames

    def _channels(
        self, frames: Mapping[tuple[int, int], list[FrameRow]]
    ) -> dict[tuple[int, int], _Channel]:
        return {
            (gate, part): self._channel(self._gates[gate], part, members)
            for (gate, part), members in sorted(frames.items())
        }

    def _channel(self, gate: Gate, part: int, rows: list[FrameRow]) -> _Channel:
        if not gate.joinsSplits:
            watermark, idle = self._watermarks[gate.index], self._idle[gate.index]
            return _Channel(gate, part, self._segments(gate, rows), watermark, idle)
        closing = list(self._segments(gate, [row for row in rows if row.sequence >= CLOSING]))
        segments = self._segments(gate, [row for row in rows if row.sequence < CLOSING])
        watermark, idle = self._joined[gate.index].get(part, (MIN_TIMESTAMP, False))
        told, ended = _told(closing)
        if told is None:
            # A key group without splits sends only the end of the input
            watermark = MAX_TIMESTAMP if ended else watermark
        elif idle or told < watermark:
            # A split begins or becomes active: it counts from the beginning of the batch
            watermark, idle = MIN_TIMESTAMP, False
        return _Channel(gate, part, segments, watermark, idle, closing=closing)

    def _segments(self, gate: Gate, rows: list[FrameRow]) -> Iterator[Segment]:
        target = self._inputs[gate.inputIndex]
        segments = _segments(rows)
        if target.looksAhead:
            ahead = list(segments)
            for segment in ahead:
                if isinstance(segment, Records):
                    target.expectRecords(segment)
                elif isinstance(segment, SplitMark):
                    target.expectSplit(segment)
            segments = iter(ahead)
        return segments

    def _read_whole(self, gate: Gate, part: int, rows: list[FrameRow]) -> bool:
        """Read the only channel by whole frames. False, with nothing done, if its watermarks are not
        simply those of the input."""
        if gate.folded or gate.joinsSplits or self._inputs[0].looksAhead:
            return False
        for row in _in_order(rows):
            frame = decode_frame(row.frame)
            if frame.marks.onlyWatermarks and not self._idle[gate.index]:
                watermark = max(
                    [self._watermarks[gate.index], *frame.marks.watermarks[-1:].tolist()]
                )
                self._watermarks[gate.index] = watermark
                self._valves[0].inputFrame(frame)
            else:
                channel = _Channel(gate, part, frame.segments(), self._watermarks[gate.index])
                while self._read(channel, [channel]):
                    pass
        return True

    def _read(self, channel: _Channel, members: list[_Channel]) -> bool:
        """Read a channel until its watermark rises; False at the end of the channel."""
        gate = channel.gate
        for segment in channel.segments:
            if isinstance(segment, Records):
                self._inputs[gate.inputIndex].processRecords(segment)
            elif isinstance(segment, SplitMark):
                self._inputs[gate.inputIndex].processSplit(segment)
            elif isinstance(segment, WatermarkStatus):
                channel.idle = segment.isIdle()
                if gate.joinsSplits:
                    self._join(members)
                else:
                    self._set_idle(gate, all(c.idle for c in members))
            elif gate.folded:
                channel.ended = channel.ended or segment[-1] == MAX_TIMESTAMP
                risen = (watermark for watermark in segment if watermark != MAX_TIMESTAMP)
                channel.watermark = max([channel.watermark, *risen])
            elif gate.joinsSplits:
                for watermark in segment:
                    channel.watermark = watermark
                    self._join(members)
                return True
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

    def _close(self, members: list[_Channel]) -> None:
        """Combine the watermarks of an operator with splits once, at the end of the batch."""
        for channel in members:
            told, channel.ended = _told(channel.closing)
            channel.watermark = channel.watermark if told is None else told
            for segment in channel.closing:
                if isinstance(segment, Records):
                    self._inputs[channel.gate.inputIndex].processRecords(segment)
                elif isinstance(segment, WatermarkStatus):
                    channel.idle = segment.isIdle()
        self._join(members)
        # As in Flink, the generators emit once more before the end of the input
        for channel in members:
            if channel.ended:
                channel.watermark, channel.idle = MAX_TIMESTAMP, False
        self._join(members)

    def _join(self, members: list[_Channel]) -> None:
        """Pass on the lowest watermark of the channels that are not idle (Flink:
        ``WatermarkOutputMultiplexer``)."""
        if not members:
            return
        gate = members[0].gate
        joined, idle = combined((channel.watermark, channel.idle) for channel in members)
        if joined > self._watermarks[gate.index]:
            self._set_idle(gate, False)
            self._advance(gate, joined)
        if idle:
            self._set_idle(gate, True)

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


def _told(closing: Sequence[Segment]) -> tuple[int | None, bool]:
    """A key group's last watermark, None without splits; and whether its input has ended."""
    told = [watermark for segment in closing if isinstance(segment, list) for watermark in segment]
    below = [watermark for watermark in told if watermark != MAX_TIMESTAMP]
    return below[-1] if below else None, len(below) < len(told)


def _rank(channel: _Channel) -> tuple[int, bool, int, int]:
    gate = channel.gate
    return channel.watermark, not gate.broadcast, gate.index, channel.slice


def _segments(rows: list[FrameRow]) -> Iterator[Segment]:
    for row in _in_order(rows):
        yield from decode_frame(row.frame).segments()


def _in_order(rows: list[FrameRow]) -> list[FrameRow]:
    return sorted(rows, key=lambda row: (row.slice, row.sequence))
