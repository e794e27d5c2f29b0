"""Which operator does what the descriptions of windows and of time by policies say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.api.plan.operators import OperatorDescription
from flinkish.compat.storm.operator import PolicyWindowOperator
from flinkish.compat.storm.windows import PolicyWindowDescription
from flinkish.compat.streaminsight.advance_time import AdvanceTimeDescription
from flinkish.compat.streaminsight.advance_time_operator import AdvanceTimeOperator
from flinkish.compat.streaminsight.lifetime_operators import (
    LifetimeChangeOperator,
    LifetimeWindowOperator,
)
from flinkish.compat.streaminsight.lifetimes import LifetimeChangeDescription
from flinkish.compat.streaminsight.windows import LifetimeWindowDescription
from flinkish.runtime.operators.base import OperatorContext, StreamOperator

POLICY_OPERATORS: dict[
    type[OperatorDescription], Callable[[OperatorContext, Any], StreamOperator]
] = {
    AdvanceTimeDescription: AdvanceTimeOperator,
    LifetimeChangeDescription: LifetimeChangeOperator,
    LifetimeWindowDescription: LifetimeWindowOperator,
    PolicyWindowDescription: PolicyWindowOperator,
}
