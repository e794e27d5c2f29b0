"""The order in which an operator gets its input in BATCH."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from flinkish.runtime.records.keys import ColumnKeys
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.task.key_order import in_key_order

ELEMENTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)), max_size=8)
RUNS = st.lists(ELEMENTS, max_size=3)


def run_of(elements, number, index):
    """Elements with their key and time; the last two parts tell where they came from."""
    values = [(key, time, index, (number, place)) for place, (key, time) in enumerate(elements)]
    return Records(
        values,
        timestamps_of([time for _, time in elements]),
        [key for key, _ in elements],
        np.zeros(len(elements), dtype=np.uint32),
    )


@given(st.lists(RUNS, min_size=1, max_size=2))
def test_keys_stand_together_and_each_is_sorted_by_time(inputs):
    given_runs = [
        [run_of(elements, number, index) for number, elements in enumerate(runs) if elements]
        for index, runs in enumerate(inputs)
    ]
    found = []
    for index, records in in_key_order(given_runs):
        assert {value[2] for value in records.values} == {index}
        assert list(records.keys) == [value[0] for value in records.values]
        assert records.timestamps.tolist() == [value[1] for value in records.values]
        found += records.values
    every = [value for runs in given_runs for run in runs for value in run.values]
    assert sorted(found) == sorted(every)
    keys = [key for key, _ in groupby(found, key=lambda value: value[0])]
    assert len(keys) == len(set(keys))
    for _, members in groupby(found, key=lambda value: value[0]):
        # At one time: the first input first, and its elements as they came
        assert list(order := [value[1:] for value in members]) == sorted(order)


def test_columns_are_sorted_by_time_and_stay_columns():
    def run(users, times):
        batch = pa.RecordBatch.from_pydict({"user": users, "at": times})
        rows = RowColumns(batch)
        hashes = np.arange(len(users), dtype=np.uint32)
        return Records(rows, timestamps_of(times), ColumnKeys(rows, 0), hashes)

    ((index, records),) = in_key_order([[run(["a", "b"], [5, 1]), run(["a"], [3])]])
    assert index == 0
    assert isinstance(records.values, RowColumns)
    assert isinstance(records.keys, ColumnKeys)
    assert list(records.keys) == ["b", "a", "a"]
    assert records.values.batch.column("at").to_pylist() == records.timestamps.tolist() == [1, 3, 5]
    assert records.hashes is not None
    assert records.hashes.tolist() == [1, 0, 0]


def test_what_has_no_keys_stays_as_it_is():
    runs = [[Records([3, 1], timestamps_of([3, 1]))], [Records([2], timestamps_of([2]))]]
    assert [(i, list(r.values)) for i, r in in_key_order(runs)] == [(0, [3, 1]), (1, [2])]
    assert list(in_key_order([[], []])) == []
