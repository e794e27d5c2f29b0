"""Operators that decide what is evaluated: conditions, variables, literals, types, metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.values import DocumentError, is_number, truth, type_name
from flinkish.compat.atlas.expressions.compiler import (
    OPERATORS,
    Evaluator,
    Place,
    Variables,
    any_value,
    arguments,
    compile_expression,
    compiles,
    constant,
    named_arguments,
    operators,
    path_getter,
)


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
