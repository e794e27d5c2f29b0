"""The conditions of a stage: the classes that a user implements, and how conditions are combined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Union

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import checked_callable, one_result, positional_arity, takes
from flinkish.api.functions.functions import FilterFunction, Function, RichFunction

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class ConditionContext(ABC, Generic[T]):
    """The context of a condition: the match so far, and the time (Flink:
    ``IterativeCondition.Context``)."""

    __slots__ = ()

    @abstractmethod
    def getEventsForPattern(self, name: str) -> Iterable[T]:
        """The events that the stage ``name`` has accepted for the partial match, in their order;
        none if it has not accepted an event yet."""

    @abstractmethod
    def timestamp(self) -> int:
        """The timestamp of the event in ms; in processing time, the clock as the event arrived."""

    @abstractmethod
    def currentProcessingTime(self) -> int:
        """The processing-time clock, in ms."""


class IterativeCondition(Function, ABC, Generic[T]):
    """A condition that looks at the events accepted before (Flink: ``IterativeCondition``).

    This one accepts an amount as long as the sum stays below 100:

    >>> class BelowHundred(IterativeCondition[int]):
    ...     def filter(self, value, ctx):
    ...         return sum(ctx.getEventsForPattern("amounts")) + value < 100

    A plain function ``f(event, ctx)`` does the same.
    """

    Context = ConditionContext

    @abstractmethod
    def filter(self, value: T, ctx: ConditionContext[T]) -> bool:
        """Whether the stage accepts ``value``. It is called once for each partial match that waits in
        the stage, so it must have no side effects."""


class RichIterativeCondition(IterativeCondition[T], RichFunction):
    """An iterative condition with ``open`` and ``close`` (Flink: ``RichIterativeCondition``). As in
    Flink, its runtime context has no keyed state."""


class SimpleCondition(FilterFunction[T_contra]):
    """A condition on the event alone (Flink: ``SimpleCondition``). A plain function ``f(event)`` does the
    same, and so does any FilterFunction.

    >>> class Large(SimpleCondition[int]):
    ...     def filter(self, value):
    ...         return value > 100
    """

    @staticmethod
    def of(filter: Callable[[T], bool]) -> SimpleCondition[T]:  # noqa: A002 - Flink's name
        """The condition that calls ``filter(event)``."""
        return _FilterCondition(filter)


class _FilterCondition(SimpleCondition[T]):
    def __init__(self, function: Callable[[T], bool]) -> None:
        call = function.filter if isinstance(function, FilterFunction) else function
        self._call: Callable[[T], bool] = checked_callable(
            "SimpleCondition.of", call, "a function f(event)", 1
        )

    def filter(self, value: T) -> bool:
        return self._call(value)


ConditionLike = Union[
    IterativeCondition[T],
    FilterFunction[T],
    Callable[[T], bool],
    Callable[[T, ConditionContext[T]], bool],
]
"""The types that ``where``, ``or_`` and ``until`` accept."""


@dataclass(frozen=True, eq=False)
class UserCondition:
    """A user's condition. ``method`` is the method that added it to the stage named ``stage``;
    ``iterative``: whether ``call`` takes the context too."""

    stage: str
    method: str
    call: Callable[..., bool]
    iterative: bool
    function: Any


@dataclass(frozen=True, eq=False)
class InstanceOf:
    """Holds for instances of a class (Flink: ``SubtypeCondition``)."""

    subtype: type[Any]


@dataclass(frozen=True, eq=False)
class And:
    """Holds if both do; ``right`` is evaluated only if ``left`` holds."""

    left: Condition
    right: Condition


@dataclass(frozen=True, eq=False)
class Or:
    """Holds if either does; ``right`` is evaluated only if ``left`` does not hold."""

    left: Condition
    right: Condition


@dataclass(frozen=True, eq=False)
class Not:
    """Holds if ``of`` does not."""

    of: Condition


@dataclass(frozen=True, eq=False)
class Always:
    """Holds for every event."""


Condition = Union[UserCondition, InstanceOf, And, Or, Not, Always]

ALWAYS = Always()


def negated(condition: Condition) -> Condition:
    """The condition that holds where ``condition`` does not."""
    return condition.of if isinstance(condition, Not) else Not(condition)


def parts_of(condition: Condition) -> Iterable[Condition]:
    """The conditions that ``condition`` combines, or itself if it combines none."""
    if isinstance(condition, (And, Or)):
        yield from parts_of(condition.left)
        yield from parts_of(condition.right)
    elif isinstance(condition, Not):
        yield from parts_of(condition.of)
    else:
        yield condition


def test_of(method: str, stage: str, condition: object) -> UserCondition:
    """The condition that the user passed to ``method`` of the stage.

    Raises InvalidProgramError if it is not a condition, or has other parameters than one.
    """
    for kind, iterative, parameters, other in (
        (IterativeCondition, True, "value, ctx", SimpleCondition),
        (FilterFunction, False, "value", IterativeCondition),
    ):
        if isinstance(condition, kind):
            call = condition.filter
            if not takes(call, 2 if iterative else 1):
                raise InvalidProgramError(
                    f"{method}: {type(condition).__name__}.filter cannot be called with {parameters}. Write"
                    f" def filter(self, {parameters}), or derive the class from {other.__name__}."
                )
            one_result(method, call)
            return UserCondition(stage, method, call, iterative, condition)
    if isinstance(condition, type):
        raise InvalidProgramError(
            f"{method}: {shown(condition)} is a class. Pass an instance of it, or use subtype(...) to"
            " accept the instances of a class."
        )
    wanted = "a condition, f(event) or f(event, ctx)"
    function = checked_callable(method, condition, wanted, 1, 2)
    one_result(method, function)
    return UserCondition(stage, method, function, positional_arity(function) == 2, function)
