"""Descriptions of operators: the function and settings of each as data, without an engine.

``runtime/registry.py`` says which operator runs a description.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from flinkish.api.arguments import instance
from flinkish.api.errors import FlinkishError, InvalidProgramError, UserFunctionError
from flinkish.api.eventtime.arrival_time import ArrivalTimeStrategy, TimeCall, time_call
from flinkish.api.eventtime.watermarks import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkStrategy,
)
from flinkish.api.functions.adapt import check_methods, checked_callable, key_call
from flinkish.api.functions.async_function import AsyncRetryStrategy
from flinkish.api.functions.checkpointed import CheckpointedFunction
from flinkish.api.functions.functions import Function, RichFunction
from flinkish.api.functions.process import KeyedProcessFunction, ProcessFunction
from flinkish.api.plan.state_form import FUNCTION_STATES, StateForm


@dataclass(frozen=True)
class Splits:
    """How the input of an operator is divided into splits: by ``of(element)``, or if that is None
    by markers of the source among the elements. ``changeByTime``: the watermark of a split may
    change, or the split become idle, without an element."""

    of: Callable[[Any], Any] | None
    changeByTime: bool


@dataclass(frozen=True)
class OperatorDescription(ABC):
    """Base of all descriptions.

    ``kind``: the prefix of the uids of such operators, also stored in checkpoints, so it must not
    change even if the class is renamed. It begins with "Keyed" where one class, with a
    ``kindWithoutKeys``, describes an operator both with and without a key. ``name``: the operator's
    default name, as Flink gives it.

    ``keyed``: the operator works under a current key, with keyed state and timers, so its input is
    partitioned by key. A class that always or never has a key does not take it.

    ``stateful``: the operator keeps state from one batch to the next, so it gets a separate stage.
    ``seesTime``: its function may ask for the watermark and the clock, which are known after a
    shuffle; so it gets a stage if it comes before the first shuffle. ``inOrder``: if branches of
    one stream meet again in it, their elements keep the order of that stream.

    ``keepsType``: the output type equals the input type. ``hasFunctionStates``: all its state is
    registered by its function, by name.
    """

    seesTime: ClassVar[bool] = False
    inOrder: ClassVar[bool] = False
    keepsType: ClassVar[bool] = False
    hasFunctionStates: ClassVar[bool] = False
    kindWithoutKeys: ClassVar[str] = ""

    keyed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for function in self.userFunctions:
            if isinstance(function, Function):
                check_methods(function)

    @property
    def kind(self) -> str:
        """The name of such operators in checkpoints."""
        return f"Keyed{self.kindWithoutKeys}" if self.keyed else self.kindWithoutKeys

    @property
    def stateful(self) -> bool:
        """Whether the operator needs a separate stage."""
        return self.keyed or any(isinstance(f, CheckpointedFunction) for f in self.userFunctions)

    @property
    @abstractmethod
    def name(self) -> str:
        """The operator's default name, as Flink gives it."""

    @property
    def stateLayout(self) -> str:
        """The layout of the state, where one class has several; an operator cannot continue from the
        checkpoint of another layout."""
        return ""

    @property
    def stateContents(self) -> str:
        """The kind of entry in the operator's state, where a layout allows several."""
        return ""

    @property
    def seesTimers(self) -> bool:
        """Whether the operator or its function is called when a timer fires."""
        return not self.hasFunctionStates

    def stateForm(self, keys: str = "") -> StateForm:
        """The form of the operator's state, under keys of the type ``keys``."""
        kind = FUNCTION_STATES if self.hasFunctionStates else self.kind
        return StateForm(kind, self.stateLayout, self.stateContents, keys, self.seesTimers)

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        """The operator's user functions: checked for shipping, opened and closed by the
        operator."""
        return ()

    @property
    def drawing(self) -> tuple[str, ...]:
        """Lines that draw what the operator does, for ``env.explain()``."""
        return ()

    @property
    def generatesWatermarks(self) -> bool:
        """Whether the watermarks of its output are its own, whatever those of its input are."""
        return False

    @property
    def lateDataMethod(self) -> str | None:
        """The call that sends late elements to a side output, so that they are not dropped; None if there is none."""
        return None

    @property
    def splits(self) -> Splits | None:
        """The splits of its input, if it has a watermark for each: then a split may be in any key group, as long
        as the whole split is in one."""
        return None


@dataclass(frozen=True)
class FunctionDescription(OperatorDescription):
    """Base of the operators of one function. ``call`` is the plain function, or the method of
    ``function``."""

    function: Function | None
    call: Callable[..., Any]

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call,)


@dataclass(frozen=True)
class MapDescription(FunctionDescription):
    """``DataStream.map``; keyed if a rich function, which may have keyed state, runs on a keyed
    stream."""

    name: ClassVar[str] = "Map"
    kindWithoutKeys: ClassVar[str] = "Map"
    hasFunctionStates: ClassVar[bool] = True


@dataclass(frozen=True)
class InOrderDescription(OperatorDescription):
    """Passes elements on unchanged, with those of several branches of a stream in the stream's
    order."""

    name: ClassVar[str] = "In Order"
    kind: ClassVar[str] = "InOrder"
    inOrder: ClassVar[bool] = True
    keepsType: ClassVar[bool] = True


