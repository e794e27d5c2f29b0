"""``sum``, ``min``, ``max``, ``minBy`` and ``maxBy``, of a keyed stream and of windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from flinkish.api.functions.aggregations import (
    ComparableAggregator,
    FieldAggregator,
    FieldLike,
    SumAggregator,
)
from flinkish.api.streams.data_stream import SingleOutputStreamOperator
from flinkish.api.type_variables import T_co


class FieldAggregations(ABC, Generic[T_co]):
    """Aggregations by field of the elements of a key so far, or of a window.

    A rolling one gives a result for each element, with its timestamp; a window gives one when it
    fires. All raise InvalidProgramError if the type of the elements has no such field.
    """

    def sum(self, field: FieldLike[T_co]) -> SingleOutputStreamOperator[T_co]:
        """The first element, with the sum of ``field`` in it: a position, a name, or a function that
        reads one field, such as ``lambda flight: flight.delay``."""
        return self._aggregated(SumAggregator(field))

    def min(self, field: FieldLike[T_co]) -> SingleOutputStreamOperator[T_co]:
        """The first element, with ``field`` set to its lowest value."""
        return self._aggregated(ComparableAggregator(field, "min"))

    def max(self, field: FieldLike[T_co]) -> SingleOutputStreamOperator[T_co]:
        """The first element, with ``field`` set to its highest value."""
        return self._aggregated(ComparableAggregator(field, "max"))

    def minBy(self, field: FieldLike[T_co], first: bool = True) -> SingleOutputStreamOperator[T_co]:
        """The element with the lowest ``field``, which may be any function of it; of equal ones the
        first, or with ``first=False`` the last."""
        return self._aggregated(ComparableAggregator(field, "minBy", first))

    def maxBy(self, field: FieldLike[T_co], first: bool = True) -> SingleOutputStreamOperator[T_co]:
        """The element with the highest ``field``, which may be any function of it; of equal ones the
        first, or with ``first=False`` the last."""
        return self._aggregated(ComparableAggregator(field, "maxBy", first))

    @abstractmethod
    def _aggregated(self, aggregator: FieldAggregator[T_co]) -> SingleOutputStreamOperator[T_co]:
        """The results of ``aggregator``."""
