"""What windowed streams do by field: sum, min, max, minBy, maxBy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from flinkish.api.aggregations import ComparableAggregator, FieldAggregator, SumAggregator
from flinkish.api.fields import Field
from flinkish.api.single_output_stream_operator import SingleOutputStreamOperator

T = TypeVar("T")


class FieldAggregations(ABC, Generic[T]):
    """Aggregations of a window by a field's position or name."""

    @abstractmethod
    def _aggregated(self, aggregator: FieldAggregator[T]) -> SingleOutputStreamOperator[T]:
        """The stream of the windows' elements, reduced by ``aggregator``."""

    def sum(self, field: Field) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the sum of ``field`` in it."""
        return self._aggregated(SumAggregator(field))

    def min(self, field: Field) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the lowest ``field`` in it."""
        return self._aggregated(ComparableAggregator(field, "min"))

    def max(self, field: Field) -> SingleOutputStreamOperator[T]:
        """The first element of the window, with the highest ``field`` in it."""
        return self._aggregated(ComparableAggregator(field, "max"))

    def minBy(self, field: Field, first: bool = True) -> SingleOutputStreamOperator[T]:
        """The element with the lowest ``field``; of equal ones the first, or with ``first=False``
        the last."""
        return self._aggregated(ComparableAggregator(field, "minBy", first))

    def maxBy(self, field: Field, first: bool = True) -> SingleOutputStreamOperator[T]:
        """The element with the highest ``field``; of equal ones the first, or with ``first=False``
        the last."""
        return self._aggregated(ComparableAggregator(field, "maxBy", first))
