"""Frames carry records and marks across, whatever the elements are."""

import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish import WatermarkStatus
from flinkish.api.errors import FlinkishError
from flinkish.api.time.elements import MIN_TIMESTAMP
from flinkish.api.types.row import Row
from flinkish.runtime.records.frames import (
    NO_MARKS,
    Frame,
    MarksBuilder,
    decode_frame,
    encode_frame,
)
from flinkish.runtime.records.keys import KeyRules, key_group_of
from flinkish.runtime.records.records import Records, no_timestamps, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.stable_hashes import stable_hash
from flinkish.runtime.task.gates import Gate, Slice
from flinkish.runtime.task.writer import KeyedRecordWriter

values = st.one_of(
    st.integers(),
    st.text(),
    st.none(),
    st.tuples(st.text(), st.integers()),
    st.builds(Row, a=st.integers(), b=st.text()),
)
elements = st.lists(
    st.one_of(
        st.tuples(st.just("record"), values, st.integers(-100, 100)),
        st.tuples(st.just("watermark"), st.integers(-100, 100)),
        st.tuples(st.just("status"), st.booleans()),
    ),
    max_size=30,
)


def frame_of(stream):
    marks, kept, stamps = MarksBuilder(), [], []
    for kind, *rest in stream:
        if kind == "record":
            kept.append(rest[0])
            stamps.append(rest[1])
        elif kind == "watermark":
            marks.addWatermark(len(kept), rest[0])
        else:
            marks.addStatus(len(kept), WatermarkStatus(rest[0]))
    return Frame(Records(kept, timestamps_of(stamps)), marks.build())


def stream_of(frame):
    for segment in frame.segments():
        if isinstance(segment, Records):
            for value, stamp in zip(segment.values, segment.timestamps.tolist()):
                yield "record", value, stamp
        elif isinstance(segment, WatermarkStatus):
            yield "status", segment.isIdle()
        else:
            for watermark in segment:
                yield "watermark", watermark


@given(elements)
def test_a_frame_keeps_every_element_in_order(stream):
    assert list(stream_of(decode_frame(encode_frame(frame_of(stream), "op")))) == stream


@given(elements, st.integers(1, 5))
def test_a_keyed_writer_gives_each_group_its_records_and_all_marks(stream, groups):
    writer = KeyedRecordWriter(GATE, "op", lambda value: str(value), range(groups))
    writer.begin(Slice(0, 0))
    feed(writer, stream)
    frames = {row.key_group: list(stream_of(decode_frame(row.frame))) for row in writer.finish()}
    for group in range(groups):
        own = [e for e in stream if e[0] != "record" or group_of(e[1], groups) == group]
        assert frames.get(group, []) == own


def group_of(value, groups):
    return key_group_of(stable_hash(str(value)), groups)


GATE = Gate(1, "target", 0, "a>b>0", 0, True, False)


def feed(writer, stream):
    for kind, *rest in stream:
        if kind == "record":
            writer.processRecords(Records([rest[0]], timestamps_of([rest[1]])))
        elif kind == "watermark":
            writer.processWatermark(rest[0])
        else:
            writer.processWatermarkStatus(WatermarkStatus(rest[0]))


@given(
    st.lists(st.sampled_from([None, "a", "b", "ccc"]), min_size=1, max_size=60),
    st.sampled_from([None, 1 << 40]),
    st.integers(1, 5),
)
def test_a_key_column_of_few_values_travels_as_codes(names, gap, groups):
    """The receiver gets the rows, keys and hashes it would get of rows that are no columns."""
    rows = [Row(name=name, n=gap if n % 7 else n) for n, name in enumerate(names)]
    batch = pa.RecordBatch.from_pylist([row.asDict() for row in rows])
    received = [received_by_group(values, groups) for values in (rows, RowColumns(batch))]
    assert received[0] == received[1]


