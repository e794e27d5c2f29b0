"""Makes the running operator of a description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.operators import (
    FilterDescription,
    FlatMapDescription,
    MapDescription,
    OperatorDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.stateless import StreamFilter, StreamFlatMap, StreamMap
from flinkish.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator

_FACTORIES: dict[type[OperatorDescription], Callable[[OperatorContext, Any], StreamOperator]] = {
    MapDescription: StreamMap,
    FilterDescription: StreamFilter,
    FlatMapDescription: StreamFlatMap,
    TimestampsAndWatermarksDescription: TimestampsAndWatermarksOperator,
}


def create_operator(context: OperatorContext, description: OperatorDescription) -> StreamOperator:
    """The operator that does what ``description`` says."""
    return _FACTORIES[type(description)](context, description)
