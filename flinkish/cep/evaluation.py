"""Evaluates conditions: each condition on the event alone is called at most once for an event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flinkish.api.errors import FlinkishError, UserFunctionError, said_by, shown
from flinkish.cep.computation_state import ComputationState
from flinkish.cep.conditions import (
    Always,
    And,
    Condition,
    ConditionContext,
    InstanceOf,
    Not,
    Or,
    UserCondition,
)
from flinkish.cep.shared_buffer import SharedBuffer
from flinkish.runtime.records.user_code import is_interrupt

Verdicts: TypeAlias = "Sequence[bool | None]"
"""The results of the conditions on an event alone, None for those not evaluated yet."""


@dataclass(eq=False, slots=True)
class Event:
    """An event on its way through the NFA. ``verdicts`` holds the results of the conditions on the
    event alone, None for those not evaluated yet."""

    value: Any
    timestamp: int
    verdicts: list[bool | None]


@dataclass(eq=False, slots=True)
class MatchContext(ConditionContext[Any]):
    """The context of conditions for one partial match and one event. The events of the match are
    looked up when a condition first asks for them."""

    event: Event
    _state: ComputationState
    _buffer: SharedBuffer
    _clock: Callable[[], int]
    _events: dict[str, list[Any]] | None = None

    def getEventsForPattern(self, name: str) -> Iterable[Any]:
        if self._events is None:
            match = self._buffer.extractOne(self._state.node, self._state.version)
            self._events = self._buffer.values(match)
        return list(self._events.get(name, ()))

    def timestamp(self) -> int:
        return self.event.timestamp

    def currentProcessingTime(self) -> int:
        return self._clock()


Evaluation: TypeAlias = "Callable[[MatchContext], bool] | None"
"""A function that says whether a condition holds; None if it always does."""


class Evaluator:
    """Converts conditions to functions. Errors name ``operator``."""

    def __init__(self, operator: str, conditions: Sequence[UserCondition]) -> None:
        self._operator = operator
        self._numbers = {id(condition): number for number, condition in enumerate(conditions)}

    def evaluation(self, condition: Condition) -> Evaluation:
        if isinstance(condition, Always):
            return None
        return self._function(condition)

    def _function(self, condition: Condition) -> Callable[[MatchContext], bool]:
        if isinstance(condition, UserCondition):
            return self._of_user(condition)
        if isinstance(condition, InstanceOf):
            subtype = condition.subtype
            return lambda context: isinstance(context.event.value, subtype)
        if isinstance(condition, Not):
            denied = self._function(condition.of)
            return lambda context: not denied(context)
        if isinstance(condition, And):
            left, right = self._function(condition.left), self._function(condition.right)
            return lambda context: left(context) and right(context)
        if isinstance(condition, Or):
            first, second = self._function(condition.left), self._function(condition.right)
            return lambda context: first(context) or second(context)
        return lambda context: True

    def _of_user(self, condition: UserCondition) -> Callable[[MatchContext], bool]:
        call = condition.call
        if condition.iterative:

            def ask(context: MatchContext) -> bool:
                try:
                    return bool(call(context.event.value, context))
                except BaseException as error:
                    raise self._named(error, condition, context.event.value) from error

            return ask
        number = self._numbers[id(condition)]

        def ask_once(context: MatchContext) -> bool:
            event = context.event
            verdict = event.verdicts[number]
            if verdict is None:
                try:
                    verdict = event.verdicts[number] = bool(call(event.value))
                except BaseException as error:
                    raise self._named(error, condition, event.value) from error
            return verdict

        return ask_once

    def _named(
        self, error: BaseException, condition: UserCondition, value: object
    ) -> BaseException:
        """``error`` with the stage and the element."""
        if isinstance(error, FlinkishError) or is_interrupt(error):
            return error
        where = f"{condition.method}(...) of the stage {condition.stage!r}, on the element {shown(value)}"
        return UserFunctionError(self._operator, shown(value), said_by(error), where)
