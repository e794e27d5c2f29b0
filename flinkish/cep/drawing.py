"""Draws the NFA of a pattern as text, for ``env.explain()`` and the page of running jobs."""

from __future__ import annotations

from flinkish.cep.after_match import AfterMatchSkipStrategy
from flinkish.cep.conditions import Always, And, Condition, InstanceOf, Not, Or, UserCondition
from flinkish.cep.states import CompiledPattern, State, StateType


def drawn(pattern: CompiledPattern, strategy: AfterMatchSkipStrategy) -> tuple[str, ...]:
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
        holds = shown_condition(transition.condition)
        condition = "" if holds is None else f" if {holds}"
        lines.append(f"  {transition.action.value} -> {goes_to}{condition}")
    return lines


def shown_condition(condition: Condition) -> str | None:
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
    parts = [shown_condition(part) for part in (condition.left, condition.right)]
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
    text = shown_condition(condition) or "true"
    return f"({text})" if isinstance(condition, (And, Or)) else text


def _grouped(part: str, parts: list[str]) -> str:
    return f"({part})" if " or " in part and len(parts) > 1 else part
