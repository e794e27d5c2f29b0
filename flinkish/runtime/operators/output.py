"""``Output`` collects an operator's results; ``Input`` reads elements, watermarks and statuses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.functions import Collector
from flinkish.api.time.elements import WatermarkStatus
from flinkish.runtime.records.copies import ATOMS, copied_mutable, immutable
from flinkish.runtime.records.frames import Frame, SplitMark
from flinkish.runtime.records.records import NO_RECORDS, NO_TIMESTAMP, Records, timestamps_of


class Input(ABC):
    """One input of an operator, or any other reader of elements (Flink: ``Input``)."""

    looksAhead: bool = False
    """Whether ``expectRecords`` must see all records of a batch before the first is processed."""

    keepsRecords: ClassVar[bool] = False
    """Whether the reader keeps records after ``processRecords``, so they must not change later."""

    def expectRecords(self, records: Records) -> None:
        """Called with records that will be processed in this batch."""

    @abstractmethod
    def processRecords(self, records: Records) -> None:
        """Process a run of records."""

    @abstractmethod
    def processWatermark(self, timestamp: int) -> None:
        """Process a watermark (ms), which is higher than all before."""

    def processWatermarks(self, timestamps: Sequence[int]) -> None:
        """Process several rising watermarks with no records between them."""
        for timestamp in timestamps:
            self.processWatermark(timestamp)

    @abstractmethod
    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        """Process a status, which differs from the one before."""

    def processFrame(self, frame: Frame) -> None:
        """Process records with watermarks and statuses among them, one run after another. A reader
        overrides this if it need not stop at each of these watermarks."""
        frame.inParts(
            self.processRecords,
            self.processWatermarks,
            self.processWatermarkStatus,
            self.processSplit,
        )

    def expectSplit(self, mark: SplitMark) -> None:
        """Called like ``expectRecords``, with a split mark among these records."""

    def processSplit(self, mark: SplitMark) -> None:
        """Process a split mark: the records that follow are of that split of the source."""


class Output:
    """Collects the results of an operator and passes them on as runs (Flink: ``Output``).

    ``collect`` only appends. Emitting a watermark or status, which has to keep its place among the
    records, flushes first, and so does the operator at the end of a run.

    A mutable value is copied when it is collected, and once more for each further reader
    (``copies``). With ``reusesObjects`` readers get the object itself, before the function
    continues.
    """

    def __init__(self) -> None:
        self._inputs: list[Input] = []
        self._side_inputs: dict[str, list[Input]] = {}
        self._values: list[Any] = []
        self._timestamps: list[int] = []
        self._sides: dict[str, tuple[list[Any], list[int]]] = {}
        self.emitted = 0
        """The number of records emitted to the main output."""
        self.onlyNulls = True
        """Whether all of these records are None."""
        self.reusesObjects = False
        """Whether chained operators share objects (``ExecutionConfig.enableObjectReuse``)."""
        self.cutsFrames = False
        """Whether readers get frames in parts, as what they emit meets again in this task."""

    def connect(self, target: Input, sideOutput: str | None = None) -> None:
        """Let ``target`` read this output, or its side output with the id ``sideOutput``."""
        if sideOutput is None:
            self._inputs.append(target)
        else:
            self._side_inputs.setdefault(sideOutput, []).append(target)

    def collect(self, value: Any, timestamp: int) -> None:
        kind = type(value)
        if kind is tuple:
            # Inlined, as most elements are tuples and a call of immutable() would double the time
            for part in value:
                if type(part) not in ATOMS:
                    break
            else:
                self._values.append(value)
                self._timestamps.append(timestamp)
                return
        if kind not in ATOMS and not immutable(value):
            if self.reusesObjects:
                self.emitRecords(Records([value], timestamps_of((timestamp,))))
                return
            value = copied_mutable(value)
        self._values.append(value)
        self._timestamps.append(timestamp)

    def collectSide(self, sideOutput: str, value: Any, timestamp: int) -> None:
        """Emit one record to a side output; as in Flink it is dropped if nothing reads that."""
        if sideOutput in self._side_inputs:
            if type(value) not in ATOMS and not immutable(value):
                if self.reusesObjects:
                    self.flush()
                    record = Records([value], timestamps_of((timestamp,)))
                    hand_on(record, self._side_inputs[sideOutput], reuse=True)
                    return
                value = copied_mutable(value)
            values, timestamps = self._sides.setdefault(sideOutput, ([], []))
            values.append(value)
            timestamps.append(timestamp)

    def emitRecords(self, records: Records) -> None:
        """Emit a run of records, to which no other references exist."""
        if self._values:
            self.flush()
        if len(records):
            self._count(records)
            hand_on(records, self._inputs, self.reusesObjects)

    def emitFrame(self, frame: Frame) -> None:
        """Emit records, to which no other references exist, with the watermarks and statuses among
        them; the side outputs get the latter too."""
        self.flush()
        records, marks = frame.records, frame.marks
        if self.cutsFrames or self.reusesObjects or marks.splits:
            frame.inParts(
                self.emitRecords, self.emitWatermarks, self.emitWatermarkStatus, self.emitSplit
            )
            return
        self._count(records)
        frames = [
            Frame(records.copied() if n else records, marks) for n in range(len(self._inputs))
        ]
        for target, each in zip(self._inputs, frames):
            target.processFrame(each)
        if self._side_inputs:
            none = Frame(NO_RECORDS, marks.behind(0))
            for target in chain.from_iterable(self._side_inputs.values()):
                target.processFrame(none)

    def emitOutputs(self, found: Mapping[str | None, Records]) -> None:
        """Emit runs of records to side outputs by their ids, and to the main output."""
        for sideOutput, records in found.items():
            if sideOutput is None:
                self.emitRecords(records)
            elif len(records) and sideOutput in self._side_inputs:
                self.flush()
                hand_on(records, self._side_inputs[sideOutput], self.reusesObjects)

    def emitWatermark(self, timestamp: int) -> None:
        """Emit a watermark, to the side outputs too."""
        self.flush()
        for target in self._all_inputs():
            target.processWatermark(timestamp)

    def emitWatermarks(self, timestamps: Sequence[int]) -> None:
        self.flush()
        for target in self._all_inputs():
            target.processWatermarks(timestamps)

    def emitWatermarkStatus(self, status: WatermarkStatus) -> None:
        """Emit a status, to the side outputs too."""
        self.flush()
        for target in self._all_inputs():
            target.processWatermarkStatus(status)

    def emitSplit(self, mark: SplitMark) -> None:
        """Emit a split mark, which the side outputs do not get."""
        self.flush()
        for target in self._inputs:
            target.processSplit(mark)

    def flush(self) -> None:
        if self._values:
            values, timestamps = self._values, self._timestamps
            self._values, self._timestamps = [], []
            records = Records(values, timestamps_of(timestamps))
            self._count(records)
            hand_on(records, self._inputs, self.reusesObjects)
        if self._sides:
            sides, self._sides = self._sides, {}
            for tag, (values, timestamps) in sides.items():
                records = Records(values, timestamps_of(timestamps))
                hand_on(records, self._side_inputs[tag], self.reusesObjects)

    def taken(self) -> tuple[list[Any], list[int]]:
        """Take the values collected since the last flush, and their timestamps, unemitted."""
        taken = self._values, self._timestamps
        if taken[0]:
            self._values, self._timestamps = [], []
        return taken

    def _count(self, records: Records) -> None:
        self.emitted += len(records)
        self.onlyNulls = self.onlyNulls and records.onlyNulls

    def _all_inputs(self) -> Sequence[Input]:
        if not self._side_inputs:
            return self._inputs
        return [*self._inputs, *(t for targets in self._side_inputs.values() for t in targets)]


def hand_on(records: Records, inputs: Sequence[Input], reuse: bool) -> None:
    """Pass the records to each of ``inputs``. With ``reuse`` all get the same objects, except for
    copies for inputs that keep records; else all but the first get copies of mutable values."""
    if len(inputs) == 1 and not reuse:
        inputs[0].processRecords(records)
        return
    # All copies are made before the first reader may change its own
    runs = [
        records.copied() if (target.keepsRecords if reuse else position) else records
        for position, target in enumerate(inputs)
    ]
    for target, run in zip(inputs, runs):
        target.processRecords(run)


@dataclass(eq=False, repr=False, slots=True)
class TimestampedCollector(Collector[Any]):
    """The collector of a user function: everything it emits gets the timestamp set last."""

    _output: Output
    timestamp: int = NO_TIMESTAMP

    def collect(self, value: Any) -> None:
        output = self._output
        if type(value) is tuple:
            # Output.collect, without the call
            for part in value:
                if type(part) not in ATOMS:
                    break
            else:
                output._values.append(value)
                output._timestamps.append(self.timestamp)
                return
        output.collect(value, self.timestamp)

    def collectReturned(self, returned: Any, tuples: bool = False) -> None:
        """Emit what the function has returned or yields: a generator runs here, under the current
        key and timestamp. ``tuples``: a returned tuple is a sequence of results."""
        self.collectAll(results_of(returned, tuples=tuples, wrote=True))

    def collectAll(self, results: Iterable[Any]) -> None:
        for result in results:
            self.collect(result)
