"""Aggregate functions: each makes one value of the rows of a window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from flinkish.compat.stream_analytics.compiler import (
    OVER_PARTS,
    Scope,
    compile_expression,
    constant,
    kind_of,
    refuse_others,
)
from flinkish.compat.stream_analytics.text import LIMIT, function_name, is_function
from flinkish.compat.stream_analytics.values import (
    Environment,
    Evaluate,
    ValueFailure,
    bigint,
    frozen,
    number_of,
    sort_key,
)

SUM_OF_FLOATS = "sum of floats"
"""The kind of a fold: the sum of the whole numbers as floats."""

Values = Sequence[Any]
Finish = Callable[[int, Sequence[Values]], Any]
"""Makes the value of an aggregate: of the number of rows, and what each input is for the rows."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function with the expressions that it reads of each row, each by its text."""

    inputs: Mapping[str, Evaluate]
    finish: Finish
    folds: tuple[str, ...] = ()
    """The kinds of the folds that it can be made of instead; none if it needs all rows."""

    def of(self, rows: Sequence[Environment]) -> Any:
        return self.finish(len(rows), [list(map(read, rows)) for read in self.inputs.values()])

    def ofFolds(self, numbers: Sequence[int]) -> Any:
        """The value for what ``folds`` has given."""
        if len(numbers) == 1:
            return numbers[0]
        value, count = numbers
        found = float(value) / count if self.folds[0] == SUM_OF_FLOATS and count else value
        return self.finish(count, [[found] if count else []])


def compile_aggregate(node: exp.Expression, scope: Scope) -> Aggregate:
    """The aggregate that ``node``, a call with or without OVER, stands for."""
    call = node.this if isinstance(node, exp.Window) else node
    name = (function_name(call) or "").upper()
    refuse_others(node, OVER_PARTS, scope)
    limited = any(is_function(part, LIMIT) for part in node.args.get("partition_by") or ())
    if node.args.get("partition_by") and not limited:
        raise scope.text.error(
            node,
            f"PARTITION BY in a window belongs to GROUP BY, or to OVER with LIMIT DURATION: {name}.",
        )
    compiled = _compiled(name, call, node, scope)
    place = scope.text.place(call)

    def finish(count: int, inputs: Sequence[Values]) -> Any:
        try:
            return compiled.finish(count, inputs)
        except ValueFailure as failure:
            raise place.error(f"{name}: {failure}.") from None

    return replace(compiled, finish=finish)


def _compiled(name: str, call: exp.Expression, node: exp.Expression, scope: Scope) -> Aggregate:
    arguments = list(call.expressions)
    if name in ("COLLECT", "COLLECTTOP", "TOPONE"):
        return _collecting(name, arguments, node, scope)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    if len(arguments) != 1:
        raise scope.text.error(call, f"{name} has {len(arguments)} argument(s), and takes 1.")
    (argument,) = arguments
    if name in ("COUNT", "COUNT_BIG") and isinstance(argument, exp.Star):
        return Aggregate({}, lambda count, inputs: count, _FOLDS[name])
    if name.startswith("PERCENTILE"):
        return _percentile(name, argument, node, scope)
    of_values = _OF_VALUES[name]

    def finish(count: int, inputs: Sequence[Values]) -> Any:
        found = [item for item in inputs[0] if item is not None]
        if distinct:
            found = list({frozen(item): item for item in found}.values())
        return of_values(found)

    folds = () if distinct else _FOLDS.get(name, ())
    if len(folds) > 1 and kind_of(argument, scope) != "bigint":
        folds = ()
    return Aggregate(_inputs([argument], scope), finish, folds)


def _inputs(nodes: Iterable[exp.Expression], scope: Scope) -> dict[str, Evaluate]:
    return {_text(node): compile_expression(node, scope) for node in nodes}


def _text(node: exp.Expression) -> str:
    """The text of an input. The case of a name counts, as a record may have both."""
    return node.sql(dialect="tsql")


def _numbers(values: list[Any]) -> list[Any]:
    if {int, float}.issuperset(map(type, values)):
        return values
    return [number_of(value) for value in values]


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    numbers = _numbers(values)
    if any(issubclass(kind, float) for kind in set(map(type, numbers))):
        return math.fsum(numbers)
    return bigint(int(sum(numbers)))


def _average(values: list[Any]) -> Any:
    return math.fsum(_numbers(values)) / len(values) if values else None


