"""What a window function gets to see where the elements themselves are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from flinkish.api.callables import reduce_call
from flinkish.api.functions import AggregateFunction
from flinkish.runtime.accumulation import added, reduced


def element_fold(aggregation: Any) -> Callable[[list[Any]], Sequence[Any]]:
    """The elements, or the one value that ``aggregation`` makes of them; the reduction of nothing is
    None, its aggregate that of a new accumulator."""
    if aggregation is None:
        return lambda values: values
    if isinstance(aggregation, AggregateFunction):
        return lambda values: (_aggregate(aggregation, values),)
    call = partial(reduced, reduce_call(aggregation))
    return lambda values: (reduce(call, values) if values else None,)


def _aggregate(function: AggregateFunction[Any, Any, Any], values: list[Any]) -> Any:
    accumulator = function.createAccumulator()
    for value in values:
        accumulator = added(function, value, accumulator)
    return function.getResult(accumulator)
