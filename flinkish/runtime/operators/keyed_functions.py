"""map, filter and flatMap on a keyed stream, where a rich function may have keyed state."""

from __future__ import annotations

from itertools import chain, compress

import numpy as np

from flinkish.runtime.elements import Records
from flinkish.runtime.operators.keyed_operator import KeyedOperator, keyed_elements
from flinkish.runtime.operators.stateless import (
    StreamFilter,
    StreamFlatMap,
    StreamMap,
    flat_map_results,
)


class KeyedStreamMap(KeyedOperator, StreamMap):
    """``KeyedStream.map``."""

    def open(self) -> None:
        self.openKeyedFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        results = self.mappedUnderKeys(self._call, records)
        self.output.emitRecords(Records(results, records.timestamps))


class KeyedStreamFilter(KeyedOperator, StreamFilter):
    """``KeyedStream.filter``."""

    def open(self) -> None:
        self.openKeyedFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        verdicts = self.mappedUnderKeys(self._call, records)
        kept = np.fromiter(map(bool, verdicts), dtype=bool, count=len(records))
        values = list(compress(records.values, kept))
        self.output.emitRecords(Records(values, records.timestamps[kept]))


class KeyedStreamFlatMap(KeyedOperator, StreamFlatMap):
    """``KeyedStream.flatMap``."""

    def open(self) -> None:
        self.openKeyedFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        call, iterate = self._call, self._iterate
        if iterate is not None:
            lists = self.mappedUnderKeys(lambda value: flat_map_results(iterate(value)), records)
            counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
            values = list(chain.from_iterable(lists))
            self.output.emitRecords(Records(values, np.repeat(records.timestamps, counts)))
            return
        assert call is not None
        backend, collector = self.backend, self._collector
        value = None
        with self.userCodeOf(lambda: value):
            for key, value, timestamp in keyed_elements(records):
                backend.currentKey = key
                collector.timestamp = timestamp
                call(value, collector)
        self.output.flush()
