"""Runs of unfolded elements of a window, as ``WindowColumns`` keeps them; the schema notes the key
column.

Tagged elements, those of the two streams of a join, have a last column with their arrival number:
how many elements came to the window before. The two streams have different columns, so their runs
are merged apart, and only the arrival number gives the order across both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flinkish.runtime.records.rows import RowColumns, concatenated, python_values
from flinkish.runtime.records.shapes import shape_of
from flinkish.runtime.records.tagged_columns import tag_of

KEY_COLUMN = b"flinkish.key"
"""Metadata of the schema of a run of elements: the index of the key column."""

_ARRIVAL = "flinkish.arrival"


def are_elements(run: pa.RecordBatch) -> bool:
    """Whether a run has elements rather than accumulators."""
    return KEY_COLUMN in (run.schema.metadata or {})


def key_column(run: pa.RecordBatch) -> int:
    """The index of the key column of a run of elements."""
    return int(run.schema.metadata[KEY_COLUMN])


def elements_of(run: pa.RecordBatch) -> RowColumns:
    """The elements of a run, without their arrival numbers."""
    shape = shape_of(run.schema)
    return RowColumns(run.select(list(range(shape.width))) if are_tagged(run) else run, shape)


def are_tagged(run: pa.RecordBatch) -> bool:
    """Whether a run has tagged elements."""
    return bool(run.schema.names) and run.schema.names[-1] == _ARRIVAL


def tag_of_run(run: pa.RecordBatch) -> int:
    """The tag of the tagged elements of a run."""
    tag = tag_of(shape_of(run.schema))
    assert tag is not None
    return tag


def numbered(run: pa.RecordBatch, arrived: int) -> pa.RecordBatch:
    """A run of tagged elements with their arrival numbers, from ``arrived`` on."""
    numbers = pa.array(np.arange(arrived, arrived + run.num_rows, dtype=np.int64))
    schema = run.schema.append(pa.field(_ARRIVAL, numbers.type))
    return pa.RecordBatch.from_arrays([*run.columns, numbers], schema=schema)


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
