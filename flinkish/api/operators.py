"""What each operator is to do, as data: the function and the settings, none of the running.

``runtime.operators.factory`` makes the running operator of a description.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from flinkish.api.arguments import instance
from flinkish.api.callables import check_methods
from flinkish.api.functions import Function
from flinkish.api.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkStrategy,
)


@dataclass(frozen=True)
class OperatorDescription(ABC):
    """Base of all descriptions.

    ``kind``: begins the uids of such operators and is noted in checkpoints, so it stays what it is whatever
    becomes of the class.
    ``keyed``: works under a current key, with keyed state and timers, so its input is partitioned
    by key. ``stateful``: keeps something from one batch to the next, so it gets a stage of its own.
    ``seesTime``: its function may ask for the watermark and the clock, which are known after a
    shuffle; so it gets a stage if it comes before the first one. ``inOrder``: where branches of one
    stream meet again in it, their elements come in the order of that stream. ``keepsType``: what it gives is of
    the type of what it gets.
    """

    kind: ClassVar[str]
    keyed: ClassVar[bool] = False
    seesTime: ClassVar[bool] = False
    inOrder: ClassVar[bool] = False
    keepsType: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for function in self.userFunctions:
            if isinstance(function, Function):
                check_methods(function)

    @property
    def stateful(self) -> bool:
        """Whether the operator needs a stage of its own."""
        return self.keyed

    @property
    @abstractmethod
    def name(self) -> str:
        """The operator's default name, as Flink gives it."""

    @property
    def stateLayout(self) -> str:
        """Tells apart the ways in which descriptions of one class keep their state: a checkpoint of
        one is no good to the other."""
        return ""

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        """The user's functions in it: checked for shipping, opened and closed by the operator."""
        return ()


@dataclass(frozen=True)
class MapDescription(OperatorDescription):
    """``DataStream.map``."""

    kind: ClassVar[str] = "Map"

    function: Function | None
    call: Callable[[Any], Any]

    @property
    def name(self) -> str:
        return "Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class InOrderDescription(OperatorDescription):
    """Hands elements on as they come, those of several branches in order."""

    kind: ClassVar[str] = "InOrder"

    inOrder: ClassVar[bool] = True
    keepsType: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "In Order"


@dataclass(frozen=True)
class FilterDescription(OperatorDescription):
    """``DataStream.filter``."""

    kind: ClassVar[str] = "Filter"

    keepsType: ClassVar[bool] = True

    function: Function | None
    call: Callable[[Any], bool]

    @property
    def name(self) -> str:
        return "Filter"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class FlatMapDescription(OperatorDescription):
    """``DataStream.flatMap``; ``call(value, out)`` may write to the collector,
    ``iterate(value)`` does not; both give an iterable or None, and just one of them is there."""

    kind: ClassVar[str] = "FlatMap"

    function: Function | None
    call: Callable[[Any, Any], Any] | None
    iterate: Callable[[Any], Iterable[Any]] | None

    @property
    def name(self) -> str:
        return "Flat Map"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call or self.iterate,)


class _GeneratorKind(NamedTuple):
    """What the planning of a job wants to know of a watermark generator."""

    bound: int | None = None
    silent: bool = False


@dataclass(frozen=True)
class TimestampsAndWatermarksDescription(OperatorDescription):
    """``DataStream.assignTimestampsAndWatermarks``."""

    kind: ClassVar[str] = "TimestampsAndWatermarks"

    keepsType: ClassVar[bool] = True

    strategy: WatermarkStrategy[Any]

    def __post_init__(self) -> None:
        mend = "Pass one, such as WatermarkStrategy.forMonotonousTimestamps()."
        instance("assignTimestampsAndWatermarks", self.strategy, WatermarkStrategy, mend)

    @property
    def name(self) -> str:
        return "Timestamps/Watermarks"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        strategy = self.strategy
        return (strategy.generatorSupplier, strategy.timestampAssigner)

    @property
    def stateful(self) -> bool:
        """A generator that is more than a running maximum sees all elements in one place."""
        return self.foldedBound is None and not self._silent

    @property
    def foldedBound(self) -> int | None:
        """The bound in ms, if the watermark is the highest timestamp - bound - 1 and no more: then
        the receivers fold the maximum themselves, and no stage is needed."""
        return self._kind.bound

    @property
    def _silent(self) -> bool:
        return self._kind.silent

    @cached_property
    def _kind(self) -> _GeneratorKind:
        """Found once: the generator is made by the user's function."""
        generator = self.strategy.createWatermarkGenerator()
        if self.strategy.idleTimeout is not None:
            return _GeneratorKind()
        if isinstance(generator, BoundedOutOfOrdernessWatermarks) and type(generator) in _FOLDED:
            return _GeneratorKind(bound=generator.outOfOrdernessMillis)
        return _GeneratorKind(silent=type(generator) is NoWatermarksGenerator)


@dataclass(frozen=True)
class SourceWatermarksDescription(TimestampsAndWatermarksDescription):
    """A strategy given to a source of several splits: ``splitOf(element)`` tells which."""

    kind: ClassVar[str] = "SourceWatermarks"

    splitOf: Callable[[Any], Any]

    @property
    def name(self) -> str:
        return "Source Watermarks"

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (*super().userFunctions, self.splitOf)

    @property
    def foldedBound(self) -> int | None:
        """None: the lowest of several running maxima is not a running maximum."""
        return None


_FOLDED = (BoundedOutOfOrdernessWatermarks, AscendingTimestampsWatermarks)
