"""Generates current-time increments from events, and compares events with the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.api.errors import MissingTimestampError
from flinkish.api.time.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Watermark, WatermarkStatus
from flinkish.compat.streaminsight.advance_time import (
    AdvanceTimeDescription,
    AdvanceTimeGenerationSettings,
    AdvanceTimePolicy,
)
from flinkish.compat.streaminsight.events import (
    EdgeEvent,
    EdgeType,
    IntervalEvent,
    PointEvent,
    TemporalEvent,
)
from flinkish.compat.streaminsight.lifetime_columns import starts_of
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.two_input import TwoInputOperator
from flinkish.runtime.operators.watermark_assigner import WatermarkEmitter
from flinkish.runtime.records.frames import Frame, Marks
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.registry import register_operator


class IncrementGeneration:
    """Counts events, or measures the time between them, as the settings say."""

    def __init__(self, settings: AdvanceTimeGenerationSettings, snapshot: Any) -> None:
        self._settings = settings
        self.restore(snapshot)

    def restore(self, snapshot: tuple[int, int | None] | None) -> None:
        self._count, self._last = snapshot or (0, None)

    def snapshot(self) -> tuple[int, int | None]:
        return self._count, self._last

    def after(self, event: TemporalEvent[Any]) -> int | None:
        """The increment that ``event`` causes, or None."""
        if isinstance(event, EdgeEvent) and event.edgeType is EdgeType.End:
            return None
        counts = self._settings.duration is None
        due = self._count_due() if counts else self._time_due(event.startTime)
        return event.startTime - self._settings.delay if due else None

    def afterStarts(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of the events that begin at ``starts`` causes an increment."""
        every = self._settings.eventCount
        if every is None:
            return np.array([self._time_due(start) for start in starts.tolist()], dtype=bool)
        counts = self._count + 1 + np.arange(len(starts))
        self._count = (self._count + len(starts)) % every
        due: NDArray[np.bool_] = counts % every == 0
        return due

    def _count_due(self) -> bool:
        assert self._settings.eventCount is not None
        self._count = (self._count + 1) % self._settings.eventCount
        return self._count == 0

    def _time_due(self, start: int) -> bool:
        assert self._settings.duration is not None
        due = self._last is not None and start >= self._last + self._settings.duration
        if self._last is None or due:
            self._last = start
        return due


class ViolationPolicy:
    """Compares events with the last increment. It remembers the start edges that it dropped or moved until their end
    edges come.
    """

    def __init__(self, policy: AdvanceTimePolicy, snapshot: Any) -> None:
        self._adjusts = policy is AdvanceTimePolicy.Adjust
        self._moved: list[tuple[EdgeEvent[Any], int | None]] = [] if snapshot is None else snapshot

    def snapshot(self) -> list[tuple[EdgeEvent[Any], int | None]]:
        """Return the argument from which ``__init__`` restores the state."""
        return self._moved

    def admit(self, event: TemporalEvent[Any], increment: int) -> TemporalEvent[Any] | None:
        """``event`` adjusted to an increment at ``increment``; None if it is dropped."""
        if isinstance(event, EdgeEvent):
            if event.edgeType is EdgeType.End:
                return self._end(event, increment)
            return self._start(event, increment)
        if event.startTime >= increment:
            return event
        if self._adjusts and isinstance(event, IntervalEvent) and event.endTime > increment:
            return replace(event, startTime=increment)
        return None

    def _start(self, event: EdgeEvent[Any], increment: int) -> EdgeEvent[Any] | None:
        if event.startTime >= increment:
            return event
        start = increment if self._adjusts else None
        self._moved.append((event, start))
        return None if start is None else replace(event, startTime=start)

    def _end(self, event: EdgeEvent[Any], increment: int) -> EdgeEvent[Any] | None:
        end = event.endTime
        assert end is not None
        for position, (start, moved_to) in enumerate(self._moved):
            if start.startTime == event.startTime and start.payload == event.payload:
                del self._moved[position]
                if moved_to is None:
                    return None
                event = replace(event, startTime=moved_to)
                break
        return event if end >= increment else None


_SHAPES = (PointEvent, IntervalEvent, EdgeEvent)


