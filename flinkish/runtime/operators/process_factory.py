"""Which operator does what the descriptions of process, reduce, two-input and join operators say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.operators import OperatorDescription
from flinkish.api.process_operators import (
    BroadcastProcessDescription,
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
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
    ProcessDescription,
    ProcessUnderKeyDescription,
)
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.broadcast_operators import (
    CoBroadcastWithKeyedOperator,
    CoBroadcastWithNonKeyedOperator,
)
from flinkish.runtime.operators.co_operators import (
    CoProcessOperator,
    CoStreamFlatMap,
    CoStreamMap,
    KeyedCoProcessOperator,
    KeyedCoStreamFlatMap,
    KeyedCoStreamMap,
)
from flinkish.runtime.operators.grouped_reduce import StreamGroupedReduceOperator
from flinkish.runtime.operators.interval_join_operator import IntervalJoinOperator
from flinkish.runtime.operators.keyed_functions import (
    KeyedStreamFilter,
    KeyedStreamFlatMap,
    KeyedStreamMap,
)
from flinkish.runtime.operators.keyed_process_operator import KeyedProcessOperator
from flinkish.runtime.operators.process_operator import ProcessOperator, ProcessUnderKeyOperator

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
