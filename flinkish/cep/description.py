"""``CepDescription``: the operator of a pattern as data and as text, and the conversion of user
functions to calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flinkish.api.errors import InvalidProgramError, shown
from flinkish.api.functions.adapt import checked_callable, one_result, positional_arity, results_of
from flinkish.api.functions.functions import Function
from flinkish.api.output_tag import OutputTag
from flinkish.api.plan.operators import OperatorDescription
from flinkish.cep.after_match import AfterMatchSkipStrategy
from flinkish.cep.conditions import Always, And, Condition, InstanceOf, Not, Or, UserCondition
from flinkish.cep.functions import (
    EventComparator,
    MatchCall,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from flinkish.cep.states import CompiledPattern, State, StateType

Compare = Callable[[Any, Any], int]


@dataclass(frozen=True)
class MatchCalls:
    """The calls for matches. ``onTimeout`` is None if partial matches that take too long are
    dropped. ``functions`` are the user's."""

    functions: tuple[Any, ...]
    onMatch: MatchCall
    onTimeout: MatchCall | None = None


@dataclass(frozen=True)
class CepDescription(OperatorDescription):
    """An operator that matches a pattern. ``grouped``: the keys are the user's."""

    kind: ClassVar[str] = "Cep"
    lateDataMethod: ClassVar[str] = "sideOutputLateData(tag)"

    keyed: bool = field(default=True, init=False)

    pattern: CompiledPattern
    skipStrategy: AfterMatchSkipStrategy
    calls: MatchCalls
    grouped: bool
    inProcessingTime: bool = False
    comparator: Compare | None = None
    lateDataOutputTag: OutputTag[Any] | None = None

    @property
    def name(self) -> str:
        return "CepOperator" if self.grouped else "GlobalCepOperator"

    @property
    def stateLayout(self) -> str:
        return self.pattern.layout()

    @property
    def userFunctions(self) -> tuple[Any, ...]:
        conditions = (condition.function for condition in self.pattern.conditions)
        found = {id(function): function for function in (*self.calls.functions, *conditions)}
        return tuple(found.values())

    @property
    def drawing(self) -> tuple[str, ...]:
        return _drawn(self.pattern, self.skipStrategy)


# ---------------------------------------------------------------------- functions as calls


def select_calls(function: Any) -> MatchCalls:
    """The calls of a PatternSelectFunction or ``f(match)``."""
    call = _call("select", function, PatternSelectFunction, "select", ("match",))

    def on_match(match: Any, ctx: Any, out: Any) -> None:
        out.collect(call(match))

    return MatchCalls((function,), on_match)


def flat_select_calls(function: Any) -> MatchCalls:
    """The calls of a PatternFlatSelectFunction, ``f(match)`` or ``f(match, out)``."""
    kind = PatternFlatSelectFunction
    call = _call("flatSelect", function, kind, "flatSelect", ("match",), collects=True)
    return MatchCalls((function,), lambda match, ctx, out: call(match, out))


def with_timeout(calls: MatchCalls, tag: OutputTag[Any], function: Any) -> MatchCalls:
    """``calls``, with a PatternTimeoutFunction or ``f(match, timestamp)`` for partial matches."""
    call = _call("select", function, PatternTimeoutFunction, "timeout", ("match", "timestamp"))

    def on_timeout(match: Any, ctx: Any, out: Any) -> None:
        ctx.output(tag, call(match, ctx.timestamp()))

    return MatchCalls((*calls.functions, function), calls.onMatch, on_timeout)


def with_flat_timeout(calls: MatchCalls, tag: OutputTag[Any], function: Any) -> MatchCalls:
    """``calls``, with a PatternFlatTimeoutFunction, ``f(match, timestamp)`` or
    ``f(match, timestamp, out)`` for partial matches."""
    kind, taken = PatternFlatTimeoutFunction, ("match", "timestamp")
    call = _call("flatSelect", function, kind, "timeout", taken, collects=True)

    def on_timeout(match: Any, ctx: Any, out: Any) -> None:
        side = _SideCollector(ctx, tag)
        for result in results_of(call(match, ctx.timestamp(), side), tuples=True, wrote=True):
            side.collect(result)

    return MatchCalls((*calls.functions, function), calls.onMatch, on_timeout)


def process_calls(function: Any) -> MatchCalls:
    """The calls of a PatternProcessFunction or ``f(match, ctx, out)``."""
    if not isinstance(function, PatternProcessFunction):
        wanted = "a PatternProcessFunction or f(match, ctx, out)"
        if isinstance(function, Function):
            raise InvalidProgramError(
                f"process: {type(function).__name__} is not a function of matches. Pass {wanted}."
            )
        return MatchCalls((function,), checked_callable("process", function, wanted, 3))
    if not isinstance(function, TimedOutPartialMatchHandler):
        return MatchCalls((function,), function.processMatch)
    handle = function.processTimedOutMatch
    return MatchCalls(
        (function,), function.processMatch, lambda match, ctx, out: handle(match, ctx)
    )


