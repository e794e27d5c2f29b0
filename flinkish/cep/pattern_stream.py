"""``CEP.pattern`` and the ``PatternStream`` that it returns."""

from __future__ import annotations

import warnings
from typing import Any, Generic, TypeVar, overload

from flinkish.api.arguments import instance
from flinkish.api.errors import InvalidProgramError, UnboundedPatternWarning, shown
from flinkish.api.output_tag import OutputTag, checked_tag
from flinkish.api.streams.data_stream import DataStream, SingleOutputStreamOperator
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import constant_key
from flinkish.api.types.type_info import TypeInformation
from flinkish.cep.compiler import compile_pattern
from flinkish.cep.description import (
    CepDescription,
    MatchCalls,
    comparison,
    flat_select_calls,
    process_calls,
    select_calls,
    with_flat_timeout,
    with_timeout,
)
from flinkish.cep.functions import (
    EventComparatorLike,
    PatternFlatSelectLike,
    PatternFlatTimeoutLike,
    PatternProcessLike,
    PatternSelectLike,
    PatternTimeoutLike,
)
from flinkish.cep.pattern import Pattern

T = TypeVar("T")
R = TypeVar("R")
L = TypeVar("L")


class CEP:
    """Matches patterns on streams (Flink: ``CEP``)."""

    @staticmethod
    def pattern(
        input: DataStream[T],  # noqa: A002 - Flink's name
        pattern: Pattern[T, Any],
        comparator: EventComparatorLike[T] | None = None,
    ) -> PatternStream[T]:
        """Match ``pattern`` on ``input``: on the elements of each key separately if it is keyed,
        else on all elements in one task.

        The elements are matched in the order of their timestamps. ``comparator``, an
        EventComparator or ``f(a, b)``, orders those with the same timestamp; without one they keep
        their order.
        """
        instance("CEP.pattern: input", input, DataStream, "Pass the stream first.")
        fix = 'Pass one, such as Pattern[Event].begin("start").where(...).'
        instance("CEP.pattern: pattern", pattern, Pattern, fix)
        compare = None if comparator is None else comparison(comparator)
        return PatternStream(input, pattern, {"comparator": compare})


