"""Which operator does what the descriptions of windows and of time by policies say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.advance_time import AdvanceTimeDescription
from flinkish.api.lifetime_changes import LifetimeChangeDescription
from flinkish.api.lifetime_windows import LifetimeWindowDescription
from flinkish.api.operators import OperatorDescription
from flinkish.api.policy_windows import PolicyWindowDescription
from flinkish.runtime.operators.advance_time_operator import AdvanceTimeOperator
from flinkish.runtime.operators.base import OperatorContext, StreamOperator
from flinkish.runtime.operators.lifetime_change_operator import LifetimeChangeOperator
from flinkish.runtime.windowing.lifetime_window_operator import LifetimeWindowOperator
from flinkish.runtime.windowing.policy_window_operator import PolicyWindowOperator

POLICY_OPERATORS: dict[
    type[OperatorDescription], Callable[[OperatorContext, Any], StreamOperator]
] = {
    AdvanceTimeDescription: AdvanceTimeOperator,
    LifetimeChangeDescription: LifetimeChangeOperator,
    LifetimeWindowDescription: LifetimeWindowOperator,
    PolicyWindowDescription: PolicyWindowOperator,
}