def comparison(comparator: Any) -> Compare:
    """The call of an EventComparator or ``f(a, b)``."""
    if isinstance(comparator, EventComparator):
        return comparator.compare
    wanted = "an EventComparator or f(a, b)"
    return checked_callable("CEP.pattern: comparator", comparator, wanted, 2)


class _SideCollector:
    __slots__ = ("_ctx", "_tag")

    def __init__(self, ctx: Any, tag: OutputTag[Any]) -> None:
        self._ctx = ctx
        self._tag = tag

    def collect(self, value: Any) -> None:
        self._ctx.output(self._tag, value)

    def close(self) -> None:
        """Does nothing, as in any collector."""


def _call(
    subject: str,
    function: Any,
    kind: type[Any],
    method: str,
    parameters: tuple[str, ...],
    collects: bool = False,
) -> Callable[..., Any]:
    """``function`` as a call with one result, or, if it ``collects``, as one that takes the collector too."""
    if isinstance(function, kind):
        found: Callable[..., Any] = getattr(function, method)
        return found
    forms = [parameters, (*parameters, "out")] if collects else [parameters]
    calls = " or ".join(f"f({', '.join(form)})" for form in forms)
    wanted = f"a {kind.__name__} or {calls}"
    if isinstance(function, Function):
        raise InvalidProgramError(
            f"{subject}: {shown(function)} is not a {kind.__name__}. Pass {wanted}."
        )
    call: Callable[..., Any] = checked_callable(subject, function, wanted, *map(len, forms))
    if not collects:
        one_result(subject, call, "use flatSelect, which takes any number")
    elif positional_arity(call) <= len(parameters):
        return lambda *given: call(*given[:-1])
    return call


# ---------------------------------------------------------------------- the NFA as text


def _drawn(pattern: CompiledPattern, strategy: AfterMatchSkipStrategy) -> tuple[str, ...]:
    """Lines for each state with its transitions, from the first to the last, below a line about the
    whole pattern."""
    time = f"within {pattern.windowTime} ms" if pattern.windowTime else "without a time limit"
    skips = strategy.kind.value
    if strategy.patternName is not None:
        skips += f"({strategy.patternName!r})"
    lines = [f"pattern {time}, {skips} after a match"]
    for state in reversed(pattern.states):
        if state.type not in (StateType.FINAL, StateType.STOP):
            lines.extend(_lines(pattern, state))
    return tuple(lines)


def _lines(pattern: CompiledPattern, state: State) -> list[str]:
    kind = "" if state.type is StateType.NORMAL else f" ({state.type.value.lower()})"
    step = pattern.windowTimes.get(state.name)
    limit = "" if step is None else f", at most {step} ms after the event before"
    lines = [f"{state.name}{kind}{limit}"]
    for transition in state.transitions:
        target = pattern.byName[transition.target]
        goes_to = {
            StateType.FINAL: "match",
            StateType.STOP: "stop",
        }.get(target.type, "itself" if target is state else target.name)
        holds = _shown_condition(transition.condition)
        condition = "" if holds is None else f" if {holds}"
        lines.append(f"  {transition.action.value} -> {goes_to}{condition}")
    return lines


def _shown_condition(condition: Condition) -> str | None:
    """``condition`` in words; None if it always holds."""
    if isinstance(condition, Always):
        return None
    if isinstance(condition, UserCondition):
        return _named(condition)
    if isinstance(condition, InstanceOf):
        return f"is {condition.subtype.__name__}"
    if isinstance(condition, Not):
        return f"not {_inside(condition.of)}"
    word = "and" if isinstance(condition, And) else "or"
    parts = [_shown_condition(part) for part in (condition.left, condition.right)]
    known = [part for part in parts if part is not None]
    if isinstance(condition, Or) and len(known) < 2:
        return None
    if len(known) < 2:
        return known[0] if known else None
    return f" {word} ".join(_grouped(part, known) for part in known)


def _named(condition: UserCondition) -> str:
    function = condition.function
    name: str = getattr(function, "__name__", type(function).__name__)
    kind = condition.method.rstrip("_")
    what = kind if name == "<lambda>" else f"{kind} {name}"
    return f"{condition.stage}.{what}"


def _inside(condition: Condition) -> str:
    text = _shown_condition(condition) or "true"
    return f"({text})" if isinstance(condition, (And, Or)) else text


def _grouped(part: str, parts: list[str]) -> str:
    return f"({part})" if " or " in part and len(parts) > 1 else part
