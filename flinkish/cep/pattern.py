"""``Pattern``: a sequence of stages, as data. ``compiler`` compiles it to an NFA."""

from __future__ import annotations

from enum import Enum
from typing import Any, Generic, NoReturn, Self, cast, overload

from typing_extensions import TypeVar

from flinkish.api.arguments import instance, member, milliseconds, text, whole_number
from flinkish.api.errors import IllegalArgumentError, MalformedPatternError, shown
from flinkish.api.time.durations import Duration, TimeLike
from flinkish.cep.after_match import AfterMatchSkipStrategy
from flinkish.cep.conditions import ALWAYS, And, Condition, ConditionLike, InstanceOf, Or, test_of
from flinkish.cep.quantifier import ConsumingStrategy, Quantifier, QuantifierProperty, Times

T = TypeVar("T")
F = TypeVar("F", default=T)
S = TypeVar("S")
X = TypeVar("X")


class WithinType(Enum):
    """The events between which ``within`` measures the time (Flink: ``WithinType``)."""

    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    """The event before and the event of the stage."""
    FIRST_AND_LAST = "FIRST_AND_LAST"
    """The first and the last event of the match."""


class Pattern(Generic[T, F]):
    """A stage of a pattern and the stages before it (Flink: ``Pattern``).

    ``T`` is the type of the stream's elements, ``F`` that of the elements that the stage accepts. As in
    Flink, the methods that set something change the stage and return it, and those that append a stage
    return the new one.

    >>> pattern = (
    ...     Pattern[int].begin("small").where(lambda amount: amount < 10)
    ...     .next("large").where(lambda amount: amount > 500)
    ...     .within(Duration.ofSeconds(10))
    ... )
    >>> pattern
    begin('small') next('large') within 10000 ms
    """

    def __init__(
        self,
        name: str,
        previous: Pattern[T, Any] | None,
        consumingStrategy: ConsumingStrategy,
        afterMatchSkipStrategy: AfterMatchSkipStrategy,
    ) -> None:
        self._name = name
        self._previous = previous
        self._quantifier = Quantifier(consumingStrategy)
        self._skip_strategy = afterMatchSkipStrategy
        self._condition: Condition | None = None
        self._until: Condition | None = None
        self._times: Times | None = None
        self._window_times: dict[WithinType, int] = {}

    # ------------------------------------------------------------------ the first stage

    @overload
    @classmethod
    def begin(
        cls, name: str, afterMatchSkipStrategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern[T, T]: ...

    @overload
    @classmethod
    def begin(
        cls, name: Pattern[X, S], afterMatchSkipStrategy: AfterMatchSkipStrategy | None = None
    ) -> GroupPattern[X, S]: ...

    @classmethod
    def begin(
        cls,
        name: str | Pattern[Any, Any],
        afterMatchSkipStrategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern[Any, Any]:
        """The first stage of a pattern: the name of a stage, or a pattern as a group.

        ``Pattern[Event].begin("start")`` declares the type of the elements.
        ``afterMatchSkipStrategy``: where matching continues after a match; without one all matches
        are emitted.
        """
        strategy = afterMatchSkipStrategy or AfterMatchSkipStrategy.noSkip()
        fix = "Pass one, such as AfterMatchSkipStrategy.skipPastLastEvent()."
        instance("begin: afterMatchSkipStrategy", strategy, AfterMatchSkipStrategy, fix)
        return _stage(name, None, ConsumingStrategy.STRICT, strategy)

    # ------------------------------------------------------------------ conditions

    def where(self, condition: ConditionLike[F]) -> Self:
        """Accept events for which ``condition`` holds: ``f(event)``, ``f(event, ctx)``, a
        SimpleCondition or an IterativeCondition. All conditions given with ``where`` must hold."""
        return self._accepting(test_of("where", self._name, condition), And)

    def or_(self, condition: ConditionLike[F]) -> Self:
        """Accept also events for which ``condition`` holds (Flink: ``or``, which is a keyword of
        Python)."""
        return self._accepting(test_of("or_", self._name, condition), Or)

    def subtype(self, subtypeClass: type[S]) -> Pattern[T, S]:
        """Accept only instances of ``subtypeClass``; later calls on the stage have events of that
        type."""
        instance("subtype", subtypeClass, type, "Pass a class.")
        return cast("Pattern[T, S]", self._accepting(InstanceOf(subtypeClass), And))

    def _accepting(self, test: Condition, joined: type[And | Or]) -> Self:
        self._condition = test if self._condition is None else joined(self._condition, test)
        return self

    def until(self, untilCondition: ConditionLike[F]) -> Self:
        """Stop accepting events into this looping stage once ``untilCondition`` holds."""
        if self._until is not None:
            raise MalformedPatternError(
                f"until: {self._subject} has an until condition already. Join both with or."
            )
        if not self._quantifier.hasProperty(QuantifierProperty.LOOPING):
            raise MalformedPatternError(
                f"until: {self._subject} does not loop. Call oneOrMore() or timesOrMore(...) before"
                " until(...)."
            )
        self._until = test_of("until", self._name, untilCondition)
        return self

    def within(
        self,
        windowTime: TimeLike | None,
        withinType: WithinType = WithinType.FIRST_AND_LAST,
    ) -> Self:
        """Drop partial matches that take longer than ``windowTime`` (a Duration, timedelta or int
        ms): from their first event to the last, or from one event to that of this stage. As in
        Flink, 0 and negative lengths do not limit the match."""
        kind = member("within: withinType", withinType, WithinType)
        if windowTime is not None:
            self._window_times[kind] = milliseconds("within: windowTime", windowTime)
        return self

    # ------------------------------------------------------------------ further stages

    @overload
    def next(self, name: str) -> Pattern[T, T]: ...

    @overload
    def next(self, name: Pattern[T, S]) -> GroupPattern[T, S]: ...

    def next(self, name: str | Pattern[T, Any]) -> Pattern[T, Any]:
        """Append a stage, or a pattern as a group, whose event comes right after the one before."""
        return _stage(name, self, ConsumingStrategy.STRICT, self._skip_strategy)

    @overload
    def followedBy(self, name: str) -> Pattern[T, T]: ...

    @overload
    def followedBy(self, name: Pattern[T, S]) -> GroupPattern[T, S]: ...

    def followedBy(self, name: str | Pattern[T, Any]) -> Pattern[T, Any]:
        """Append a stage, or a pattern as a group; events that do not match may come before it."""
        return _stage(name, self, ConsumingStrategy.SKIP_TILL_NEXT, self._skip_strategy)

    @overload
    def followedByAny(self, name: str) -> Pattern[T, T]: ...

    @overload
    def followedByAny(self, name: Pattern[T, S]) -> GroupPattern[T, S]: ...

    def followedByAny(self, name: str | Pattern[T, Any]) -> Pattern[T, Any]:
        """Append a stage, or a pattern as a group; any events may come before it, even matching
        ones, so that each matching event gives a match."""
        return _stage(name, self, ConsumingStrategy.SKIP_TILL_ANY, self._skip_strategy)

    def notNext(self, name: str) -> Pattern[T, T]:
        """Append a stage whose condition must not hold for the event right after the one before."""
        self._check_not_optional("notNext")
        return _stage(name, self, ConsumingStrategy.NOT_NEXT, self._skip_strategy)

    def notFollowedBy(self, name: str) -> Pattern[T, T]:
        """Append a stage whose condition must not hold for any event before the one of the next
        stage. As the last stage it needs ``within``, and matches once the time has passed."""
        self._check_not_optional("notFollowedBy")
        return _stage(name, self, ConsumingStrategy.NOT_FOLLOW, self._skip_strategy)

    # ------------------------------------------------------------------ quantifiers

    def optional(self) -> Self:
        """Allow matches without this stage."""
        previous = self._previous
        if previous is not None and previous._quantifier.hasProperty(QuantifierProperty.GREEDY):
            raise MalformedPatternError(
                f"optional: {self._subject} follows {previous._subject}, which is greedy. Leave out"
                " greedy() or optional()."
            )
        self._quantifier.optional(self._subject)
        return self

    def oneOrMore(self, windowTime: TimeLike | None = None) -> Self:
        """Accept one event or more. ``windowTime``: the longest time from one to the next."""
        return self._repeated("oneOrMore", 1, 1, windowTime, QuantifierProperty.LOOPING)

    @overload
    def times(self, from_: int, /, windowTime: Duration | None = None) -> Self: ...

    @overload
    def times(self, from_: int, to: int, /, windowTime: TimeLike | None = None) -> Self: ...

    def times(self, from_: int, *to: Any, windowTime: Any = None) -> Self:
        """Accept ``times(n)`` events, or from ``times(from, to)``. As in Flink the last argument may
        be the longest time from one event to the next, as a Duration."""
        if to and not isinstance(to[-1], int):
            *to, windowTime = to  # type: ignore[assignment]
        if len(to) > 1:
            raise MalformedPatternError(
                f"times: {self._subject} is given {len(to) + 1} numbers. Pass times(n) or"
                " times(from, to)."
            )
        optional = bool(to) and from_ == 0
        if optional:
            from_ = 1
        upto = to[0] if to else from_
        self._repeated("times", from_, upto, windowTime, QuantifierProperty.TIMES)
        if optional:
            self._quantifier.optional(self._subject)
        return self

    def timesOrMore(self, times: int, windowTime: TimeLike | None = None) -> Self:
        """Accept ``times`` events or more. ``windowTime``: the longest time from one to the next."""
        return self._repeated("timesOrMore", times, times, windowTime, QuantifierProperty.LOOPING)

    def greedy(self) -> Self:
        """Accept as many events as there are, instead of any number of them."""
        self._check_positive("greedy")
        if isinstance(self, GroupPattern):
            raise MalformedPatternError(
                "greedy: a group cannot be greedy. Make a stage in it greedy."
            )
        self._quantifier.greedy(self._subject)
        return self

    def allowCombinations(self) -> Self:
        """Allow any events between those of this stage, even matching ones."""
        strategy = ConsumingStrategy.SKIP_TILL_ANY
        self._quantifier.between("allowCombinations", self._subject, strategy)
        return self

    def consecutive(self) -> Self:
        """Allow no other events between those of this stage."""
        self._quantifier.between("consecutive", self._subject, ConsumingStrategy.STRICT)
        return self

    # ------------------------------------------------------------------ properties

    def getName(self) -> str:
        """The name of the stage."""
        return self._name

    def getPrevious(self) -> Pattern[T, Any] | None:
        """The stage before, None for the first."""
        return self._previous

    def getQuantifier(self) -> Quantifier:
        """The number of events that the stage accepts."""
        return self._quantifier

    def getTimes(self) -> Times | None:
        """The exact numbers of events; None for once."""
        return self._times

    def getWindowSize(self, withinType: WithinType = WithinType.FIRST_AND_LAST) -> Duration | None:
        """The length given with ``within``."""
        millis = self._window_times.get(withinType)
        return None if millis is None else Duration.ofMillis(millis)

    def getCondition(self) -> Condition:
        """The condition of the stage."""
        return ALWAYS if self._condition is None else self._condition

    def getUntilCondition(self) -> Condition | None:
        """The condition given with ``until``."""
        return self._until

    def getAfterMatchSkipStrategy(self) -> AfterMatchSkipStrategy:
        """The strategy that says where matching continues after a match, as given to ``begin``."""
        return self._skip_strategy

    def __repr__(self) -> str:
        before = "" if self._previous is None else f"{self._previous} "
        method = "begin" if self._previous is None else self._quantifier.consumingStrategy.value
        windows = [
            f" within {millis} ms"
            + ("" if kind is WithinType.FIRST_AND_LAST else " of the one before")
            for kind, millis in self._window_times.items()
        ]
        return f"{before}{method}({self._content()}){''.join(windows)}"

    def _content(self) -> str:
        return repr(self._name)

    @property
    def _subject(self) -> str:
        return f"the stage {self._name!r}"

    # ------------------------------------------------------------------ checks

    def _repeated(
        self,
        method: str,
        from_: int,
        to: int,
        windowTime: TimeLike | None,
        kind: QuantifierProperty,
    ) -> Self:
        self._check_positive(method)
        if not self._quantifier.hasProperty(QuantifierProperty.SINGLE):
            raise MalformedPatternError(
                f"{method}: {self._subject} has a quantifier already. Call one of oneOrMore(),"
                " times(...) and timesOrMore(...), once."
            )
        whole_number(f"{method}: times", from_, 1)
        if whole_number(f"{method}: times", to, 1) < from_:
            raise IllegalArgumentError(
                f"{method}: from {from_} to {to} times is no range. Pass the smaller number first."
            )
        window = None
        if windowTime is not None:
            window = milliseconds(f"{method}: windowTime", windowTime)
        # As in Flink, a quantifier replaces what optional() said before
        self._quantifier = Quantifier(self._quantifier.consumingStrategy, {kind})
        self._times = Times(from_, to, window)
        return self

    def _check_positive(self, method: str) -> None:
        if self._quantifier.isNegative:
            raise MalformedPatternError(
                f"{method}: {self._subject} accepts no event, as it is of"
                f" {self._quantifier.consumingStrategy.value}. Leave out {method}."
            )

    def _check_not_optional(self, method: str) -> None:
        if self._quantifier.hasProperty(QuantifierProperty.OPTIONAL):
            raise MalformedPatternError(
                f"{method}: {self._subject} before it is optional, which Flink does not support"
                " before a stage that accepts no event. Use two patterns, one with the optional stage"
                " and one without."
            )


class GroupPattern(Pattern[T, F]):
    """A pattern as a stage of another, so that quantifiers apply to the whole of it (Flink:
    ``GroupPattern``)."""

    def __init__(
        self,
        previous: Pattern[T, Any] | None,
        group: Pattern[T, F],
        consumingStrategy: ConsumingStrategy,
        afterMatchSkipStrategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__("GroupPattern", previous, consumingStrategy, afterMatchSkipStrategy)
        self._group = group

    def getRawPattern(self) -> Pattern[T, F]:
        """The last stage of the group."""
        return self._group

    def where(self, condition: object) -> NoReturn:
        """Not for groups. Raises MalformedPatternError."""
        self._refuse("where")

    def or_(self, condition: object) -> NoReturn:
        """Not for groups. Raises MalformedPatternError."""
        self._refuse("or_")

    def subtype(self, subtypeClass: object) -> NoReturn:
        """Not for groups. Raises MalformedPatternError."""
        self._refuse("subtype")

    def _refuse(self, method: str) -> NoReturn:
        raise MalformedPatternError(
            f"{method}: {self._subject} accepts no events itself. Call {method} on the stages in it."
        )

    def _content(self) -> str:
        return repr(self._group)

    @property
    def _subject(self) -> str:
        return f"the group {self._group!r}"


def _stage(
    name: str | Pattern[Any, Any],
    previous: Pattern[Any, Any] | None,
    strategy: ConsumingStrategy,
    skip: AfterMatchSkipStrategy,
) -> Pattern[Any, Any]:
    method = "begin" if previous is None else strategy.value
    if isinstance(name, Pattern):
        if strategy in (ConsumingStrategy.NOT_NEXT, ConsumingStrategy.NOT_FOLLOW):
            raise MalformedPatternError(
                f"{method}: a group cannot be negated. Pass the name of a stage, and its condition with"
                " where(...)."
            )
        return GroupPattern(previous, name, strategy, skip)
    if not isinstance(name, str):
        raise MalformedPatternError(
            f"{method}: {shown(name)} of type {type(name).__name__} is neither the name of a stage nor a"
            " pattern. Pass a string, or a pattern as a group."
        )
    return Pattern(text(f"{method}: name", name), previous, strategy, skip)