@dataclass(frozen=True)
class FilterDescription(FunctionDescription):
    """``DataStream.filter``; keyed like ``MapDescription``."""

    name: ClassVar[str] = "Filter"
    kindWithoutKeys: ClassVar[str] = "Filter"
    hasFunctionStates: ClassVar[bool] = True
    keepsType: ClassVar[bool] = True


@dataclass(frozen=True)
class FlatMapDescription(OperatorDescription):
    """``DataStream.flatMap``; ``call(value, out)`` may write to the collector, ``iterate(value)``
    does not; both return an iterable or None, and exactly one of them is set. Keyed like
    ``MapDescription``."""

    name: ClassVar[str] = "Flat Map"
    kindWithoutKeys: ClassVar[str] = "FlatMap"
    hasFunctionStates: ClassVar[bool] = True

    function: Function | None
    call: Callable[[Any, Any], Any] | None
    iterate: Callable[[Any], Iterable[Any]] | None

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (self.function or self.call or self.iterate,)


@dataclass(frozen=True)
class AsyncWaitDescription(FunctionDescription):
    """``AsyncDataStream``; ``timeout`` is in ms."""

    name: ClassVar[str] = "Async Wait Operator"
    kind: ClassVar[str] = "AsyncWait"

    timeout: int
    capacity: int
    ordered: bool
    retries: AsyncRetryStrategy

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (*super().userFunctions, self.retries)


class _GeneratorKind(NamedTuple):
    """The properties of a watermark generator that the planner needs."""

    bound: int | None = None
    silent: bool = False


@dataclass(frozen=True)
class TimestampsAndWatermarksDescription(OperatorDescription):
    """``DataStream.assignTimestampsAndWatermarks``."""

    name: ClassVar[str] = "Timestamps/Watermarks"
    kind: ClassVar[str] = "TimestampsAndWatermarks"
    keepsType: ClassVar[bool] = True

    strategy: WatermarkStrategy[Any]

    def __post_init__(self) -> None:
        fix = "Pass one, such as WatermarkStrategy.forMonotonousTimestamps()."
        instance("assignTimestampsAndWatermarks", self.strategy, WatermarkStrategy, fix)

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        strategy = self.strategy
        return (strategy.generatorSupplier, strategy.timestampAssigner)

    @property
    def stateful(self) -> bool:
        """A generator that is more than a running maximum must see all elements in one task."""
        return self.foldedBound is None and not self._silent

    @property
    def foldedBound(self) -> int | None:
        """The bound in ms, if the watermark is just the highest timestamp - bound - 1: then the
        receivers fold the maximum themselves, and no stage is needed."""
        return self._kind.bound

    @property
    def generatesWatermarks(self) -> bool:
        return not self._silent

    @property
    def _silent(self) -> bool:
        return self._kind.silent

    @cached_property
    def _kind(self) -> _GeneratorKind:
        """Computed once, as the user's function creates the generator."""
        try:
            generator = self.strategy.createWatermarkGenerator()
        except (FlinkishError, KeyboardInterrupt):
            raise
        except BaseException as error:
            method = "createWatermarkGenerator()"
            raise UserFunctionError.of(self.name, None, error, method) from error
        if self.strategy.idleTimeout is not None:
            return _GeneratorKind()
        if isinstance(generator, BoundedOutOfOrdernessWatermarks) and type(generator) in _FOLDED:
            return _GeneratorKind(bound=generator.outOfOrdernessMillis)
        return _GeneratorKind(silent=type(generator) is NoWatermarksGenerator)


@dataclass(frozen=True)
class SourceWatermarksDescription(TimestampsAndWatermarksDescription):
    """A strategy for a source with several splits: ``splitOf(element)`` returns the split; if None,
    the source itself marks it."""

    name: ClassVar[str] = "Source Watermarks"
    kind: ClassVar[str] = "SourceWatermarks"

    splitOf: Callable[[Any], Any] | None

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        return (*super().userFunctions, *(() if self.splitOf is None else (self.splitOf,)))

    @property
    def foldedBound(self) -> int | None:
        """None: the lowest of several running maxima is not a running maximum."""
        return None

    @property
    def splits(self) -> Splits | None:
        return Splits(self.splitOf, changeByTime=self.stateful and self._kind.bound is None)


_FOLDED = (BoundedOutOfOrdernessWatermarks, AscendingTimestampsWatermarks)


# ---------------------------------------------------------------------- one input


def process_description(function: Any) -> ProcessDescription:
    """The description for ``DataStream.process(function)``.

    Raises InvalidProgramError for a function that needs a keyed stream.
    """
    if isinstance(function, KeyedProcessFunction):
        raise InvalidProgramError(
            f"process: {type(function).__name__} is a KeyedProcessFunction, but the stream is not"
            " keyed. Call keyBy(...) before process, or write a ProcessFunction."
        )
    if isinstance(function, ProcessFunction):
        return ProcessDescription(function, function.processElement)
    wanted = "a ProcessFunction or f(value, ctx, out)"
    return ProcessDescription(None, checked_callable("process", function, wanted, 3))


