"""Joins of streams by DATEDIFF, and with reference data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlglot import exp

from flinkish.compat.stream_analytics.calls import unit_of
from flinkish.compat.stream_analytics.compiler import Scope, constant, names_of
from flinkish.compat.stream_analytics.datediff_join import SIZES, TimeBounds
from flinkish.compat.stream_analytics.dates import UNITS
from flinkish.compat.stream_analytics.text import is_function
from flinkish.compat.stream_analytics.values import Environment, Evaluate, Record, join_key


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The conditions that AND joins."""
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    return [node]


def time_bounds(
    node: exp.Expression, left: Sequence[str], right: str, scope: Scope
) -> TimeBounds | None:
    """The bounds that a condition sets, None if it is another."""
    if isinstance(node, exp.Between):
        call, low, high = node.this, node.args["low"], node.args["high"]
    elif isinstance(node, exp.EQ):
        call, low, high = node.this, node.expression, node.expression
    else:
        return None
    if not is_function(call, "DATEDIFF") or len(call.expressions) != 3:
        return None
    unit_node, *events = call.expressions
    names = [(names_of(event) or [""]) for event in events]
    sources = [found[0].lower() for found in names if len(found) == 1]
    if len(sources) != 2 or right not in sources:
        return None
    unit = unit_of(unit_node, scope)
    if unit not in SIZES:
        raise scope.text.error(
            unit_node,
            f"a join counts in units of fixed length, not in {unit}. Write day, hour or shorter.",
        )
    bounds = [_whole_number(bound, scope) for bound in (low, high)]
    if sources[0] == right:
        sources.reverse()
        bounds = [-bounds[1], -bounds[0]]
    if sources[0] not in left:
        return None
    if bounds[0] > bounds[1]:
        raise scope.text.error(node, "no event is in these bounds: the first is above the second.")
    return TimeBounds.of(sources[0], unit, bounds[0], bounds[1])


def _whole_number(node: exp.Expression, scope: Scope) -> int:
    value = constant(node, scope)
    if isinstance(value, int):
        return value
    raise scope.text.error(node, "the bounds of DATEDIFF in a join are whole numbers.")


def equal_sides(
    node: exp.Expression, left: Sequence[str], right: str
) -> tuple[exp.Expression, exp.Expression] | None:
    """The sides of ``left.a = right.b``, None if the condition is another."""
    if not isinstance(node, exp.EQ):
        return None
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        found = sources_of(one)
        if found and found <= set(left) and sources_of(other) == {right}:
            return one, other
    return None


def sources_of(node: exp.Expression) -> set[str]:
    """The sources that an expression names; one without a source is "?". Units of time are none."""
    found = set()
    for part in node.walk():
        if isinstance(part, exp.Column):
            names = names_of(part) or ["?"]
            if len(names) > 1 or names[0].lower() not in UNITS:
                found.add(names[0].lower() if len(names) > 1 else "?")
    return found


def reference_join(
    name: str,
    rows: Sequence[Record],
    keys: Sequence[tuple[Evaluate, Evaluate]],
    condition: Callable[[Environment], bool],
    outer: bool,
) -> Callable[[Environment], Iterator[Environment]]:
    """Adds the rows of reference data that go with an event."""
    by_key: dict[Any, list[Record]] = {}
    for row in rows:
        values = [right({name: row, "@": 0}) for _, right in keys]
        if all(value is not None for value in values):
            by_key.setdefault(tuple(map(join_key, values)), []).append(row)

    def joined(event: Environment) -> Iterator[Environment]:
        found = False
        for row in by_key.get(tuple(join_key(left(event)) for left, _ in keys), ()):
            pair = {**event, name: row, f"@{name}": event["@"]}
            if condition(pair):
                found = True
                yield pair
        if outer and not found:
            yield {**event, name: None, f"@{name}": None}

    return joined
