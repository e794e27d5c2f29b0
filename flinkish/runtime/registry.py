"""Makes the running operator of a description."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan.operators import (
    ArrivalTimeDescription,
    BroadcastProcessDescription,
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    IntervalJoinDescription,
    KeyedBroadcastProcessDescription,
    KeyedCoFlatMapDescription,
    KeyedCoMapDescription,
    KeyedCoProcessDescription,
    KeyedFilterDescription,
    KeyedFlatMapDescription,
    KeyedMapDescription,
    KeyedProcessDescription,
    KeyedReduceDescription,
    MapDescription,
    OperatorDescription,
    ProcessDescription,
    ProcessUnderKeyDescription,
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.plan.windows import WindowOperatorDescription
from flinkish.runtime.operators.arrival_time import ArrivalTimeOperator
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.broadcast import (
    CoBroadcastWithKeyedOperator,
    CoBroadcastWithNonKeyedOperator,
)
from flinkish.runtime.operators.interval_join import IntervalJoinOperator
from flinkish.runtime.operators.one_input import (
    KeyedProcessOperator,
    KeyedStreamFilter,
    KeyedStreamFlatMap,
    KeyedStreamMap,
    ProcessOperator,
    ProcessUnderKeyOperator,
    StreamFilter,
    StreamFlatMap,
    StreamGroupedReduceOperator,
    StreamInOrder,
    StreamMap,
)
from flinkish.runtime.operators.policy_factory import POLICY_OPERATORS
from flinkish.runtime.operators.timestamps import (
    SourceWatermarksOperator,
    TimestampsAndWatermarksOperator,
)
from flinkish.runtime.operators.two_input import (
    CoProcessOperator,
    CoStreamFlatMap,
    CoStreamMap,
    KeyedCoProcessOperator,
    KeyedCoStreamFlatMap,
    KeyedCoStreamMap,
)
from flinkish.runtime.windowing.aligned_windows import AlignedWindowOperator
from flinkish.runtime.windowing.content_windows import ContentWindowOperator
from flinkish.runtime.windowing.session_windows import SessionWindowOperator
from flinkish.runtime.windowing.window_operator import EvictingWindowOperator, WindowOperator

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


PROCESS_OPERATORS: dict[
    type[OperatorDescription], Callable[[OperatorContext, Any], StreamOperator]
] = {
    ProcessDescription: ProcessOperator,
    ProcessUnderKeyDescription: ProcessUnderKeyOperator,
    KeyedProcessDescription: KeyedProcessOperator,
    KeyedReduceDescription: StreamGroupedReduceOperator,
    KeyedMapDescription: KeyedStreamMap,
    KeyedFilterDescription: KeyedStreamFilter,
    KeyedFlatMapDescription: KeyedStreamFlatMap,
    CoMapDescription: CoStreamMap,
    KeyedCoMapDescription: KeyedCoStreamMap,
    CoFlatMapDescription: CoStreamFlatMap,
    KeyedCoFlatMapDescription: KeyedCoStreamFlatMap,
    CoProcessDescription: CoProcessOperator,
    KeyedCoProcessDescription: KeyedCoProcessOperator,
    BroadcastProcessDescription: CoBroadcastWithNonKeyedOperator,
    KeyedBroadcastProcessDescription: CoBroadcastWithKeyedOperator,
    IntervalJoinDescription: IntervalJoinOperator,
}


def create_window_operator(
    context: OperatorContext, description: WindowOperatorDescription
) -> StreamOperator:
    """The operator that does what ``description`` says, the fastest there is."""
    if description.isContent:
        return ContentWindowOperator(context, description)
    if description.evictor is not None:
        return EvictingWindowOperator(context, description)
    if description.isAligned:
        return AlignedWindowOperator(context, description)
    if description.isSession:
        return SessionWindowOperator(context, description)
    return WindowOperator(context, description)
