"""Rolling reductions: for every element the reduction of all elements of its key so far."""

from __future__ import annotations

from typing import Any

from flinkish.api.process_operators import KeyedReduceDescription
from flinkish.runtime.accumulation import check_no_reduction
from flinkish.runtime.elements import Records
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext
from flinkish.runtime.operators.keyed_operator import KeyedOperator, keyed_elements


class StreamGroupedReduceOperator(KeyedOperator, OneInputOperator):
    """``reduce`` and the rolling aggregations of a keyed stream (Flink: the same name)."""

    def __init__(self, context: OperatorContext, description: KeyedReduceDescription) -> None:
        super().__init__(context)
        self._function = description.function
        self._call = description.call
        self._table = context.backend.table("_op_state")

    def open(self) -> None:
        self.openFunction(self._function)

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        backend, table, reduce = self.backend, self._table, self._call
        # A run has far fewer keys than elements: each key's value is read and written once
        reduced: dict[Any, Any] = {}
        collect = self.output.collect
        element: Any = None
        with self.userCodeOf(lambda: element):
            for key, element, timestamp in keyed_elements(records):
                value = element
                so_far = reduced[key] if key in reduced else table.get(key, None)
                if so_far is not None:
                    backend.currentKey = key
                    value = reduce(so_far, element)
                    if value is None:
                        check_no_reduction(so_far, element)
                reduced[key] = value
                collect(value, timestamp)
        for key, value in reduced.items():
            if value is None:
                table.remove(key, None)
            else:
                table.put(key, None, value)
        self.output.flush()
