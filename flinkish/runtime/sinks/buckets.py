"""``Buckets``: finds the bucket of each element that leaves for a ``FileSink``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from flinkish.api.connectors.bucket_assigner import BucketAssigner, DateTimeBucketAssigner
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.runtime.records.records import Records, untimed, visible_timestamp
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.user_code import user_code_of

BUCKET = "bucket"
"""The name of the column of bucket ids, and the prefix of the directories' names."""


@dataclass(frozen=True)
class Buckets:
    sink: str
    """The name of the sink, for errors."""
    assigner: BucketAssigner[Any]

    def added(self, records: Records, columns: RowColumns | None) -> Sequence[Any]:
        """``columns`` and one for buckets; without columns, pairs of a bucket and an element."""
        buckets = self._of(records)
        if columns is None:
            return list(zip(buckets, records.values))
        field = pa.field(BUCKET, pa.string())
        return RowColumns(columns.batch.append_column(field, pa.array(buckets, pa.string())))

    def _of(self, records: Records) -> list[str]:
        assigner, now = self.assigner, round(time.time() * 1000)
        if type(assigner) is DateTimeBucketAssigner:
            return [assigner.getBucketId(None, BucketAssigner.Context(now))] * len(records)
        buckets = []
        element: Any = None
        with user_code_of(self.sink, lambda: element):
            for element, timestamp in zip(records.values, records.timestamps.tolist()):
                context = BucketAssigner.Context(now, visible_timestamp(timestamp))
                bucket = assigner.getBucketId(element, context)
                if not isinstance(bucket, str) or not bucket:
                    raise IllegalArgumentError(
                        f"{self.sink}: getBucketId of {type(assigner).__name__} returned {shown(bucket)} for"
                        f" the element {shown(element)}. Return a text that is not empty."
                    )
                buckets.append(bucket)
        return buckets


def by_bucket(runs: Sequence[Records]) -> dict[str, list[Records]]:
    """The elements of each bucket, from runs whose values ``added`` returned."""
    found: dict[str, list[Records]] = {}
    for run in runs:
        parts: dict[str, Sequence[Any]]
        if isinstance(run.values, RowColumns):
            batch = run.values.batch
            buckets, rows = batch.column(BUCKET), batch.select(batch.schema.names[:-1])
            parts = {
                bucket: RowColumns(rows.filter(pc.equal(buckets, bucket)))
                for bucket in buckets.unique().to_pylist()
            }
        else:
            lists: dict[str, list[Any]] = {}
            for bucket, element in run.values:
                lists.setdefault(bucket, []).append(element)
            parts = dict(lists)
        for bucket, values in parts.items():
            found.setdefault(bucket, []).append(untimed(values))
    return found
