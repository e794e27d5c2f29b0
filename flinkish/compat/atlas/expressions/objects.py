"""Operators of documents and their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.compat.atlas.bson.values import MISSING, DocumentError, is_null, type_name
from flinkish.compat.atlas.expressions.arrays import array
from flinkish.compat.atlas.expressions.compiler import (
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
)


def document(name: str, value: Any) -> dict[str, Any]:
    """``value``; raises DocumentError unless it is a document."""
    if not isinstance(value, Mapping):
        raise DocumentError(f"{name} requires an object, but found {type_name(value)}")
    return value if isinstance(value, dict) else dict(value)


@compiles("$mergeObjects")
def _merge(argument: Any, place: Place) -> Evaluator:
    parts = arguments(argument, place, 0, None)

    def call(root: Any, variables: Variables) -> Any:
        values = [part(root, variables) for part in parts]
        if len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = list(values[0])
        merged: dict[str, Any] = {}
        for value in values:
            if not is_null(value):
                merged.update(document("$mergeObjects", value))
        return merged

    return call


def _to_object(elements: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for element in elements:
        if isinstance(element, Mapping) and set(element) == {"k", "v"}:
            key, inner = element["k"], element["v"]
        elif isinstance(element, (list, tuple)) and len(element) == 2:
            key, inner = element
        else:
            raise DocumentError(
                "$arrayToObject requires an array of key-value pairs, which are {k, v} or [k, v],"
                f" found: {type_name(element)}"
            )
        if not isinstance(key, str):
            raise DocumentError(f"$arrayToObject requires strings as keys, found {type_name(key)}")
        found[key] = inner
    return found


def _named_field(argument: Any, place: Place, *further: str) -> tuple[Evaluator, Mapping[str, Any]]:
    if not isinstance(argument, Mapping):
        argument = {"field": argument}
    named = named_arguments(argument, place, ("field", *further), ("input",))
    field = named["field"]
    if isinstance(field, str) and not field.startswith("$"):
        return constant(field), named
    return compile_expression(field, place.at("field")), named


@compiles("$getField")
def _get_field(argument: Any, place: Place) -> Evaluator:
    field, named = _named_field(argument, place)
    source = compile_expression(named.get("input", "$$CURRENT"), place.at("input"))

    def call(root: Any, variables: Variables) -> Any:
        value, name = source(root, variables), field(root, variables)
        if value is None:
            return None
        if not isinstance(name, str):
            raise DocumentError(
                f"$getField requires 'field' to be a string, found {type_name(name)}"
            )
        return value.get(name, MISSING) if isinstance(value, Mapping) else MISSING

    return call


def _setting(name: str, *further: str) -> None:
    """An operator that gives a field a ``value``, or removes it if that is missing."""

    @compiles(name)
    def compiler(argument: Any, place: Place) -> Evaluator:
        field, named = _named_field(argument, place, "input", *further)
        source = compile_expression(named["input"], place.at("input"))
        new = compile_expression(named.get("value", "$$REMOVE"), place.at("value"))

        def call(root: Any, variables: Variables) -> Any:
            value = source(root, variables)
            if is_null(value):
                return None
            changed = dict(document(name, value))
            inner = new(root, variables)
            if inner is MISSING:
                changed.pop(field(root, variables), None)
            else:
                changed[field(root, variables)] = inner
            return changed

        return call


_setting("$setField", "value")
_setting("$unsetField")


_FIXED = {
    "double": 8,
    "objectId": 12,
    "bool": 1,
    "date": 8,
    "null": 0,
    "int": 4,
    "timestamp": 8,
    "long": 8,
    "decimal": 16,
    "minKey": 0,
    "maxKey": 0,
}


def _size(value: Any) -> int:
    """The bytes of a value, without its name; of a document as a whole."""
    kind = type_name(value)
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "object":
        return 5 + sum(2 + len(name.encode()) + _size(inner) for name, inner in value.items())
    if kind == "array":
        return 5 + sum(2 + len(str(i)) + _size(inner) for i, inner in enumerate(value))
    if kind == "string":
        return 5 + len(value.encode())
    if kind == "regex":
        return 2 + len(value.pattern.encode())
    return 5 + len(getattr(value, "bytes", value))


def _binary_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    raise DocumentError(
        f"$binarySize requires a string or BinData argument, found: {type_name(value)}"
    )


operators(
    {
        "$arrayToObject": (_to_object, array),
        "$binarySize": (_binary_size, any_value),
        "$bsonSize": (_size, document),
        "$objectToArray": (lambda found: [{"k": k, "v": v} for k, v in found.items()], document),
    },
    nulls=True,
)