class PatternStream(Generic[T]):
    """A stream with a pattern, whose matches are turned into results (Flink: ``PatternStream``).

    >>> from flinkish import StreamExecutionEnvironment
    >>> env = StreamExecutionEnvironment.getExecutionEnvironment()
    >>> amounts = env.fromElements(3, 700, 5)
    >>> pattern = (
    ...     Pattern[int].begin("small").where(lambda amount: amount < 10)
    ...     .next("large").where(lambda amount: amount > 500).within(60_000)
    ... )
    >>> CEP.pattern(amounts, pattern).select(lambda match: match["large"][0])
    SingleOutputStreamOperator[Pickled] of 'GlobalCepOperator'
    """

    def __init__(
        self, stream: DataStream[Any], pattern: Pattern[Any, Any], settings: dict[str, Any]
    ) -> None:
        self._stream = stream
        self._pattern = pattern
        self._settings = settings
        """Fields of the CepDescription."""

    # ------------------------------------------------------------------ settings

    def inEventTime(self) -> PatternStream[T]:
        """Match by the timestamps of the elements, each when the watermark has reached it. That is
        the default."""
        return self._with(inProcessingTime=False)

    def inProcessingTime(self) -> PatternStream[T]:
        """Match by the clock, each element as it arrives."""
        return self._with(inProcessingTime=True)

    def sideOutputLateData(self, lateDataOutputTag: OutputTag[T]) -> PatternStream[T]:
        """Send elements that the watermark has passed to that side output, instead of counting and
        dropping them."""
        tag = checked_tag("sideOutputLateData", lateDataOutputTag)
        return self._with(lateDataOutputTag=tag)

    def _with(self, **setting: Any) -> PatternStream[T]:
        return PatternStream(self._stream, self._pattern, {**self._settings, **setting})

    # ------------------------------------------------------------------ results

    @overload
    def select(
        self,
        patternSelectFunction: PatternSelectLike[T, R],
        outTypeInfo: TypeInformation[R] | None = None,
        /,
        *,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def select(
        self,
        timedOutPartialMatchesTag: OutputTag[L],
        patternTimeoutFunction: PatternTimeoutLike[T, L],
        patternSelectFunction: PatternSelectLike[T, R],
        /,
        *,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def select(
        self,
        timedOutPartialMatchesTag: OutputTag[L],
        patternTimeoutFunction: PatternTimeoutLike[T, L],
        outTypeInfo: TypeInformation[R],
        patternSelectFunction: PatternSelectLike[T, R],
        /,
    ) -> SingleOutputStreamOperator[R]: ...

    def select(
        self, *arguments: Any, outputType: TypeInformation[Any] | None = None
    ) -> SingleOutputStreamOperator[Any]:
        """One result for each match: ``select(f)`` with a PatternSelectFunction or ``f(match)``.

        ``select(tag, timeoutFunction, f)`` also sends one result for each partial match that takes
        longer than ``within`` to the side output ``tag``: that of a PatternTimeoutFunction or
        ``timeoutFunction(match, timestamp)``. A type of the results may come where Flink has it.
        """
        given, kind = _without_type("select", arguments, outputType)
        if len(given) == 1:
            return self._build(select_calls(given[0]), kind)
        tag, timeout, function = given
        calls = with_timeout(select_calls(function), checked_tag("select", tag), timeout)
        return self._build(calls, kind)

    @overload
    def flatSelect(
        self,
        patternFlatSelectFunction: PatternFlatSelectLike[T, R],
        outTypeInfo: TypeInformation[R] | None = None,
        /,
        *,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def flatSelect(
        self,
        timedOutPartialMatchesTag: OutputTag[L],
        patternFlatTimeoutFunction: PatternFlatTimeoutLike[T, L],
        patternFlatSelectFunction: PatternFlatSelectLike[T, R],
        /,
        *,
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]: ...

    @overload
    def flatSelect(
        self,
        timedOutPartialMatchesTag: OutputTag[L],
        patternFlatTimeoutFunction: PatternFlatTimeoutLike[T, L],
        outTypeInfo: TypeInformation[R],
        patternFlatSelectFunction: PatternFlatSelectLike[T, R],
        /,
    ) -> SingleOutputStreamOperator[R]: ...

    def flatSelect(
        self, *arguments: Any, outputType: TypeInformation[Any] | None = None
    ) -> SingleOutputStreamOperator[Any]:
        """Any number of results for each match: ``flatSelect(f)`` with a PatternFlatSelectFunction,
        ``f(match)`` or ``f(match, out)``.

        ``flatSelect(tag, timeoutFunction, f)`` also sends results for each partial match that takes
        longer than ``within`` to the side output ``tag``: those of a PatternFlatTimeoutFunction or
        ``timeoutFunction(match, timestamp[, out])``.
        """
        given, kind = _without_type("flatSelect", arguments, outputType)
        if len(given) == 1:
            return self._build(flat_select_calls(given[0]), kind)
        tag, timeout, function = given
        checked = checked_tag("flatSelect", tag)
        return self._build(with_flat_timeout(flat_select_calls(function), checked, timeout), kind)

    def process(
        self,
        patternProcessFunction: PatternProcessLike[T, R],
        outputType: TypeInformation[R] | None = None,
    ) -> SingleOutputStreamOperator[R]:
        """Pass each match to a PatternProcessFunction or ``f(match, ctx, out)``. A function that is
        also a TimedOutPartialMatchHandler is called for the partial matches that take longer than
        ``within`` too."""
        return self._build(process_calls(patternProcessFunction), outputType)

    def _build(
        self, calls: MatchCalls, outputType: TypeInformation[Any] | None
    ) -> SingleOutputStreamOperator[Any]:
        compiled = compile_pattern(self._pattern)
        if not compiled.isBounded:
            warnings.warn(UnboundedPatternWarning(repr(self._pattern)), stacklevel=3)
        keyed = isinstance(self._stream, KeyedStream)
        stream = self._stream if keyed else self._stream.keyBy(constant_key)
        strategy = self._pattern.getAfterMatchSkipStrategy()
        description = CepDescription(compiled, strategy, calls, keyed, **self._settings)
        return stream._transform(description, outputType)


def _without_type(
    method: str, arguments: tuple[Any, ...], outputType: TypeInformation[Any] | None
) -> tuple[list[Any], TypeInformation[Any] | None]:
    """The functions among ``arguments`` in their order, and the type of the results."""
    given = []
    for argument in arguments:
        if isinstance(argument, TypeInformation):
            outputType = argument
        else:
            given.append(argument)
    if len(given) not in (1, 3):
        raise InvalidProgramError(
            f"{method}: {len(given)} arguments {shown(tuple(given))}. Pass one function, or an OutputTag"
            " for partial matches, the function for them, and the one for matches."
        )
    return given, outputType
