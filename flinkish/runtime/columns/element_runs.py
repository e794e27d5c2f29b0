"""Runs of unfolded elements of a window, as ``WindowColumns`` keeps them; the schema notes the key
column.

For an evictor, a last column has the timestamps of the elements. Tagged elements, those of the two
streams of a join, have a last column with their arrival number: how many elements came to the
window before. The two streams have different columns, so their runs are merged apart, and only the
arrival number gives the order across both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys
from flinkish.runtime.records.records import Records, Timestamps, no_timestamps
from flinkish.runtime.records.rows import (
    RowColumns,
    bounds_of,
    by_code,
    concatenated,
    decoded,
    grouped,
    python_values,
)
from flinkish.runtime.records.shapes import shape_of, with_shape
from flinkish.runtime.records.tagged_columns import tag_of

KEY_COLUMN = b"flinkish.key"
"""Metadata of the schema of a run of elements: the index of the key column."""

_COMPUTED_KEY = "flinkish.key"
"""The name of a column of computed keys."""

_ARRIVAL = "flinkish.arrival"
_TIMESTAMP = "flinkish.timestamp"


def keyed_run(records: Records) -> pa.RecordBatch:
    """The elements of ``records``, which are columns, with their keys: one of their columns, or one
    behind theirs if the keys are computed."""
    values, keys = records.values, records.keys
    assert isinstance(values, RowColumns)
    run = decoded(values.batch)
    if isinstance(keys, ColumnKeys):
        number = keys.column
    else:
        assert isinstance(keys, ComputedKeys)
        number = run.num_columns
        run = run.append_column(_COMPUTED_KEY, keys.encoded.dictionary_decode())
    noted = with_shape(pa.schema(run.schema, {KEY_COLUMN: str(number)}), values.shape)
    return run.replace_schema_metadata(noted.metadata)


def are_elements(run: pa.RecordBatch) -> bool:
    """Whether a run has elements rather than accumulators."""
    return KEY_COLUMN in (run.schema.metadata or {})


def key_column(run: pa.RecordBatch) -> int:
    """The index of the key column of a run of elements."""
    return int(run.schema.metadata[KEY_COLUMN])


def elements_of(run: pa.RecordBatch) -> RowColumns:
    """The elements of a run, without their arrival numbers, timestamps and computed keys."""
    if _last_name(run) in (_ARRIVAL, _TIMESTAMP):
        run = run.select(list(range(run.num_columns - 1)))
    shape = shape_of(run.schema)
    if shape.width < run.num_columns:  # the last one has computed keys
        run = run.select(list(range(shape.width)))
    return RowColumns(run, shape)


def are_tagged(run: pa.RecordBatch) -> bool:
    """Whether a run has tagged elements."""
    return _last_name(run) == _ARRIVAL


def _last_name(run: pa.RecordBatch) -> str | None:
    return run.schema.names[-1] if run.num_columns else None


class ElementsByKey:
    """The elements of a run by key: number ``k`` of ``keys`` has those at the positions
    ``order[bounds[k]:bounds[k + 1]]``, in the order of their arrival; at least one."""

    def __init__(self, run: pa.RecordBatch) -> None:
        self.elements = elements_of(run)
        self.timestamps = timestamps_of(run)
        self.codes, self.keys = grouped(run.column(key_column(run)))
        self.order = by_code(self.codes, len(self.keys))
        self.bounds = bounds_of(np.bincount(self.codes, minlength=len(self.keys)))

    def parts(self, stay: NDArray[np.bool_] | None = None) -> Iterator[list[Any]]:
        """The objects of each key, or, of those at ``order``, the ones that ``stay``."""
        order, bounds = self.order, self.bounds
        if stay is not None:
            order = order[stay]
            bounds = bounds_of(np.add.reduceat(stay, bounds[:-1], dtype=np.intp))
        self.elements.encodeTexts()
        return self.elements.take(order).parts(bounds.tolist())

    def each(self, ofKeys: NDArray[Any]) -> NDArray[Any]:
        """A value for each key as one for each position of ``order``."""
        return np.repeat(ofKeys, np.diff(self.bounds))


def tag_of_run(run: pa.RecordBatch) -> int:
    """The tag of the tagged elements of a run."""
    tag = tag_of(shape_of(run.schema))
    assert tag is not None
    return tag


def numbered(run: pa.RecordBatch, arrived: int) -> pa.RecordBatch:
    """A run of tagged elements with their arrival numbers, from ``arrived`` on."""
    return _with_last(run, _ARRIVAL, np.arange(arrived, arrived + run.num_rows, dtype=np.int64))


def stamped(run: pa.RecordBatch, timestamps: Timestamps) -> pa.RecordBatch:
    """A run of elements with their timestamps."""
    return _with_last(run, _TIMESTAMP, timestamps)


def _with_last(run: pa.RecordBatch, name: str, numbers: NDArray[np.int64]) -> pa.RecordBatch:
    schema = run.schema.append(pa.field(name, pa.int64()))
    return pa.RecordBatch.from_arrays([*run.columns, pa.array(numbers)], schema=schema)


def timestamps_of(run: pa.RecordBatch) -> Timestamps:
    """The timestamps of a run of elements; none if it has none."""
    if _last_name(run) == _TIMESTAMP:
        timestamps: Timestamps = run.column(run.num_columns - 1).to_numpy()
        return timestamps
    return no_timestamps(run.num_rows)


def of_one_kind(runs: Sequence[pa.RecordBatch]) -> bool:
    """Whether all ``runs`` have the same columns and the same shape."""
    first = runs[0].schema
    return all(run.schema.equals(first, check_metadata=True) for run in runs)


def by_tag(runs: Iterable[pa.RecordBatch]) -> dict[int, list[pa.RecordBatch]]:
    """Runs of tagged elements by tag, in their order."""
    found: dict[int, list[pa.RecordBatch]] = {}
    for run in runs:
        found.setdefault(tag_of_run(run), []).append(run)
    return found


def merged_elements(runs: Sequence[pa.RecordBatch]) -> list[pa.RecordBatch] | None:
    """``runs`` as one run, or as one for each tag; None if they are of several kinds."""
    together = by_tag(runs).values() if are_tagged(runs[0]) else [runs]
    return list(map(concatenated, together)) if all(map(of_one_kind, together)) else None


def arrivals(runs: Sequence[pa.RecordBatch]) -> NDArray[np.int64]:
    """The arrival numbers of tagged elements of one tag, made ascending: after key groups were
    redistributed a number may be lower than one before it, and then the order of the runs holds."""
    numbers = np.concatenate([run.column(run.num_columns - 1).to_numpy() for run in runs])
    return np.maximum.accumulate(numbers)


def singly(runs: Sequence[pa.RecordBatch]) -> tuple[list[Any], list[Any]]:
    """The keys of tagged elements, and the elements, in the order of their arrival."""
    sides = by_tag(runs)
    ordered = list(chain.from_iterable(sides.values()))
    order = np.argsort(np.concatenate(list(map(arrivals, sides.values()))), kind="stable").tolist()
    keys = list(chain.from_iterable(python_values(run.column(key_column(run))) for run in ordered))
    elements = list(chain.from_iterable(elements_of(run).passing() for run in ordered))
    return list(map(keys.__getitem__, order)), list(map(elements.__getitem__, order))