def keyed_process_description(function: Any) -> OperatorDescription:
    """The description for ``KeyedStream.process(function)``."""
    if isinstance(function, ProcessFunction):
        return ProcessDescription(function, function.processElement, keyed=True)
    if isinstance(function, KeyedProcessFunction):
        return KeyedProcessDescription(function, function.processElement)
    wanted = "a KeyedProcessFunction or f(value, ctx, out)"
    return KeyedProcessDescription(None, checked_callable("process", function, wanted, 3))


@dataclass(frozen=True)
class ProcessDescription(FunctionDescription):
    """``process`` of a ProcessFunction; ``call(value, ctx, out)`` is the function itself. On a keyed stream
    it has keyed state, but no timers, as in Flink."""

    name: ClassVar[str] = "Process"
    hasFunctionStates: ClassVar[bool] = True
    seesTime: ClassVar[bool] = True

    @property
    def kind(self) -> str:
        return "ProcessUnderKey" if self.keyed else "Process"


@dataclass(frozen=True)
class KeyedProcessDescription(FunctionDescription):
    """``KeyedStream.process``; without a function, ``call`` is a plain callable, which gets no
    timers."""

    name: ClassVar[str] = "KeyedProcess"
    kind: ClassVar[str] = "KeyedProcess"
    hasFunctionStates: ClassVar[bool] = True

    keyed: bool = field(default=True, init=False)

    function: KeyedProcessFunction[Any, Any, Any] | None

    @property
    def seesTimers(self) -> bool:
        return self.function is not None


@dataclass(frozen=True)
class KeyedReduceDescription(FunctionDescription):
    """``KeyedStream.reduce``, and with ``aggregation`` one of sum, min, max, minBy, maxBy."""

    kind: ClassVar[str] = "KeyedReduce"
    stateContents: ClassVar[str] = "reduced values"
    keepsType: ClassVar[bool] = True

    keyed: bool = field(default=True, init=False)

    aggregation: bool = False

    @property
    def name(self) -> str:
        return "Keyed Aggregation" if self.aggregation else "Keyed Reduce"


_RICH_UNDER_KEY = (MapDescription, FilterDescription, FlatMapDescription, ProcessDescription)


def under_key(operator: OperatorDescription) -> OperatorDescription:
    """``operator`` as it runs on a keyed stream: a rich function gets keyed state there, and a
    function with attributes keeps them."""
    rich = any(map(_keeps_something, operator.userFunctions))
    return replace(operator, keyed=True) if rich and type(operator) in _RICH_UNDER_KEY else operator


def _keeps_something(function: object) -> bool:
    if isinstance(function, (RichFunction, CheckpointedFunction)):
        return True
    return isinstance(function, Function) and bool(getattr(function, "__dict__", None))


# ---------------------------------------------------------------------- arrival time


@dataclass(frozen=True)
class ArrivalTimeDescription(OperatorDescription):
    """``assignTimestampsAndWatermarks`` with an ``ArrivalTimeStrategy``."""

    name: ClassVar[str] = "Arrival Time"
    kind: ClassVar[str] = "ArrivalTime"
    keepsType: ClassVar[bool] = True
    lateDataMethod: ClassVar[str] = "ArrivalTimeStrategy(..., deadLetters=tag)"
    generatesWatermarks: ClassVar[bool] = True
    stateful: ClassVar[bool] = True
    """All elements of a partition are compared with one watermark, so one task must see them."""

    strategy: ArrivalTimeStrategy[Any]

    @property
    def stateContents(self) -> str:
        strategy = self.strategy
        given = {
            "input partition": strategy.inputPartition is not None,
            "substream": strategy.substreamKey is not None,
        }
        each = " and ".join(name for name, is_given in given.items() if is_given)
        return f"one watermark for each {each}" if each else "one watermark"

    @property
    def splits(self) -> Splits | None:
        partition = self.partitionCall
        if partition is None:
            return None
        return Splits(partition, changeByTime=self.strategy.lateArrivalTolerance is not None)

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        strategy = self.strategy
        times = (strategy.timestampAssigner, strategy.arrivalTime)
        own = (*times, strategy.substreamKey, strategy.inputPartition)
        return tuple(function for function in own if function is not None)

    @property
    def timestampCall(self) -> TimeCall | None:
        """The event time as ``f(element, timestamp)``."""
        return time_call("timestampAssigner", self.strategy.timestampAssigner)

    @property
    def arrivalCall(self) -> TimeCall | None:
        """The arrival time as ``f(element, timestamp)``."""
        return time_call("arrivalTime", self.strategy.arrivalTime)

    @property
    def substreamCall(self) -> Callable[[Any], Any] | None:
        """The substream key as a callable."""
        key = self.strategy.substreamKey
        return None if key is None else key_call(key)

    @property
    def partitionCall(self) -> Callable[[Any], Any] | None:
        """The input partition as a callable."""
        partition = self.strategy.inputPartition
        return None if partition is None else key_call(partition)
