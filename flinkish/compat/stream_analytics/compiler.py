"""Compiles expressions of the query language to Python functions of the rows in scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from flinkish.compat.folds import HIGHEST
from flinkish.compat.stream_analytics.text import Place, Text, written
from flinkish.compat.stream_analytics.values import Environment, Evaluate, ValueFailure


@dataclass(frozen=True)
class Scope:
    """The names that the expressions of a SELECT may use."""

    text: Text
    sources: tuple[str, ...]
    """The names of the sources in lower case."""
    functions: Mapping[str, Callable[..., Any]]
    """Python functions by name."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """By the text of an expression, the name under which its value is in the environment."""
    grouped: bool = False
    """Whether only what is computed may be named."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """By the lower-case name of a field of the only source, ``bigint`` or ``nvarchar``, if it is that or NULL in every
    event."""


OPERANDS = frozenset({"this", "expression", "expressions"})
OVER_PARTS = OPERANDS | {"partition_by", "order", "over"}
"""The parts of a function with OVER."""

COMPILERS: dict[type[Any], Callable[[Any, Scope], Evaluate]] = {}
"""By the kind of a node, what compiles it; ``expressions`` and ``calls`` add theirs."""
PARTS: dict[type[Any], frozenset[str]] = {}
"""By the kind of a node, the parts that its compiler reads, if they are more than the operands."""


def compile_expression(node: exp.Expression, scope: Scope) -> Evaluate:
    """The function that ``node`` stands for; raises IllegalArgumentError where it is none."""
    if scope.computed:
        slot = scope.computed.get(written(node))
        if slot is not None:
            return computed_value(slot)
    for kind in type(node).__mro__:
        compiler = COMPILERS.get(kind)
        if compiler is not None:
            refuse_others(node, PARTS.get(kind, OPERANDS), scope)
            return compiler(node, scope)
    raise scope.text.error(node, f"{node.sql(dialect='tsql')} is not supported here.")


def computed_value(slot: str) -> Evaluate:
    """What the environment has under ``slot``."""
    return lambda rows: rows[slot]


def refuse_others(node: exp.Expression, known: frozenset[str], scope: Scope) -> None:
    """Raise IllegalArgumentError if ``node`` has parts that nothing here reads."""
    for name, part in node.args.items():
        if part and name not in known:
            first = part[0] if isinstance(part, list) else part
            place = first if isinstance(first, exp.Expression) else node
            said = place.sql(dialect="tsql") if place is first else name.upper().strip("_")
            raise scope.text.error(place, f"{said} is not supported here.")


def compile_condition(node: exp.Expression, scope: Scope) -> Callable[[Environment], bool]:
    """Whether a condition is true; it is not where it is NULL."""
    condition = compile_expression(node, scope)
    return lambda rows: bool(condition(rows))


def guard(place: Place, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` whose failures say where they are."""

    def checked(*values: Any) -> Any:
        try:
            return call(*values)
        except ValueFailure as failure:
            raise place.error(f"{what}: {failure}.") from None

    return checked


_WHOLE = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


def kind_of(node: exp.Expression, scope: Scope) -> str | None:
    """``bigint`` or ``nvarchar`` if that, or NULL, is what an expression gives for every event; else None."""
    names = names_of(node)
    if names is not None and len(scope.sources) == 1:
        of_source = len(names) > 1 and names[0].lower() in scope.sources
        return scope.columns.get(".".join(names[of_source:]).lower())
    parts: Iterable[exp.Expression] = ()
    if isinstance(node, exp.Literal):
        fits = not node.is_string and node.name.isdigit() and int(node.name) <= HIGHEST
        return "bigint" if fits else None
    if isinstance(node, exp.Paren):
        return kind_of(node.this, scope)
    if isinstance(node, _WHOLE):
        parts = (node.this, node.expression)
    elif isinstance(node, exp.Case):
        default = node.args.get("default")
        parts = [branch.args["true"] for branch in node.args["ifs"]]
        parts += [] if default is None else [default]
    found = {kind_of(part, scope) for part in parts}
    return "bigint" if found == {"bigint"} else None


def names_of(node: exp.Expression) -> list[str] | None:
    """The parts of a name such as ``source.record.field``, None if ``node`` is none."""
    if isinstance(node, exp.Column):
        parts = (node.args.get(part) for part in ("catalog", "db", "table", "this"))
        names = [part.name for part in parts if isinstance(part, exp.Identifier)]
        return names if isinstance(node.this, exp.Identifier) else [*names, "*"]
    if isinstance(node, exp.Dot):
        before = names_of(node.this)
        last = node.expression
        if before is not None and isinstance(last, (exp.Identifier, exp.Star)):
            return [*before, "*" if isinstance(last, exp.Star) else last.name]
    return None
