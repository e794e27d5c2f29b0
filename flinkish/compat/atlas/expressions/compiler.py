"""Compiles an expression to a function of a document: field paths, variables, literals, conditions and operators.

The modules beside this one add their operators with ``operator`` and ``named_operator``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cmp_to_key
from typing import Any, TypeVar

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.compat.atlas.bson.values import (
    MISSING,
    ORDER,
    DocumentError,
    compare,
    is_null,
    is_number,
    truth,
    type_name,
)

Variables = dict[str, Any]
"""The variables of ``$let``, ``$map`` and so on, and ``NOW``, while an expression is evaluated."""

Evaluator = Callable[[Any, Variables], Any]
"""Gives the value of an expression for a document; raises DocumentError if it has none."""

Compiler = Callable[[Any, "Place"], Evaluator]
C = TypeVar("C", bound=Compiler)
F = TypeVar("F", bound=Callable[..., Any])

Kind = Callable[[str, Any], Any]
"""``kind(operator, value)`` gives the value as the operator takes it, or raises DocumentError."""


@dataclass(frozen=True)
class Place:
    """A place in a pipeline, and the variables that may be used there."""

    path: str
    variables: frozenset[str] = frozenset()

    def at(self, name: object) -> Place:
        """The place of the part of that name, or the number of an element."""
        step = f"[{name}]" if isinstance(name, int) else f".{name}" if self.path else str(name)
        return replace(self, path=self.path + step)

    def binding(self, *names: str) -> Place:
        return replace(self, variables=self.variables | set(names))

    def error(self, message: str) -> IllegalArgumentError:
        return IllegalArgumentError(f"{self.path}: {message}")

    def unknown(self, what: str, name: str, known: Iterable[str]) -> IllegalArgumentError:
        """An error for a name that is none, with those that are near, or what to write instead."""
        if name in _JAVASCRIPT:
            return self.error(
                f"{name} is not supported: JavaScript does not run here. Write the operators of expressions, or"
                " end the pipeline before this stage, call a Python function from p.results with map, and begin"
                " a second pipeline behind it."
            )
        near = difflib.get_close_matches(name, sorted(known), 3)
        fix = f"Did you mean {' or '.join(near)}?" if near else "docs/compat/atlas.md lists them."
        return self.error(f"there is no {what} {name}. {fix}")


class Compiled:
    """A dataclass that compiles its fields in ``__post_init__``: what travels is the fields."""

    def __reduce__(self) -> Any:
        kept: Any = self
        return type(self), tuple(getattr(self, f.name) for f in fields(kept) if f.init)


_JAVASCRIPT = frozenset({"$function", "$accumulator"})

OPERATORS: dict[str, Compiler] = {}
"""By name, with the dollar sign."""

_BUILT_IN = frozenset({"ROOT", "CURRENT", "NOW", "REMOVE"})


def compile_expression(expression: Any, place: Place) -> Evaluator:
    """The function that evaluates ``expression``, which stands at ``place``.

    Raises IllegalArgumentError for an operator or variable that there is not, or wrong arguments.
    """
    if isinstance(expression, str) and expression.startswith("$"):
        return _path(expression, place)
    if isinstance(expression, Mapping):
        return _object(expression, place)
    if isinstance(expression, (list, tuple)):
        elements = [compile_expression(e, place.at(i)) for i, e in enumerate(expression)]
        return lambda document, variables: [
            None if (value := element(document, variables)) is MISSING else value
            for element in elements
        ]
    return constant(expression)


def constant(value: Any) -> Evaluator:
    return lambda document, variables: value


# ---------------------------------------------------------------------- paths


def path_getter(names: Sequence[str]) -> Callable[[Any], Any]:
    """Follows a dotted path through documents, and through the elements of arrays."""
    if len(names) == 1:
        name = names[0]

        def get_one(value: Any) -> Any:
            if isinstance(value, dict):
                return value.get(name, MISSING)
            return _through(value, names)

        return get_one

    def get(value: Any) -> Any:
        for position, name in enumerate(names):
            if not isinstance(value, dict):
                return _through(value, names[position:])
            value = value.get(name, MISSING)
        return value

    return get


def _through(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, Mapping):
        inner = value.get(names[0], MISSING)
        return _through(inner, names[1:]) if len(names) > 1 else inner
    if isinstance(value, (list, tuple)):
        found = (
            _through(element, names) for element in value if isinstance(element, (Mapping, list))
        )
        return [inner for inner in found if inner is not MISSING]
    return MISSING


_OLD_METADATA: dict[tuple[str, ...], tuple[str, ...]] = {
    ("_stream_meta", "windowStartTimestamp"): ("_stream_meta", "window", "start"),
    ("_stream_meta", "windowEndTimestamp"): ("_stream_meta", "window", "end"),
    ("_stream_meta", "sourceType"): ("_stream_meta", "source", "type"),
}
"""The paths of these fields before 2024."""


def split_path(path: str, place: Place) -> tuple[str, ...]:
    """The names of a dotted path; raises IllegalArgumentError if one is empty or has a dollar sign."""
    names = tuple(path.split("."))
    if not all(names) or any(name.startswith("$") for name in names):
        raise place.error(f"{shown(path)} is no path of field names with dots between.")
    return _OLD_METADATA.get(names, names)


def _path(path: str, place: Place) -> Evaluator:
    if not path.startswith("$$"):
        return _field(split_path(path[1:], place))
    name, _, rest = path[2:].partition(".")
    if name not in _BUILT_IN and name not in place.variables:
        raise place.unknown(
            "variable", f"$${name}", [f"$${n}" for n in place.variables | _BUILT_IN]
        )
    if name == "REMOVE":
        return constant(MISSING)
    is_document = name in ("ROOT", "CURRENT")
    if not rest:
        if is_document:
            return lambda document, variables: document
        return lambda document, variables: variables[name]
    get = path_getter(split_path(rest, place))
    if is_document:
        return lambda document, variables: get(document)
    return lambda document, variables: get(variables[name])


def _field(names: tuple[str, ...]) -> Evaluator:
    get = path_getter(names)
    if len(names) > 1:
        return lambda document, variables: get(document)
    (name,) = names

    def field(document: Any, variables: Variables) -> Any:
        return document.get(name, MISSING) if type(document) is dict else get(document)

    return field


# ---------------------------------------------------------------------- operators


def _object(expression: Mapping[str, Any], place: Place) -> Evaluator:
    operators = [name for name in expression if name.startswith("$")]
    if operators:
        if len(expression) > 1:
            raise place.error(
                f"an expression has one operator, and nothing beside it; here are"
                f" {', '.join(expression)}."
            )
        (name,) = operators
        compiler = OPERATORS.get(name)
        if compiler is None:
            raise place.unknown("expression", name, OPERATORS)
        return compiler(expression[name], place.at(name))
    parts = [
        (name, compile_expression(inner, place.at(name))) for name, inner in expression.items()
    ]
    return lambda document, variables: {
        name: value for name, part in parts if (value := part(document, variables)) is not MISSING
    }


def arguments(argument: Any, place: Place, least: int, most: int | None) -> list[Evaluator]:
    """The arguments of an operator: a list of them, or the only one."""
    given = argument if isinstance(argument, (list, tuple)) else [argument]
    if len(given) < least or (most is not None and len(given) > most):
        several = f"{least} or more" if most is None else f"{least} to {most}"
        wanted = least if most == least else several
        raise place.error(f"takes {wanted} argument(s), and here are {len(given)}.")
    return [compile_expression(e, place.at(i)) for i, e in enumerate(given)]


def compiles(name: str) -> Callable[[C], C]:
    """Makes a function of an argument and its place the compiler of an operator."""

    def register(compiler: C) -> C:
        OPERATORS[name] = compiler
        return compiler

    return register


def operator(
    name: str, least: int, most: int | None = -1, nulls: bool = True, kinds: Sequence[Kind] = ()
) -> Callable[[F], F]:
    """Makes a function of values an operator of ``least`` to ``most`` arguments (-1: as many as
    ``least``, None: any number). With ``nulls`` it is null where an argument is null or missing.
    ``kinds``: those of the arguments; the last is that of all that follow."""
    highest = least if most == -1 else most

    def register(function: F) -> F:
        def compiler(argument: Any, place: Place) -> Evaluator:
            parts = arguments(argument, place, least, highest)
            return _call(_checked(function, name, kinds, len(parts)), parts, nulls)

        OPERATORS[name] = compiler
        return function

    return register


def operators(
    table: Mapping[str, tuple[Callable[..., Any], *tuple[Kind, ...]]], nulls: bool
) -> None:
    """Add operators: by name, the function of values and the kind of each argument."""
    for name, (function, *kinds) in table.items():
        operator(name, len(kinds), nulls=nulls, kinds=kinds)(function)


def any_value(name: str, value: Any) -> Any:
    """The kind of arguments that may be anything."""
    return value


def _checked(
    function: Callable[..., Any], name: str, kinds: Sequence[Kind], count: int
) -> Callable[..., Any]:
    """``function`` of ``count`` values, which are of ``kinds``."""
    if all(kind is any_value for kind in kinds):
        return function
    every = [*kinds, *[kinds[-1]] * count][:count]
    if count == 1:
        (only,) = every
        return lambda value: function(only(name, value))
    if count == 2:
        first, second = every
        return lambda left, right: function(first(name, left), second(name, right))
    return lambda *values: function(*[kind(name, v) for kind, v in zip(every, values)])


def _call(function: Callable[..., Any], parts: list[Evaluator], nulls: bool) -> Evaluator:
    if len(parts) == 1 and nulls:
        (only,) = parts
        return lambda document, variables: (
            None
            if (value := only(document, variables)) is None or value is MISSING
            else function(value)
        )
    if len(parts) == 1:
        (sole,) = parts
        return lambda document, variables: function(sole(document, variables))
    if len(parts) == 2 and not nulls:
        first, second = parts
        return lambda document, variables: function(
            first(document, variables), second(document, variables)
        )

    def call(document: Any, variables: Variables) -> Any:
        values = [part(document, variables) for part in parts]
        if nulls and any(map(is_null, values)):
            return None
        return function(*values)

    return call


def named_arguments(
    argument: Any, place: Place, required: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """A document of arguments; raises IllegalArgumentError where one is missing or unknown."""
    known = [*required, *optional]
    if not isinstance(argument, Mapping):
        raise place.error(f"takes a document with {', '.join(known)}, not {shown(argument)}.")
    for name in argument:
        if name not in known:
            raise place.unknown("argument", name, known)
    for name in required:
        if name not in argument:
            raise place.error(f"lacks {name}.")
    return argument


def named_operator(
    name: str, required: Sequence[str], nulls: Sequence[str] = (), **optional: Any
) -> Callable[[F], F]:
    """Makes a function of keywords an operator whose argument is a document. It is null where one of
    ``nulls`` is. ``optional``: further arguments and what they are if left out."""

    def register(function: F) -> F:
        def compiler(argument: Any, place: Place) -> Evaluator:
            given = named_arguments(argument, place, required, list(optional))
            parts = [
                (key, compile_expression(inner, place.at(key))) for key, inner in given.items()
            ]

            def call(document: Any, variables: Variables) -> Any:
                values = {**optional, **{key: part(document, variables) for key, part in parts}}
                if any(is_null(values[key]) for key in nulls):
                    return None
                return function(**values)

            return call

        OPERATORS[name] = compiler
        return function

    return register


# ---------------------------------------------------------------------- what is evaluated


@compiles("$cond")
def _cond(argument: Any, place: Place) -> Evaluator:
    if isinstance(argument, Mapping):
        named = named_arguments(argument, place, ("if", "then", "else"))
        argument = [named["if"], named["then"], named["else"]]
    condition, then, otherwise = arguments(argument, place, 3, 3)
    return lambda document, variables: (
        then(document, variables)
        if truth(condition(document, variables))
        else otherwise(document, variables)
    )


@compiles("$switch")
def _switch(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("branches",), ("default",))
    if not isinstance(named["branches"], (list, tuple)) or not named["branches"]:
        raise place.at("branches").error("needs a list of one or more branches.")
    branches = []
    for position, branch in enumerate(named["branches"]):
        where = place.at("branches").at(position)
        parts = named_arguments(branch, where, ("case", "then"))
        branches.append(
            (
                compile_expression(parts["case"], where.at("case")),
                compile_expression(parts["then"], where.at("then")),
            )
        )
    default = (
        compile_expression(named["default"], place.at("default")) if "default" in named else None
    )

    def call(document: Any, variables: Variables) -> Any:
        for case, then in branches:
            if truth(case(document, variables)):
                return then(document, variables)
        if default is None:
            raise DocumentError("$switch found no branch that matches, and there is no default")
        return default(document, variables)

    return call


@compiles("$let")
def _let(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("vars", "in"))
    bound = [
        (variable(name, place), compile_expression(inner, place.at("vars").at(name)))
        for name, inner in named["vars"].items()
    ]
    within = compile_expression(named["in"], place.at("in").binding(*named["vars"]))

    def call(document: Any, variables: Variables) -> Any:
        values = {name: part(document, variables) for name, part in bound}
        return within(document, {**variables, **values})

    return call


def variable(name: Any, place: Place) -> str:
    """``name``; raises IllegalArgumentError unless a variable may have it."""
    if not isinstance(name, str) or not name[:1].islower() or not name.isidentifier():
        raise place.error(
            f"{shown(name)} is no name of a variable, which begins with a small letter."
        )
    return name


OPERATORS["$literal"] = lambda argument, place: constant(argument)
OPERATORS["$expr"] = compile_expression


operators({"$type": (type_name, any_value), "$isNumber": (is_number, any_value)}, nulls=False)


@compiles("$meta")
def _meta(argument: Any, place: Place) -> Evaluator:
    names = argument.split(".") if isinstance(argument, str) else []
    if names[:1] != ["stream"]:
        raise place.error(
            f'{shown(argument)} is no path of stream metadata. Write "stream", or a part of it such as'
            ' "stream.window.start".'
        )
    get = path_getter(("_stream_meta", *names[1:]))
    return lambda document, variables: get(document)


@compiles("$currentDate")
def _now(argument: Any, place: Place) -> Evaluator:
    if argument not in ({}, [], None):
        raise place.error("takes an empty document: {$currentDate: {}}.")
    return lambda document, variables: variables["NOW"]


# ---------------------------------------------------------------------- orders


def sort_key(order: Any, place: Place) -> Callable[[Any], Any]:
    """A key for ``sorted`` from fields with 1 or -1: null and missing are equal, and an array counts as
    its lowest element, or the highest if the order falls."""
    if not isinstance(order, Mapping) or not order:
        raise place.error("is a document of fields with 1 or -1.")
    parts = []
    for path, direction in order.items():
        if isinstance(direction, bool) or direction not in (1, -1):
            raise place.at(path).error(f"the order is 1 or -1, not {direction!r}.")
        parts.append((path_getter(split_path(path, place)), int(direction)))

    def values(document: Any) -> list[Any]:
        return [_extreme(get(document), direction) for get, direction in parts]

    directions = [direction for _, direction in parts]

    def compared(left: list[Any], right: list[Any]) -> int:
        for value, other, direction in zip(left, right, directions):
            if found := compare(value, other):
                return found * direction
        return 0

    ordered = cmp_to_key(compared)
    return lambda document: ordered(values(document))


def _extreme(value: Any, direction: int) -> Any:
    if value is MISSING:
        return None
    if isinstance(value, (list, tuple)):
        if not value:
            return MISSING
        return min(value, key=ORDER) if direction > 0 else max(value, key=ORDER)
    return value
