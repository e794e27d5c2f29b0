"""``HeldElements``: what waits for the watermark, to go on in the order of its timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.records.keys import taken
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.rows import RowColumns, joined
from flinkish.runtime.records.shapes import shape_of, with_shape


class HeldElements:
    """Runs of elements that the watermark has not reached. Columns stay columns, as long as all that are held are of one
    schema. It goes on from ``snapshot``, or is empty if that is None.
    """

    def __init__(self, snapshot: Any = None) -> None:
        self._runs: list[Records] = []
        self._lowest = MAX_TIMESTAMP
        if snapshot is not None:
            values, timestamps = snapshot
            if isinstance(values, bytes):
                stored = RowColumns.ofBytes(values)
                values = stored.shaped(shape_of(stored.schema))
            self.add(Records(values, np.frombuffer(timestamps, np.int64)))

    def snapshot(self) -> Any:
        """What ``__init__`` takes."""
        if not self._runs:
            return None
        held = self._together()
        values = held.values
        if isinstance(values, RowColumns) and not values.mayDiffer:
            noted = values.batch.replace_schema_metadata(
                with_shape(values.schema, values.shape).metadata
            )
            return RowColumns(noted).toBytes(), held.timestamps.tobytes()
        return list(values), held.timestamps.tobytes()

    def add(self, records: Records) -> None:
        """Hold a run."""
        if len(records):
            self._runs.append(records)
            self._lowest = min(self._lowest, int(records.timestamps.min()))

    def reached(self, watermark: int) -> Records | None:
        """The elements up to ``watermark`` in the order of their timestamps, those of one timestamp as they came; they are
        held no longer. None if there are none."""
        if not self._runs or self._lowest > watermark:
            return None
        held = self._together()
        due = held.timestamps <= watermark
        places = np.flatnonzero(due)
        order = places[np.argsort(held.timestamps[places], kind="stable")]
        self._runs, self._lowest = [], MAX_TIMESTAMP
        if len(places) < len(held):
            self.add(held.kept(~due))
        return Records(taken(held.values, order), held.timestamps[order])

    def _together(self) -> Records:
        if len(self._runs) > 1:
            runs = [run.values for run in self._runs]
            columns = [run for run in runs if isinstance(run, RowColumns) and not run.mayDiffer]
            values: Sequence[Any]
            if len(columns) == len(runs) and all(
                c.schema.equals(columns[0].schema) for c in columns
            ):
                values = joined(columns)
            else:
                values = list(chain.from_iterable(runs))
            timestamps = np.concatenate([run.timestamps for run in self._runs])
            self._runs = [Records(values, timestamps)]
        return self._runs[0]
