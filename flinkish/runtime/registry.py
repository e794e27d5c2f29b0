"""Says which operator runs a description, in one table for all descriptions.

The descriptions of the core are in ``api/plan``, and their operators in ``runtime/operators`` and
``runtime/windowing``. Operators that also take runs of columns are in ``runtime/columns``. Other
packages, such as those in ``compat``, register their own operators with ``register_operator``; the
core imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan.operators import (
    ArrivalTimeDescription,
    AsyncWaitDescription,
    FilterDescription,
    FlatMapDescription,
    InOrderDescription,
    KeyedProcessDescription,
    KeyedReduceDescription,
    MapDescription,
    OperatorDescription,
    ProcessDescription,
    SourceWatermarksDescription,
    TimestampsAndWatermarksDescription,
)
from flinkish.api.plan.two_input import (
    BroadcastProcessDescription,
    CoFlatMapDescription,
    CoMapDescription,
    CoProcessDescription,
    IntervalJoinDescription,
)
from flinkish.api.plan.window_operator import (
    CONTENT_LAYOUT,
    EVICTING_LAYOUT,
    GENERAL_LAYOUT,
    SESSION_LAYOUT,
    AlignedLayout,
    WindowOperatorDescription,
)
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.arrival_time import ColumnArrivalTime
from flinkish.runtime.columns.evicting_windows import ColumnEvictingWindows
from flinkish.runtime.columns.interval_join import ColumnIntervalJoin
from flinkish.runtime.columns.keyed_process import (
    KeyedColumnBroadcast,
    KeyedColumnCoProcess,
    KeyedColumnProcess,
)
from flinkish.runtime.columns.map_like import (
    ColumnBroadcast,
    ColumnFilter,
    ColumnFlatMap,
    ColumnMap,
    ColumnProcess,
    ColumnProcessUnderKey,
    KeyedColumnFilter,
    KeyedColumnFlatMap,
    KeyedColumnMap,
)
from flinkish.runtime.columns.rolling_reduce import ColumnGroupedReduce
from flinkish.runtime.columns.session_windows import ColumnSessionWindows
from flinkish.runtime.columns.timestamps import (
    ColumnSourceWatermarks,
    ColumnTimestampsAndWatermarks,
)
from flinkish.runtime.columns.triggered_windows import ColumnWindowOperator
from flinkish.runtime.operators.async_wait import AsyncWaitOperator
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.one_input import StreamInOrder
from flinkish.runtime.operators.two_input import (
    CoProcessOperator,
    CoStreamFlatMap,
    CoStreamMap,
    KeyedCoStreamFlatMap,
    KeyedCoStreamMap,
)
from flinkish.runtime.windowing.content_windows import ContentWindowOperator

OperatorFactory = Callable[[OperatorContext, Any], StreamOperator]

_WINDOW_OPERATORS: dict[str, OperatorFactory] = {
    CONTENT_LAYOUT.name: ContentWindowOperator,
    EVICTING_LAYOUT.name: ColumnEvictingWindows,
    SESSION_LAYOUT.name: ColumnSessionWindows,
    GENERAL_LAYOUT.name: ColumnWindowOperator,
}
"""The window operators by the name of the layout, unless it is an ``AlignedLayout``."""


def _window_operator(
    context: OperatorContext, description: WindowOperatorDescription
) -> StreamOperator:
    layout = description.layout
    aligned = isinstance(layout, AlignedLayout)
    kind = AlignedWindowOperator if aligned else _WINDOW_OPERATORS[layout.name]
    return kind(context, description)


_OPERATORS: dict[tuple[type[OperatorDescription], bool], OperatorFactory] = {
    (MapDescription, False): ColumnMap,
    (MapDescription, True): KeyedColumnMap,
    (FilterDescription, False): ColumnFilter,
    (FilterDescription, True): KeyedColumnFilter,
    (FlatMapDescription, False): ColumnFlatMap,
    (FlatMapDescription, True): KeyedColumnFlatMap,
    (InOrderDescription, False): StreamInOrder,
    (ProcessDescription, False): ColumnProcess,
    (ProcessDescription, True): ColumnProcessUnderKey,
    (KeyedProcessDescription, True): KeyedColumnProcess,
    (KeyedReduceDescription, True): ColumnGroupedReduce,
    (CoMapDescription, False): CoStreamMap,
    (CoMapDescription, True): KeyedCoStreamMap,
    (CoFlatMapDescription, False): CoStreamFlatMap,
    (CoFlatMapDescription, True): KeyedCoStreamFlatMap,
    (CoProcessDescription, False): CoProcessOperator,
    (CoProcessDescription, True): KeyedColumnCoProcess,
    (BroadcastProcessDescription, False): ColumnBroadcast,
    (BroadcastProcessDescription, True): KeyedColumnBroadcast,
    (IntervalJoinDescription, True): ColumnIntervalJoin,
    (WindowOperatorDescription, True): _window_operator,
    (TimestampsAndWatermarksDescription, False): ColumnTimestampsAndWatermarks,
    (SourceWatermarksDescription, False): ColumnSourceWatermarks,
    (ArrivalTimeDescription, False): ColumnArrivalTime,
    (AsyncWaitDescription, False): AsyncWaitOperator,
}
"""The operators by the class of the description, and whether they work under a key."""


def register_operator(description: type[OperatorDescription], factory: OperatorFactory) -> None:
    """Let ``factory(context, description)`` create the operator for descriptions of that class.
    Call this in the package of the description: a worker imports the package to unpickle a
    description, and so knows the operator too."""
    _OPERATORS[description, description.keyed] = factory


def create_operator(context: OperatorContext, description: OperatorDescription) -> StreamOperator:
    return _OPERATORS[type(description), description.keyed](context, description)
