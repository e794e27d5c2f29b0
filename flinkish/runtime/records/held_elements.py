"""``HeldElements``: elements that wait for the watermark, then emitted by timestamp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.keys import records_at
from flinkish.runtime.records.records import Numbers, Records
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.records.shapes import shape_of, with_shape

Partitions = NDArray[np.intp]
"""The index of the input partition of each element of a run."""


class _Run(NamedTuple):
    records: Records
    partitions: Partitions


class HeldElements:
    """Runs of elements that the watermark has not reached. Columns stay columns, as long as all
    held elements have one schema. Continues from ``snapshot``; None: empty."""

    def __init__(self, snapshot: Any = None) -> None:
        self._runs: list[_Run] = []
        self._lowest = MAX_TIMESTAMP
        if snapshot is not None:
            values, timestamps, partitions = snapshot
            if isinstance(values, bytes):
                stored = RowColumns.ofBytes(values)
                values = stored.shaped(shape_of(stored.schema))
            records = Records(values, np.frombuffer(timestamps, np.int64))
            self.add(records, np.frombuffer(partitions, np.intp))

    @classmethod
    def ofPartitions(cls, held: Mapping[int, Any]) -> HeldElements:
        """The elements in snapshots of ``byPartition``, by the new indices of their partitions."""
        together = cls()
        for number, snapshot in held.items():
            for records, _ in cls(snapshot)._runs:
                together.add(records, np.full(len(records), number, np.intp))
        return together

    def byPartition(self) -> dict[int, Any]:
        """A snapshot for each partition that has elements, by the partition's index."""
        if not self._runs:
            return {}
        held, partitions = self._together()
        found = {}
        for number in np.unique(partitions).tolist():
            alone = HeldElements()
            places = np.flatnonzero(partitions == number)
            alone.add(records_at(held, places), partitions[places])
            found[number] = alone.snapshot()
        return found

    def snapshot(self) -> Any:
        """The snapshot for ``__init__``."""
        if not self._runs:
            return None
        held, partitions = self._together()
        values: Any = held.values
        if isinstance(values, RowColumns) and not values.mayDiffer:
            noted = values.batch.replace_schema_metadata(
                with_shape(values.schema, values.shape).metadata
            )
            values = RowColumns(noted).toBytes()
        else:
            values = list(values)
        return values, held.timestamps.tobytes(), partitions.tobytes()

    def add(self, records: Records, partitions: Numbers) -> None:
        """Hold a run; ``partitions``: the index of the input partition of each element."""
        if len(records):
            self._runs.append(_Run(records, np.asarray(partitions, np.intp)))
            self._lowest = min(self._lowest, int(records.timestamps.min()))

    def reached(self, watermark: int) -> Records | None:
        """Remove and return the elements up to ``watermark``, in the order of their timestamps and,
        for equal timestamps, of their arrival. None if there are none."""
        if not self._runs or self._lowest > watermark:
            return None
        held, partitions = self._together()
        due = held.timestamps <= watermark
        places = np.flatnonzero(due)
        order = places[np.argsort(held.timestamps[places], kind="stable")]
        self._runs, self._lowest = [], MAX_TIMESTAMP
        if len(places) < len(held):
            self.add(held.kept(~due), partitions[~due])
        return records_at(held, order)

    def _together(self) -> _Run:
        if len(self._runs) > 1:
            runs = [run.records.values for run in self._runs]
            columns = [run for run in runs if isinstance(run, RowColumns) and not run.mayDiffer]
            values: Sequence[Any]
            if len(columns) == len(runs) and all(
                c.schema.equals(columns[0].schema) for c in columns
            ):
                values = joined(columns)
            else:
                values = list(chain.from_iterable(runs))
            timestamps = np.concatenate([run.records.timestamps for run in self._runs])
            partitions = np.concatenate([run.partitions for run in self._runs])
            self._runs = [_Run(Records(values, timestamps), partitions)]
        return self._runs[0]