def received_by_group(values, groups):
    writer = KeyedRecordWriter(
        GATE, "op", lambda row: row.name, range(groups), rules=KeyRules(nulls=True)
    )
    writer.begin(Slice(0, 0))
    writer.processRecords(Records(values, np.arange(len(values))))
    frames = {row.key_group: decode_frame(row.frame).records for row in writer.finish()}
    return {
        group: (list(part.values), part.timestamps.tolist(), list(part.keys), part.hashes.tolist())
        for group, part in frames.items()
    }


def test_codes_take_less_space_than_the_keys():
    names = [f"station {n % 20}" for n in range(10_000)]
    few = pa.record_batch({"name": names, "n": range(10_000)})
    many = pa.record_batch({"name": [f"station {n:05}" for n in range(10_000)], "n": few["n"]})
    sizes = []
    for batch in (few, many):
        writer = KeyedRecordWriter(GATE, "op", lambda row: row.name, range(4))
        writer.begin(Slice(0, 0))
        writer.processRecords(Records(RowColumns(batch), np.arange(10_000)))
        sizes.append(sum(len(row.frame) for row in writer.finish()))
    assert sizes[0] < 10_000 * 22 < sizes[1]


def test_a_class_that_pickles_only_by_value_goes_across():
    class Local:
        def __init__(self, n):
            self.n = n

    [(_, value, _)] = stream_of(
        decode_frame(encode_frame(frame_of([("record", Local(3), 1)]), "op"))
    )
    assert (type(value).__name__, value.n) == ("Local", 3)


def test_an_element_that_cannot_go_is_named_with_its_operator():
    frame = frame_of([("record", 1, 1), ("record", threading.Lock(), 2)])
    with pytest.raises(
        FlinkishError, match=r"my map: the element <unlocked .*lock.* cannot be pickled"
    ):
        encode_frame(frame, "my map")


def test_a_frame_of_another_version_is_refused():
    data = bytearray(encode_frame(frame_of([]), "op"))
    data[0] = 99
    with pytest.raises(FlinkishError, match="version 99, but this flinkish reads version 2"):
        decode_frame(bytes(data))


@given(
    st.sampled_from([0, MIN_TIMESTAMP, 2**62]),
    st.lists(st.one_of(st.integers(0, 300), st.integers(0, 2**40)), min_size=1, max_size=20),
    st.sampled_from([1, 0]),
)
def test_timestamps_come_as_they_went(least, distances, factor):
    stamps = timestamps_of([least + factor * distance for distance in distances])
    for values in (["x"] * len(stamps), RowColumns(pa.record_batch({"n": range(len(stamps))}))):
        decoded = decode_frame(encode_frame(Frame(Records(values, stamps), NO_MARKS), "op"))
        np.testing.assert_array_equal(decoded.records.timestamps, stamps)


@pytest.mark.parametrize(
    ("stamps", "width"),
    [
        (no_timestamps(1_000), 0),
        (np.full(1_000, 1_700_000_000_000), 0),
        (1_700_000_000_000 + np.arange(1_000) % 256, 1),
        (1_700_000_000_000 + np.arange(1_000), 2),
        (1_700_000_000_000 + np.arange(1_000) * 1_000, 4),
        (np.arange(1_000) << 40, 8),
    ],
)
def test_timestamps_take_as_many_bytes_as_they_need(stamps, width):
    frame = Frame(Records([None] * 1_000, stamps), NO_MARKS)
    nothings = 1_000
    assert width * 1_000 < len(encode_frame(frame, "op")) - nothings < width * 1_000 + 200


@pytest.mark.parametrize(
    "rows", [[Row(name="a" * i, n=i) for i in range(100)], [Row() for _ in range(100)]]
)
def test_rows_travel_as_columns(rows):
    frame = Frame(Records(rows, np.arange(100)), MarksBuilder().build())
    decoded = decode_frame(encode_frame(frame, "op")).records.values
    assert decoded == rows
    assert {type(row) for row in decoded} == {type(rows[0])}