def _extreme(choose: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    def extreme(values: list[Any]) -> Any:
        if not values:
            return None
        kinds = set(map(type, values))
        # These compare as their sort keys do
        plain = kinds <= {int, float} or kinds == {str}
        return choose(values) if plain else choose(values, key=sort_key)

    return extreme


def _spread(sample: bool, root: bool) -> Callable[[list[Any]], Any]:
    def spread(values: list[Any]) -> Any:
        numbers = list(map(float, _numbers(values)))
        count = len(numbers) - sample
        if count <= 0:
            return None
        mean = math.fsum(numbers) / len(numbers)
        variance = math.fsum((number - mean) ** 2 for number in numbers) / count
        return math.sqrt(variance) if root else variance

    return spread


_OF_VALUES: dict[str, Callable[[list[Any]], Any]] = {
    "COUNT": len,
    "COUNT_BIG": len,
    "SUM": _sum,
    "AVG": _average,
    "MIN": _extreme(min),
    "MAX": _extreme(max),
    "STDEV": _spread(sample=True, root=True),
    "STDEVP": _spread(sample=False, root=True),
    "VAR": _spread(sample=True, root=False),
    "VARP": _spread(sample=False, root=False),
}
_FOLDS: dict[str, tuple[str, ...]] = {
    "COUNT": ("count",),
    "COUNT_BIG": ("count",),
    "SUM": ("sum", "count"),
    "AVG": (SUM_OF_FLOATS, "count"),
    "MIN": ("min", "count"),
    "MAX": ("max", "count"),
}
_OF_ORDERED = ("COLLECT", "COLLECTTOP", "TOPONE", "PERCENTILE_CONT", "PERCENTILE_DISC")

AGGREGATES = frozenset({*_OF_VALUES, *_OF_ORDERED})


def _percentile(
    name: str, argument: exp.Expression, node: exp.Expression, scope: Scope
) -> Aggregate:
    ordered = _order(node)
    if len(ordered) != 1:
        raise scope.text.error(node, f"{name} needs OVER (ORDER BY expression).")
    fraction = constant(argument, scope)
    if not isinstance(fraction, (int, float)) or not 0 <= fraction <= 1:
        raise scope.text.error(argument, f"{name} takes a number from 0 to 1.")
    descending = bool(ordered[0].args.get("desc"))

    def finish(count: int, inputs: Sequence[Values]) -> Any:
        found = [item for item in inputs[0] if item is not None]
        if not found:
            return None
        found.sort(key=sort_key, reverse=descending)
        if name == "PERCENTILE_DISC":
            return found[max(math.ceil(fraction * len(found)) - 1, 0)]
        position = fraction * (len(found) - 1)
        below = math.floor(position)
        low = float(number_of(found[below]))
        high = float(number_of(found[min(below + 1, len(found) - 1)]))
        return low + (high - low) * (position - below)

    return Aggregate(_inputs([ordered[0].this], scope), finish)


def _collecting(
    name: str, arguments: list[exp.Expression], node: exp.Expression, scope: Scope
) -> Aggregate:
    limit = 1
    if name == "COLLECTTOP":
        count = constant(arguments.pop(0), scope) if arguments else None
        if not isinstance(count, int) or count < 1:
            raise scope.text.error(node, "CollectTop takes a number of events, 1 or more, first.")
        limit = count
    if len(arguments) > 1 or (arguments and name == "TOPONE"):
        raise scope.text.error(node, f"{name} has too many arguments.")
    value = compile_expression(arguments[0], scope) if arguments else whole_record(scope)
    if name == "COLLECT":
        text = _text(arguments[0]) if arguments else "*"
        return Aggregate({text: value}, lambda count, inputs: list(inputs[0]))
    orders = _order(node)
    if not orders:
        raise scope.text.error(node, f"{name} needs OVER (ORDER BY column).")
    keys = _inputs((order.this for order in orders), scope)
    sorting = [(_text(order.this), bool(order.args.get("desc"))) for order in orders]

    def finish(count: int, inputs: Sequence[Values]) -> Any:
        rows, *columns = inputs
        ranks = {text: list(map(sort_key, column)) for text, column in zip(keys, columns)}
        found = list(range(count))
        for text, descending in reversed(sorting):
            found.sort(key=ranks[text].__getitem__, reverse=descending)
        # Only the rows that are chosen are computed
        chosen = [value(rows[position]) for position in found[:limit]]
        if name == "TOPONE":
            return chosen[0] if chosen else None
        return [{"rank": rank, "value": item} for rank, item in enumerate(chosen, start=1)]

    return Aggregate({"#row": lambda rows: rows, **keys}, finish)


def _order(node: exp.Expression) -> list[exp.Expression]:
    order = node.args.get("order")
    return list(order.expressions) if order is not None else []


def whole_record(scope: Scope) -> Evaluate:
    """The whole event; of several sources, the fields of all."""
    sources = scope.sources
    if len(sources) == 1:
        (source,) = sources
        return lambda rows: rows[source]
    return lambda rows: merged(rows, sources)


def merged(rows: Environment, sources: Sequence[str]) -> dict[str, Any]:
    """The fields of all sources; of those of one name, the first."""
    record: dict[str, Any] = {}
    for source in sources:
        found = rows[source]
        for name, value in found.items() if isinstance(found, dict) else ():
            record.setdefault(name, value)
    return record
