"""``Frame``: an ordered run of records, watermarks and statuses as bytes, the unit of a shuffle.

A Spark row for each element would cost more than processing the element, and a table has no place
for watermarks. So, as Flink sends network buffers of serialized elements, flinkish sends frames.
Each is one Spark row with the records of one key group as columns, and with *marks*, the watermarks
and statuses among them, each with its position. For example, the sequence ``a b W(5) c`` becomes
the records ``a b c`` and a mark ``W(5)`` at position 2. So event time advances at the same element
after the shuffle as before it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Union

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.api.errors import FlinkishError, UnfitElementError, shown
from flinkish.api.pickled_functions import dumps
from flinkish.api.stored_values import pickled_by_name, plainly_pickled, unpickled
from flinkish.api.time.elements import WatermarkStatus
from flinkish.api.types.row import Row, row_type
from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys
from flinkish.runtime.records.packing import narrowed, widened
from flinkish.runtime.records.records import Hashes, Records, Timestamps
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import Shape

VERSION = 2

_WATERMARK, _IDLE, _ACTIVE, _SPLIT = 0, 1, 2, 3


@dataclass(frozen=True)
class SplitMark:
    """Says that the records that follow in a source's output are of the split named ``split``; with
    ``finished``, that the split has no further records."""

    split: str
    finished: bool = False


@dataclass
class Marks:
    """Watermarks, statuses and split marks, each with the number of records before it. The
    watermark of a split mark is its index in ``splits``."""

    positions: NDArray[np.int64]
    kinds: NDArray[np.int8]
    watermarks: NDArray[np.int64]
    splits: tuple[SplitMark, ...] = ()

    def __len__(self) -> int:
        return len(self.positions)

    def at(self, positions: NDArray[np.int64]) -> Marks:
        """The same marks at other positions."""
        return Marks(positions, self.kinds, self.watermarks, self.splits)

    def behind(self, count: int) -> Marks:
        """The same marks, all after ``count`` records."""
        return self.at(np.full(len(self), count, dtype=np.int64))

    @classmethod
    def of(
        cls, positions: NDArray[np.integer[Any]], watermarks: Sequence[int] | NDArray[np.int64]
    ) -> Marks:
        """Watermarks, each after as many records as ``positions`` say."""
        kinds = np.full(len(watermarks), _WATERMARK, dtype=np.int8)
        return cls(positions.astype(np.int64), kinds, np.asarray(watermarks, dtype=np.int64))

    @property
    def onlyWatermarks(self) -> bool:
        """Whether there are neither statuses nor split marks."""
        return not self.kinds.any()

    def above(self, watermark: int) -> Marks:
        """The watermarks that are higher than ``watermark`` and all before them."""
        highest = np.maximum.accumulate(np.concatenate([[watermark], self.watermarks]))
        rising = highest[1:] > highest[:-1]
        return Marks(self.positions[rising], self.kinds[rising], self.watermarks[rising])

    def cut(self, count: int) -> tuple[Marks, Marks]:
        """The first ``count`` marks, and the others."""
        parts = [
            Marks(self.positions[part], self.kinds[part], self.watermarks[part], self.splits)
            for part in (slice(count), slice(count, None))
        ]
        return parts[0], parts[1]

    @classmethod
    def joined(cls, parts: Sequence[Marks], position: int) -> Marks:
        """The marks of ``parts``, no split marks, in their order after ``position`` records."""
        assert not any(part.splits for part in parts)
        kinds = np.concatenate([part.kinds for part in parts])
        watermarks = np.concatenate([part.watermarks for part in parts])
        return cls(np.full(len(kinds), position, dtype=np.int64), kinds, watermarks)


class MarksBuilder:
    """Collects marks in order."""

    def __init__(self) -> None:
        self._positions: list[int] = []
        self._kinds: list[int] = []
        self._watermarks: list[int] = []
        self._splits: list[SplitMark] = []

    def __len__(self) -> int:
        return len(self._positions)

    def addWatermark(self, position: int, timestamp: int) -> None:
        """Add a watermark (ms) after ``position`` records."""
        self._positions.append(position)
        self._kinds.append(_WATERMARK)
        self._watermarks.append(timestamp)

    def addWatermarks(self, position: int, timestamps: Sequence[int]) -> None:
        """Add several watermarks after ``position`` records."""
        count = len(timestamps)
        self._positions.extend([position] * count)
        self._kinds.extend([_WATERMARK] * count)
        self._watermarks.extend(timestamps)

    def addMarks(self, position: int, marks: Marks) -> None:
        """Add marks, without split marks, whose positions begin after ``position`` records."""
        assert not marks.splits
        self._positions.extend((marks.positions + position).tolist())
        self._kinds.extend(marks.kinds.tolist())
        self._watermarks.extend(marks.watermarks.tolist())

    def addStatus(self, position: int, status: WatermarkStatus) -> None:
        self._positions.append(position)
        self._kinds.append(_IDLE if status.isIdle() else _ACTIVE)
        self._watermarks.append(0)

    def addSplit(self, position: int, mark: SplitMark) -> None:
        self._positions.append(position)
        self._kinds.append(_SPLIT)
        self._watermarks.append(len(self._splits))
        self._splits.append(mark)

    def build(self) -> Marks:
        return Marks(
            np.array(self._positions, dtype=np.int64),
            np.array(self._kinds, dtype=np.int8),
            np.array(self._watermarks, dtype=np.int64),
            tuple(self._splits),
        )


SHORTEST_COLUMNS = 256
"""Shorter runs of columns cost more than their elements as objects."""

Segment = Union[Records, Sequence[int], WatermarkStatus, SplitMark]
"""A run of records, a run of watermarks, a status, or a split mark."""


@dataclass
class Frame:
    """A run of records with the marks among them."""

    records: Records
    marks: Marks

    def watermarks(self, watermark: int) -> NDArray[np.int64]:
        """For each record the watermark that came last before it; ``watermark`` before all. The
        marks have to be watermarks that rise."""
        known = np.concatenate([[watermark], self.marks.watermarks])
        counts = np.diff(self.marks.positions, prepend=0, append=len(self.records))
        before: NDArray[np.int64] = np.repeat(known, counts)
        return before

    def watermarksBefore(self, places: NDArray[np.intp]) -> Iterator[list[int]]:
        """For the record at each of these ascending places the watermarks that come before it and
        after the one before, and last those that are left. The marks have to be watermarks."""
        ends = np.searchsorted(self.marks.positions, places, side="right")
        return (part.tolist() for part in np.split(self.marks.watermarks, ends))

    def endingWith(self, marks: NDArray[np.intp]) -> Iterator[Frame]:
        """The frame in parts that end with the marks of these ascending numbers, and the rest."""
        records, rest, start = self._for_parts(len(marks)), self.marks, 0
        for count in np.diff(marks[marks < len(rest)] + 1, prepend=0).tolist():
            end = int(rest.positions[count - 1])
            own, rest = rest.cut(count)
            yield Frame(records.slice(start, start + end), own)
            start, rest = start + end, rest.at(rest.positions - end)
        yield Frame(records.slice(start, len(records)), rest)

    def _for_parts(self, cuts: int) -> Records:
        """The records, as objects if many ``cuts`` leave short parts of columns."""
        if cuts * SHORTEST_COLUMNS > len(self.records) and self.records.counts is None:
            return self.records.listed()
        return self.records

    def inParts(
        self,
        records: Callable[[Records], None],
        watermarks: Callable[[Sequence[int]], None],
        status: Callable[[WatermarkStatus], None],
        split: Callable[[SplitMark], None],
    ) -> None:
        """Call one of these for each of ``segments``."""
        for segment in self.segments():
            if isinstance(segment, Records):
                records(segment)
            elif isinstance(segment, WatermarkStatus):
                status(segment)
            elif isinstance(segment, SplitMark):
                split(segment)
            else:
                watermarks(segment)

    def segments(self) -> Iterator[Segment]:
        """The elements in order: runs of records, runs of watermarks, statuses, split marks."""
        done = 0
        index, positions, kinds = 0, self.marks.positions, self.marks.kinds
        records = self._for_parts(int(np.count_nonzero(np.diff(positions))))
        while index < len(positions):
            position = int(positions[index])
            if position > done:
                yield records.slice(done, position)
                done = position
            if kinds[index] != _WATERMARK:
                if kinds[index] == _SPLIT:
                    yield self.marks.splits[int(self.marks.watermarks[index])]
                else:
                    yield WatermarkStatus.IDLE if kinds[index] == _IDLE else WatermarkStatus.ACTIVE
                index += 1
                continue
            end = int(np.searchsorted(positions, position, side="right"))
            statuses = np.nonzero(kinds[index:end])[0]
            if len(statuses):
                end = index + int(statuses[0])
            yield self.marks.watermarks[index:end].tolist()
            index = end
        if done < len(records):
            yield records.slice(done, len(records))


def encode_frame(frame: Frame, operator: str, stored: bool = False) -> bytes:
    """``frame`` as bytes. Raises UnfitElementError, which names ``operator``, if a value cannot be
    pickled.

    ``stored``: the frame stays in the checkpoint, where another run of the program may read it, so
    classes are pickled by name. In a frame between tasks, classes of ``__main__`` are pickled by
    value.
    """
    records, marks = frame.records, frame.marks
    content = (
        _columns(records.values),
        _timestamp_column(records),
        _key_content(records.keys),
        _hash_bytes(records),
        _mark_columns(marks),
        *(() if records.counts is None else (records.counts.tobytes(),)),
    )
    return bytes((VERSION,)) + _pickled(content, records.values, operator, stored)


def decode_frame(data: bytes, stored: bool = False) -> Frame:
    """The frame that ``encode_frame`` encoded."""
    if data[0] != VERSION:
        raise FlinkishError(
            f"a frame has version {data[0]}, but this flinkish reads version {VERSION}."
            " Install the same version of flinkish on all workers and on the driver."
        )
    body = memoryview(data)[1:]
    columns, timestamps, keys, hashes, marks, *counts = (
        unpickled(body, ofElements=True) if stored else pickle.loads(body)
    )
    values = _values(columns)
    if isinstance(keys, int):
        assert isinstance(values, RowColumns)
        keys = ColumnKeys(values, keys)
    elif isinstance(keys, bytes):
        keys = ComputedKeys(RowColumns.ofBytes(keys).encoded(0))
    records = Records(
        values,
        _timestamps(timestamps, values),
        keys,
        _hashes(hashes, keys),
        np.frombuffer(counts[0], dtype=np.int64) if counts else None,
    )
    return Frame(records, NO_MARKS if marks is None else _marks(*marks))


def _mark_columns(marks: Marks) -> tuple[Any, ...] | None:
    if not len(marks):
        return None
    columns = marks.positions.tobytes(), marks.kinds.tobytes(), marks.watermarks.tobytes()
    if not marks.splits:
        return columns
    return (*columns, [(mark.split, mark.finished) for mark in marks.splits])


def _key_content(keys: Sequence[Any] | None) -> int | bytes | Sequence[Any] | None:
    """The index of the column that has the keys, computed keys as a column of their own, or others as
    they are."""
    if isinstance(keys, ColumnKeys):
        return keys.column
    if isinstance(keys, ComputedKeys):
        # The frame of a key group has few of the distinct keys
        column = keys.encoded.dictionary_decode()
        return RowColumns(pa.RecordBatch.from_arrays([column], ["key"])).toBytes()
    return keys


def _hash_bytes(records: Records) -> bytes | None:
    """The hashes of the records, or of the distinct keys if the keys are an encoded column."""
    if records.hashes is None:
        return None
    encoded = _encoded_keys(records.keys)
    if encoded is None:
        return records.hashes.tobytes()
    distinct = np.zeros(len(encoded.dictionary), dtype=np.uint32)
    distinct[encoded.indices.to_numpy()] = records.hashes
    return distinct.tobytes()


def _hashes(data: bytes | None, keys: Sequence[Any] | None) -> Hashes | None:
    if data is None:
        return None
    hashes: Hashes = np.frombuffer(data, dtype=np.uint32)
    encoded = _encoded_keys(keys)
    return hashes if encoded is None else hashes[encoded.indices.to_numpy()]


def _encoded_keys(keys: Sequence[Any] | None) -> pa.DictionaryArray | None:
    return keys.encoded if isinstance(keys, ColumnKeys) else None


def _marks(
    positions: bytes, kinds: bytes, watermarks: bytes, splits: Sequence[tuple[str, bool]] = ()
) -> Marks:
    return Marks(
        np.frombuffer(positions, dtype=np.int64),
        np.frombuffer(kinds, dtype=np.int8),
        np.frombuffer(watermarks, dtype=np.int64),
        tuple(SplitMark(*split) for split in splits) if splits else (),
    )


NO_MARKS = MarksBuilder().build()

NO_TIMESTAMPS: Timestamps = np.array([], dtype=np.int64)


def _timestamp_column(records: Records) -> int | bytes | tuple[int, str, bytes]:
    """The index of the column that equals the timestamps if there is one, else their bytes, packed
    if that saves space: the minimum, the type of the differences from it, and the differences, none
    if all are equal."""
    timestamps = records.timestamps
    if isinstance(records.values, RowColumns):
        for number, kind in enumerate(records.values.schema.types):
            if pa.types.is_int64(kind):
                column = records.values.arrow(number)
                if not column.null_count and np.array_equal(column.to_numpy(), timestamps):
                    return number
    packed = narrowed(timestamps) if len(timestamps) else None
    if packed is None:
        return timestamps.tobytes()
    least, distances = packed
    if not distances.any():
        return least, "", b""
    return least, distances.dtype.str, distances.tobytes()


def _timestamps(column: int | bytes | tuple[int, str, bytes], values: Sequence[Any]) -> Timestamps:
    if isinstance(column, int):
        assert isinstance(values, RowColumns)
        found: Timestamps = values.arrow(column).to_numpy()
        return found
    if isinstance(column, bytes):
        return np.frombuffer(column, dtype=np.int64)
    least, kind, data = column
    if not kind:
        return np.full(len(values), least, dtype=np.int64)
    return widened(np.frombuffer(data, dtype=kind), least, np.dtype(np.int64))


def _columns(values: Sequence[Any]) -> Any:
    """Rows of one type as columns, which are pickled as a whole; anything else, also Rows without
    fields, unchanged."""
    if isinstance(values, RowColumns):
        data = values.toBytes()
        return data if values.ofRows else (values.shape, data)
    first = values[0] if values else None
    if isinstance(first, Row) and first and all(type(value) is type(first) for value in values):
        return first._fields, list(map(list, zip(*map(tuple.__iter__, values))))
    return values


def _values(columns: Any) -> Sequence[Any]:
    if isinstance(columns, bytes):
        return RowColumns.ofBytes(columns)
    if isinstance(columns, tuple):
        if isinstance(columns[0], Shape):
            return RowColumns.ofBytes(columns[1], columns[0])
        fields, lists = columns
        return list(map(tuple.__new__, repeat(row_type(fields)), zip(*lists)))
    values: list[Any] = columns
    return values


def _pickled(content: Any, values: Sequence[Any], operator: str, stored: bool) -> bytes:
    try:
        if stored:
            data = plainly_pickled(content)
            return pickled_by_name(content, ofElements=True)[0] if data is None else data
        return pickle.dumps(content, protocol=5)
    except KeyboardInterrupt:
        raise
    except BaseException:
        # Classes of __main__ (scripts, notebooks) can only be pickled by value, as cloudpickle does
        try:
            return dumps(content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            culprit = next((v for v in values if not _picklable(v)), values)
            raise UnfitElementError(
                f"the element {shown(culprit)} of type {type(culprit).__name__} cannot be"
                f" pickled, so it cannot go to the next operator: {error}. Emit plain values instead"
                " of files, locks, generators or connections.",
                operator,
            ) from None


def _picklable(value: Any) -> bool:
    try:
        dumps(value)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    return True
