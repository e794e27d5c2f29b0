"""Makes the running operator of a description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.arrival_time import ArrivalTimeDescription
from flinkish.api.operators import (
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    MapDescription,
    OperatorDescription,
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.window_operators import WindowOperatorDescription
from flinkish.runtime.operators.arrival_time_operator import ArrivalTimeOperator
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.policy_factory import POLICY_OPERATORS
from flinkish.runtime.operators.process_factory import PROCESS_OPERATORS
from flinkish.runtime.operators.source_watermarks import SourceWatermarksOperator
from flinkish.runtime.operators.stateless import (
    StreamFilter,
    StreamFlatMap,
    StreamInOrder,
    StreamMap,
)
from flinkish.runtime.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flinkish.runtime.windowing.factory import create_window_operator

_FACTORIES: dict[type[OperatorDescription], Callable[[OperatorContext, Any], StreamOperator]] = {
    MapDescription: StreamMap,
    FilterDescription: StreamFilter,
    FlatMapDescription: StreamFlatMap,
    InOrderDescription: StreamInOrder,
    TimestampsAndWatermarksDescription: TimestampsAndWatermarksOperator,
    SourceWatermarksDescription: SourceWatermarksOperator,
    ArrivalTimeDescription: ArrivalTimeOperator,
    WindowOperatorDescription: create_window_operator,
    **PROCESS_OPERATORS,
    **POLICY_OPERATORS,
}


def create_operator(context: OperatorContext, description: OperatorDescription) -> StreamOperator:
    """The operator that does what ``description`` says."""
    return _FACTORIES[type(description)](context, description)
