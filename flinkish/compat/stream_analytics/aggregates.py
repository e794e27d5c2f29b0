"""Aggregate functions, which make one value of the rows of a window, and the SELECT lists that have them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from sqlglot import exp

from flinkish.compat.folds import ColumnFold
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
    Record,
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


# ---------------------------------------------------------------------- SELECT lists


@dataclass(frozen=True)
class Item:
    """An item of a SELECT list: a value with its name, or, without a name, all fields of a record."""

    name: str | None
    value: Evaluate


Contribution = tuple[Any, ...]
"""What a row contributes to its group, behind the key of its window."""


class GroupResults:
    """Computes the results of a SELECT with GROUP BY: first what a row contributes to its group, then the record
    of a group."""

    def __init__(
        self,
        keys: tuple[Evaluate, ...],
        aggregates: Sequence[tuple[str, Aggregate]],
        items: tuple[Item, ...],
        condition: Callable[[Environment], bool] | None,
        plainKeys: bool = False,
    ) -> None:
        """``plainKeys``: the keys are whole numbers, texts or NULL."""
        inputs: dict[str, Evaluate] = {}
        for _, aggregate in aggregates:
            inputs.update(aggregate.inputs)
        self.keys = keys
        self.contributions = (*keys, *inputs.values())
        """What a row contributes, behind the key of its window: its keys, and each input of the aggregates once."""
        places = {text: place for place, text in enumerate(inputs, 1 + len(keys))}
        self._aggregates = [
            (slot, aggregate, [places[text] for text in aggregate.inputs])
            for slot, aggregate in aggregates
        ]
        folds = [_fold_of(kind, places) for _, a, places in self._aggregates for kind in a.folds]
        self.folds = tuple(folds) if plainKeys and all(a.folds for _, a in aggregates) else ()
        """What makes the values of the aggregates without the rows; nothing if they need these."""
        self._items = items
        self._condition = condition

    def groups(self, rows: Iterable[Contribution]) -> Iterable[list[Contribution]]:
        """The rows of a window that groups share, group by group."""
        groups: dict[Any, list[Contribution]] = {}
        behind = 1 + len(self.keys)
        for row in rows:
            groups.setdefault(tuple(map(frozen, row[1:behind])), []).append(row)
        return groups.values()

    def of(self, rows: Sequence[Contribution], end: int, window: str | None) -> Record | None:
        """The record of a group; None if HAVING is not true."""
        columns = list(zip(*rows))
        values = [
            aggregate.finish(len(rows), [columns[place] for place in places])
            for _, aggregate, places in self._aggregates
        ]
        return self._record(rows[0][1 : 1 + len(self.keys)], values, end, window)

    def ofFolds(
        self, keys: Sequence[Any], numbers: Sequence[int], end: int, window: str | None
    ) -> Record | None:
        """The same of what ``folds`` has given."""
        left = iter(numbers)
        values = [
            aggregate.ofFolds(list(islice(left, len(aggregate.folds))))
            for _, aggregate, _ in self._aggregates
        ]
        return self._record(keys, values, end, window)

    def _record(
        self, keys: Sequence[Any], values: Sequence[Any], end: int, window: str | None
    ) -> Record | None:
        found: Environment = {"@": end, "@window": window}
        for position, value in enumerate(keys):
            found[f"#key{position}"] = value
        for (slot, _, _), value in zip(self._aggregates, values):
            found[slot] = value
        record = record_from(self._items, found)
        if self._condition is not None:
            for position, item in enumerate(self._items):
                if item.name is not None:
                    found[f"#item{position}"] = record[item.name]
            if not self._condition(found):
                return None
        return record


def _fold_of(kind: str, places: Sequence[int]) -> ColumnFold:
    """The fold of a kind over contributions, whose input is at ``places``; none of it: of each 1."""
    if not places:
        return ColumnFold("sum", 1)
    value = f"r[{places[0]}]"
    if kind == SUM_OF_FLOATS:
        # A float beyond 2**53 is another number
        return ColumnFold("sum", f"(None if {value} is None else int(float({value})))")
    return ColumnFold(kind, value)


def record_from(items: tuple[Item, ...], row: Environment) -> Record:
    """The record that a SELECT list computes from a row."""
    record: Record = {}
    for item in items:
        value = item.value(row)
        if item.name is not None:
            record[item.name] = value
        elif isinstance(value, dict):
            record.update(value)
    return record
