"""Says which operator runs a description, in one table for all descriptions.

The descriptions of the core are in ``api/plan``, and their operators in ``runtime/operators`` and
``runtime/windowing``. Operators that also take runs of columns are in ``runtime/columns``. Other
packages, such as those in ``compat``, register their own operators with ``register_operator``; the
core imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan import operators as plan
from flinkish.api.plan import two_input as plan_of_two
from flinkish.api.plan import window_operator as plan_of_windows
from flinkish.runtime.columns import keyed_process, map_like, timestamps
from flinkish.runtime.columns.aligned_windows import AlignedWindowOperator
from flinkish.runtime.columns.arrival_time import ColumnArrivalTime
from flinkish.runtime.columns.evicting_windows import ColumnEvictingWindows
from flinkish.runtime.columns.interval_join import ColumnIntervalJoin
from flinkish.runtime.columns.rolling_reduce import ColumnGroupedReduce
from flinkish.runtime.columns.session_windows import ColumnSessionWindows
from flinkish.runtime.columns.triggered_windows import ColumnWindowOperator
from flinkish.runtime.operators import two_input
from flinkish.runtime.operators.async_wait import AsyncWaitOperator
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.one_input import StreamInOrder
from flinkish.runtime.windowing.content_windows import ContentWindowOperator

OperatorFactory = Callable[[OperatorContext, Any], StreamOperator]

_WINDOW_OPERATORS: dict[str, OperatorFactory] = {
    plan_of_windows.CONTENT_LAYOUT.name: ContentWindowOperator,
    plan_of_windows.EVICTING_LAYOUT.name: ColumnEvictingWindows,
    plan_of_windows.SESSION_LAYOUT.name: ColumnSessionWindows,
    plan_of_windows.GENERAL_LAYOUT.name: ColumnWindowOperator,
}
"""The window operators by the name of the layout, unless it is an ``AlignedLayout``."""


def _window_operator(
    context: OperatorContext, description: plan_of_windows.WindowOperatorDescription
) -> StreamOperator:
    layout = description.layout
    aligned = isinstance(layout, plan_of_windows.AlignedLayout)
    kind = AlignedWindowOperator if aligned else _WINDOW_OPERATORS[layout.name]
    return kind(context, description)


_OPERATORS: dict[tuple[type[plan.OperatorDescription], bool], OperatorFactory] = {
    (plan.MapDescription, False): map_like.ColumnMap,
    (plan.MapDescription, True): map_like.KeyedColumnMap,
    (plan.FilterDescription, False): map_like.ColumnFilter,
    (plan.FilterDescription, True): map_like.KeyedColumnFilter,
    (plan.FlatMapDescription, False): map_like.ColumnFlatMap,
    (plan.FlatMapDescription, True): map_like.KeyedColumnFlatMap,
    (plan.InOrderDescription, False): lambda context, _: StreamInOrder(context),
    (plan.ProcessDescription, False): map_like.ColumnProcess,
    (plan.ProcessDescription, True): map_like.ColumnProcessUnderKey,
    (plan.KeyedProcessDescription, True): keyed_process.KeyedColumnProcess,
    (plan.KeyedReduceDescription, True): ColumnGroupedReduce,
    (plan_of_two.CoMapDescription, False): two_input.CoStreamMap,
    (plan_of_two.CoMapDescription, True): two_input.KeyedCoStreamMap,
    (plan_of_two.CoFlatMapDescription, False): two_input.CoStreamFlatMap,
    (plan_of_two.CoFlatMapDescription, True): two_input.KeyedCoStreamFlatMap,
    (plan_of_two.CoProcessDescription, False): two_input.CoProcessOperator,
    (plan_of_two.CoProcessDescription, True): keyed_process.KeyedColumnCoProcess,
    (plan_of_two.BroadcastProcessDescription, False): map_like.ColumnBroadcast,
    (plan_of_two.BroadcastProcessDescription, True): keyed_process.KeyedColumnBroadcast,
    (plan_of_two.IntervalJoinDescription, True): ColumnIntervalJoin,
    (plan_of_windows.WindowOperatorDescription, True): _window_operator,
    (plan.TimestampsAndWatermarksDescription, False): timestamps.ColumnTimestampsAndWatermarks,
    (plan.SourceWatermarksDescription, False): timestamps.ColumnSourceWatermarks,
    (plan.ArrivalTimeDescription, False): ColumnArrivalTime,
    (plan.AsyncWaitDescription, False): AsyncWaitOperator,
}
"""The operators by the class of the description, and whether they work under a key."""


def register_operator(
    description: type[plan.OperatorDescription], factory: OperatorFactory
) -> None:
    """Let ``factory(context, description)`` create the operator for descriptions of that class.
    Call this in the package of the description: a worker imports the package to unpickle a
    description, and so knows the operator too."""
    _OPERATORS[description, description.keyed] = factory


def create_operator(
    context: OperatorContext, description: plan.OperatorDescription
) -> StreamOperator:
    return _OPERATORS[type(description), description.keyed](context, description)