class AdvanceTimeOperator(TwoInputOperator):
    """Events on the first input, time to import on the second, if that is connected."""

    def __init__(self, context: OperatorContext, description: AdvanceTimeDescription) -> None:
        super().__init__(context)
        self._description = description
        self._emitter = WatermarkEmitter(self.output)
        self.restore(None)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        known = {} if snapshot is None else snapshot
        settings = self._description.generation
        self._generation = (
            None if settings is None else IncrementGeneration(settings, known.get("generation"))
        )
        self._policy = ViolationPolicy(self._description.policy, known.get("violations"))
        self._emitter.restore(known.get("emitted", MIN_TIMESTAMP), False)

    def snapshot(self) -> dict[str, Any]:
        return {
            **super().snapshot(),
            "generation": None if self._generation is None else self._generation.snapshot(),
            "violations": self._policy.snapshot(),
            "emitted": self._emitter.watermark,
        }

    @property
    def reportedWatermark(self) -> int:
        return self._emitter.watermark

    def processRecords1(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if not self._pass_run(records):
            self._process_singly(records)

    def _pass_run(self, records: Records) -> bool:
        """Pass on a run of points, or of intervals that none is moved of, with the increments among them. False, with
        nothing done, if it is another run, or if violations have to keep their place among the increments."""
        starts = self._starts(records.values)
        if starts is None:
            return False
        generation = self._generation
        before = None if generation is None else generation.snapshot()
        # An increment at c is Watermark(c - 1)
        raised = np.full(len(starts), MIN_TIMESTAMP)
        if generation is not None and self._description.generation is not None:
            behind = self._description.generation.delay + 1
            if (
                not MIN_TIMESTAMP
                <= int(starts.min()) - behind
                <= int(starts.max()) - behind
                <= MAX_TIMESTAMP
            ):
                return False
            due = generation.afterStarts(starts)
            raised[due] = starts[due] - behind
        watermarks = np.maximum.accumulate(np.r_[self._emitter.watermark, raised])
        kept = starts > watermarks[:-1]
        dropped = len(starts) - int(kept.sum())
        if dropped and self._description.violations is not None:
            if generation is not None:
                generation.restore(before)
            return False
        self.metrics.numLateRecordsDropped += dropped
        rising = raised > watermarks[:-1]
        marks = Marks.of(np.cumsum(kept, dtype=np.int64)[rising], raised[rising])
        timed = records.timed(starts).kept(kept)
        self.output.emitFrame(Frame(timed, self._emitter.passing(marks)))
        return True

    def _starts(self, events: Sequence[Any]) -> NDArray[np.int64] | None:
        """When the events start; None if some are edges or no events, or if the policy may move them."""
        points = isinstance(events, RowColumns) and events.shape.kind is PointEvent
        moves = self._description.policy is not AdvanceTimePolicy.Drop
        if moves and not points and set(map(type, events)) != {PointEvent}:
            return None
        starts = starts_of(events)
        return starts if starts is not None and starts.dtype == np.int64 else None

    def _process_singly(self, records: Records) -> None:
        for value, timestamp in zip(records.values, records.timestamps.tolist()):
            event = value
            if not isinstance(value, _SHAPES):
                if timestamp == NO_TIMESTAMP:
                    raise MissingTimestampError(self.name, value)
                event = PointEvent(timestamp, value)
            # An increment at c is Watermark(c - 1)
            admitted = self._policy.admit(event, self._emitter.watermark + 1)
            if admitted is not None:
                unchanged = admitted is event
                self.output.collect(value if unchanged else admitted, admitted.syncTime)
            elif self._description.violations is not None:
                self.output.collectSide(self._description.violations, value, event.syncTime)
            else:
                self.metrics.numLateRecordsDropped += 1
            increment = None if self._generation is None else self._generation.after(event)
            if increment is not None:
                self._emitter.emitWatermark(Watermark(increment - 1))
        self.output.flush()

    def processRecords2(self, records: Records) -> None:
        """Ignores the events of the imported stream, of which only the time is used."""

    def processInputWatermark(self, index: int, timestamp: int) -> None:
        if index == 1:
            self._emitter.emitWatermark(Watermark(timestamp))
        elif timestamp == MAX_TIMESTAMP:
            settings = self._description.generation
            if settings is not None and settings.advanceToInfinityOnShutdown:
                self._emitter.emitWatermark(Watermark.MAX_WATERMARK)

    def processInputWatermarkStatus(self, index: int, status: WatermarkStatus) -> None:
        """Ignores idleness: a stream without events does not advance, whether it is idle or not."""


register_operator(AdvanceTimeDescription, AdvanceTimeOperator)
