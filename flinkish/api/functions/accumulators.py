"""Accumulators: counts and lists that a job's tasks add to, and that the job's result reports."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from operator import add
from typing import Any, Generic, Self, TypeVar

from typing_extensions import override

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.type_variables import R, V


class Accumulator(ABC, Generic[V, R]):
    """Adds values up over all tasks of a job (Flink: ``Accumulator``).

    Register it in ``open`` with ``getRuntimeContext().addAccumulator(name, accumulator)``; when the job has ended,
    ``JobExecutionResult.getAccumulatorResult(name)`` returns the value merged over all tasks. As in
    Flink an accumulator is not state: values that a task had not reported when it failed are lost.
    """

    @abstractmethod
    def add(self, value: V) -> None:
        """Add a value."""

    @abstractmethod
    def getLocalValue(self) -> R:
        """The value that this task has accumulated."""

    @abstractmethod
    def resetLocal(self) -> None:
        """Forget what this task has added."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Merge in ``other``, the accumulator of another task."""


SimpleAccumulator = Accumulator
"""An accumulator whose values and result are of one type (Flink: ``SimpleAccumulator``)."""

N = TypeVar("N", int, float)
A = TypeVar("A", bound="Accumulator[Any, Any]")


def _number(accumulator: Accumulator[Any, Any], value: N) -> N:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise IllegalArgumentError(
            f"{type(accumulator).__name__}.add: {shown(value)} is not a number. Pass an int or a float."
        )
    return value


def _of_one_kind(accumulator: A, other: A) -> A:
    kind = type(accumulator)
    if not isinstance(other, kind):
        raise IllegalArgumentError(
            f"{kind.__name__}.merge: {shown(other)} is not a {kind.__name__}. Pass one."
        )
    return other


class _Number(Accumulator[N, N], Generic[N]):
    """Keeps one number, which ``_joined`` combines with each value added: to their sum, maximum or
    minimum."""

    _start: N
    _joined: Any

    def __init__(self, value: N | None = None) -> None:
        self._value: N = self._start if value is None else value

    @override
    def add(self, value: N) -> None:
        self._value = self._joined(self._value, _number(self, value))

    @override
    def getLocalValue(self) -> N:
        return self._value

    @override
    def resetLocal(self) -> None:
        self._value = self._start

    @override
    def merge(self, other: Self) -> None:
        self._value = self._joined(self._value, _of_one_kind(self, other)._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self._value}"


class LongCounter(_Number[int]):
    """Adds up whole numbers (Flink: ``LongCounter``).

    >>> counter = LongCounter()
    >>> counter.add(2)
    >>> counter.add(3)
    >>> counter.getLocalValue()
    5
    """

    _start = 0
    _joined = staticmethod(add)


class IntCounter(LongCounter):
    """Adds up whole numbers (Flink: ``IntCounter``)."""


class DoubleCounter(_Number[float]):
    """Adds up numbers (Flink: ``DoubleCounter``)."""

    _start = 0.0
    _joined = staticmethod(add)


class LongMaximum(_Number[int]):
    """Keeps the highest whole number, the smallest long if there is none (Flink: ``LongMaximum``)."""

    _start = -(2**63)
    _joined = staticmethod(max)


class IntMaximum(LongMaximum):
    """Keeps the highest whole number, the smallest int if there is none (Flink: ``IntMaximum``)."""

    _start = -(2**31)


class DoubleMaximum(_Number[float]):
    """Keeps the highest number, minus infinity if there is none (Flink: ``DoubleMaximum``)."""

    _start = -math.inf
    _joined = staticmethod(max)


class LongMinimum(_Number[int]):
    """Keeps the lowest whole number, the largest long if there is none (Flink: ``LongMinimum``)."""

    _start = 2**63 - 1
    _joined = staticmethod(min)


class IntMinimum(LongMinimum):
    """Keeps the lowest whole number, the largest int if there is none (Flink: ``IntMinimum``)."""

    _start = 2**31 - 1


class DoubleMinimum(_Number[float]):
    """Keeps the lowest number, infinity if there is none (Flink: ``DoubleMinimum``)."""

    _start = math.inf
    _joined = staticmethod(min)


class AverageAccumulator(Accumulator[float, float]):
    """The average of numbers, 0 if there is none (Flink: ``AverageAccumulator``)."""

    def __init__(self) -> None:
        self.resetLocal()

    @override
    def add(self, value: float) -> None:
        self._sum += _number(self, value)
        self._count += 1

    @override
    def getLocalValue(self) -> float:
        return self._sum / self._count if self._count else 0.0

    @override
    def resetLocal(self) -> None:
        self._count, self._sum = 0, 0.0

    @override
    def merge(self, other: Self) -> None:
        self._count += _of_one_kind(self, other)._count
        self._sum += other._sum


class ListAccumulator(Accumulator[V, list[V]]):
    """Collects values, those of different tasks in any order (Flink: ``ListAccumulator``).

    The driver keeps them all: write what may become large to a sink.
    """

    def __init__(self) -> None:
        self.resetLocal()

    @override
    def add(self, value: V) -> None:
        self._values.append(value)

    @override
    def getLocalValue(self) -> list[V]:
        return self._values

    @override
    def resetLocal(self) -> None:
        self._values: list[V] = []

    @override
    def merge(self, other: Self) -> None:
        self._values.extend(_of_one_kind(self, other)._values)


SerializedListAccumulator = ListAccumulator
"""``ListAccumulator``: values are pickled in either (Flink: ``SerializedListAccumulator``)."""
