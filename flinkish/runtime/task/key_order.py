"""The order of a bounded input in BATCH: the elements of a key are together, sorted by time (Flink:
``SortingDataInput``, ``MultiInputSortingDataInput``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flinkish.runtime.records.keys import ColumnKeys, ComputedKeys, joined_keys, records_at
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.records.tagged_columns import tag_of

Positions = NDArray[np.intp]

_LARGEST_COLUMNS = 1 << 30
"""More bytes may not fit into one Arrow column."""


def in_key_order(inputs: Sequence[Sequence[Records]]) -> Iterator[tuple[int, Records]]:
    """The runs of all ``inputs`` in order, each with the index of its input.

    Runs without keys are not sorted: they come one input after the other. Columns are sorted by
    time only, which gives each key the same order, as an operator over columns processes all keys
    at once. Elements that were folded before the shuffle have no order.
    """
    filled = [(index, runs) for index, runs in enumerate(inputs) if runs]
    every = [(index, run) for index, runs in filled for run in runs]
    if any(run.keys is None or run.counts is not None for _, run in every):
        yield from every
        return
    if len(filled) == 1:
        index, runs = filled[0]
        yield index, _sorted(_joined(runs))
    elif filled:
        yield from _merged([(index, _joined(runs)) for index, runs in filled])


def _joined(runs: Sequence[Records]) -> Records:
    if len(runs) == 1:
        return runs[0]
    values: Sequence[Any] | None = None
    keys: Sequence[Any] | None = None
    columns = [run.values for run in runs if isinstance(run.values, RowColumns)]
    fits = sum(c.batch.nbytes for c in columns) < _LARGEST_COLUMNS
    if fits and len(columns) == len(runs) and len({c.batch.schema for c in columns}) == 1:
        values = joined(columns)
        keys = joined_keys(values, [run.keys for run in runs])
    return Records(
        list(chain.from_iterable(run.values for run in runs)) if values is None else values,
        np.concatenate([run.timestamps for run in runs]),
        list(chain.from_iterable(run.keys or () for run in runs)) if keys is None else keys,
        None
        if any(run.hashes is None for run in runs)
        else np.concatenate([run.hashes for run in runs if run.hashes is not None]),
    )


def _sorted(records: Records) -> Records:
    keys = records.keys
    if isinstance(keys, (ColumnKeys, ComputedKeys)) and not _are_tagged(records.values):
        return _at(records, np.argsort(records.timestamps, kind="stable"))
    assert keys is not None
    return _at(records, np.lexsort((records.timestamps, _ranks(keys))))


def _are_tagged(values: Sequence[Any]) -> bool:
    """Whether ``values`` are tagged elements of a join. Whether these come as columns depends on
    the other side too, but the order of the keys should not."""
    return isinstance(values, RowColumns) and tag_of(values.shape) is not None


def _merged(inputs: Sequence[tuple[int, Records]]) -> Iterator[tuple[int, Records]]:
    """The elements of several inputs in one order, cut where the input changes."""
    keys = list(chain.from_iterable(records.keys or () for _, records in inputs))
    timestamps = np.concatenate([records.timestamps for _, records in inputs])
    lengths = [len(records) for _, records in inputs]
    members = np.repeat(np.arange(len(inputs)), lengths)
    places = np.concatenate([np.arange(length) for length in lengths])
    order = np.lexsort((timestamps, _ranks(keys)))
    members, places = members[order], places[order]
    sorted_inputs = [_at(r, places[members == m]) for m, (_, r) in enumerate(inputs)]
    taken = [0] * len(inputs)
    changes = np.flatnonzero(np.diff(members)) + 1
    for start, end in zip([0, *changes.tolist()], [*changes.tolist(), len(members)]):
        member = int(members[start])
        first = taken[member]
        taken[member] = first + end - start
        yield inputs[member][0], sorted_inputs[member].slice(first, taken[member])


def _ranks(keys: Sequence[Any]) -> Positions:
    """The number of each key; keys are numbered in the order of their first occurrence."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def _at(records: Records, positions: Positions) -> Records:
    ordered = np.array_equal(positions, np.arange(len(records)))
    return records if ordered else records_at(records, positions)
