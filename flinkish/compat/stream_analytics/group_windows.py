"""The windows of GROUP BY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from sqlglot import exp

from flinkish.api.errors import FlinkishError
from flinkish.compat.stream_analytics.calls import unit_of
from flinkish.compat.stream_analytics.compiler import Scope
from flinkish.compat.stream_analytics.queries import (
    HoppingWindow,
    Offset,
    SessionWindow,
    SlidingWindow,
    SnapshotWindow,
    TimeUnit,
    TumblingWindow,
)
from flinkish.compat.stream_analytics.text import SYSTEM_TIMESTAMP, function_name, is_function

_WINDOWS: dict[str, tuple[Callable[..., Any], int]] = {
    "TUMBLINGWINDOW": (TumblingWindow, 1),
    "HOPPINGWINDOW": (HoppingWindow, 2),
    "SLIDINGWINDOW": (SlidingWindow, 1),
    "SESSIONWINDOW": (SessionWindow, 2),
    "SNAPSHOTWINDOW": (SnapshotWindow, 0),
}
"""What makes each window, and the number of lengths that it takes."""
_SHORT = ("TUMBLING", "HOPPING", "SLIDING", "SESSION")
_LENGTHS = frozenset({"DURATION", "HOP", "TIMEOUT", "MAXDURATION"})


@dataclass(frozen=True)
class WindowPlan:
    """A window, with the id that Windows(...) gives it."""

    assigner: Any
    id: str | None = None
    together: bool = False
    """Whether the keys of GROUP BY share the window, as those of a session do."""
    partition: tuple[exp.Expression, ...] = ()


def windows_of(node: exp.Expression, scope: Scope) -> list[WindowPlan] | None:
    """The windows that an expression of GROUP BY stands for, None if it is another."""
    over: tuple[exp.Expression, ...] = ()
    if isinstance(node, exp.Window):
        over = tuple(node.args.get("partition_by") or ())
        node = node.this
    if is_function(node, SYSTEM_TIMESTAMP):
        return [WindowPlan(SnapshotWindow())]
    if is_function(node, "WINDOWS"):
        return _several(node, scope)
    if not is_function(node, *_WINDOWS, *_SHORT):
        return None
    return [_window(node, over, scope)]


def _several(node: exp.Expression, scope: Scope) -> list[WindowPlan]:
    """The windows of ``Windows(...)``, all with ids or all without."""
    parts = list(node.expressions)
    if any(is_function(part, "WINDOW") for part in parts):
        plans = [_identified(part, scope) for part in parts]
        ids = [str(plan.id).lower() for plan in plans]
        if len(set(ids)) < len(ids):
            raise scope.text.error(node, "the ids of Windows(...) differ in more than case.")
        return plans
    fix = "Windows takes TumblingWindow(...) and its kin, or Window('id', ...)."
    return [_one(part, scope, fix) for part in parts]


def _one(node: exp.Expression, scope: Scope, fix: str) -> WindowPlan:
    found = windows_of(node, scope)
    if found is None or len(found) != 1:
        raise scope.text.error(node, fix)
    return found[0]


def _identified(node: exp.Expression, scope: Scope) -> WindowPlan:
    parts = list(node.expressions) if is_function(node, "WINDOW") else []
    if len(parts) != 2 or not isinstance(parts[0], exp.Literal):
        raise scope.text.error(node, "Windows takes Window('id', TumblingWindow(...)), ....")
    plan = _one(parts[1], scope, "Window takes an id and one window.")
    return replace(plan, id=parts[0].name)


def _window(node: exp.Expression, over: tuple[exp.Expression, ...], scope: Scope) -> WindowPlan:
    name = (function_name(node) or "").upper().removesuffix("WINDOW") + "WINDOW"
    arguments = list(node.expressions)
    offset = None
    if arguments and is_function(arguments[-1], "OFFSET"):
        offset = Offset(*_length(list(arguments.pop().expressions), node, scope))
    lengths = _lengths(arguments, node, scope)
    sessions = name == "SESSIONWINDOW"
    make, expected = _WINDOWS[name]
    if len(lengths) != expected:
        raise scope.text.error(
            node,
            f"{function_name(node)} takes {expected} length(s) of time, and has {len(lengths)}.",
        )
    if offset is not None and name not in ("TUMBLINGWINDOW", "HOPPINGWINDOW"):
        raise scope.text.error(node, f"{function_name(node)} has no Offset.")
    if over and not sessions:
        raise scope.text.error(
            node, f"{function_name(node)} has no OVER. Add its columns to GROUP BY."
        )
    try:
        if expected == 2:  # the lengths may have different units
            lengths = [("ms", Offset(unit, length).toMillis()) for unit, length in lengths]
        units, sizes = [unit for unit, _ in lengths[:1]], [length for _, length in lengths]
        assigner = make(*units, *sizes, *([] if offset is None else [offset]))
        return WindowPlan(assigner, None, sessions, over)
    except FlinkishError as error:
        raise scope.text.error(node, str(error)) from None


def _lengths(
    arguments: list[exp.Expression], node: exp.Expression, scope: Scope
) -> list[tuple[TimeUnit, int]]:
    if arguments and is_function(arguments[0], *_LENGTHS):
        return [_length(list(part.expressions), node, scope) for part in arguments]
    if not arguments:
        return []
    return [_length([arguments[0], size], node, scope) for size in arguments[1:]]


def _length(
    arguments: list[exp.Expression], node: exp.Expression, scope: Scope
) -> tuple[TimeUnit, int]:
    if len(arguments) == 2:
        unit, number = unit_of(arguments[0], scope), arguments[1]
        negative = isinstance(number, exp.Neg)
        literal = number.this if isinstance(number, exp.Neg) else number
        if isinstance(literal, exp.Literal) and literal.name.isdigit():
            return cast(TimeUnit, unit), -int(literal.name) if negative else int(literal.name)
    raise scope.text.error(node, f"{function_name(node)} takes a unit of time and whole numbers.")
