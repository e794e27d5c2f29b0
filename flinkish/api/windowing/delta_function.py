"""``DeltaFunction``: the distance between two elements, for DeltaTrigger and DeltaEvictor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar, Union

from flinkish.api.callables import checked_callable
from flinkish.api.functions import Function, declares_methods

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


@declares_methods
class DeltaFunction(Function, ABC, Generic[T_contra]):
    """The distance between two elements (Flink: ``DeltaFunction``)."""

    @abstractmethod
    def getDelta(self, oldDataPoint: T_contra, newDataPoint: T_contra) -> float:
        """How far ``newDataPoint`` is from ``oldDataPoint``."""


DeltaLike = Union[DeltaFunction[T], Callable[[T, T], float]]


def delta_call(owner: str, function: DeltaLike[T]) -> Callable[[T, T], float]:
    """The distance itself."""
    if isinstance(function, DeltaFunction):
        return function.getDelta
    return checked_callable(owner, function, "a DeltaFunction or f(old, new)", 2)
