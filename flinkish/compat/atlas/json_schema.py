"""``$jsonSchema`` as MongoDB has it: draft 4 without references, with BSON's types.

The keywords are few, and no validator of JSON knows BSON's types, so they are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import NUMBERS, TYPE_CODES, is_number, key_of, type_name
from flinkish.compat.atlas.expressions.compiler import Place

Violation = Callable[[Any], str | None]
"""Says what is wrong with a value, or None."""

_JSON_TYPES = {
    "object": {"object"},
    "array": {"array"},
    "number": set(NUMBERS),
    "boolean": {"bool"},
    "string": {"string"},
    "null": {"null"},
}
_BSON_TYPES = {name: {name} for name in TYPE_CODES.values()} | {"number": set(NUMBERS)}


def compile_schema(schema: Any, place: Place) -> Violation:
    """The function that says how a value violates ``schema``.

    Raises IllegalArgumentError for a keyword that there is not.
    """
    if not isinstance(schema, Mapping):
        raise place.error(f"a schema is a document, not {shown(schema)}.")
    checks = []
    for keyword, argument in schema.items():
        if keyword in ("title", "description", "$comment") or keyword in _BESIDE:
            continue
        if keyword not in _KEYWORDS:
            raise place.unknown("keyword of a schema", keyword, (*_KEYWORDS, *_BESIDE))
        checks.append(_KEYWORDS[keyword](argument, schema, place.at(keyword)))

    def violation(value: Any) -> str | None:
        for check in checks:
            if (found := check(value)) is not None:
                return found
        return None

    return violation


_BESIDE = ("exclusiveMinimum", "exclusiveMaximum", "additionalItems")
"""Keywords that another one reads."""


def named_types(names: Any, place: Place, known: Mapping[str, set[str]] = _BSON_TYPES) -> set[str]:
    """The types of a name, or of a list of names."""
    found: set[str] = set()
    for name in names if isinstance(names, (list, tuple)) else [names]:
        if not isinstance(name, str) or name not in known:
            raise place.unknown("type", str(name), known)
        found |= known[name]
    return found


def _types(known: Mapping[str, set[str]]) -> Callable[[Any, Any, Place], Violation]:
    def keyword(argument: Any, schema: Any, place: Place) -> Violation:
        names = named_types(argument, place, known)
        return lambda value: (
            None if type_name(value) in names else f"is of type {type_name(value)}, not {argument}"
        )

    return keyword


def _if(kind: Callable[[Any], bool], fits: Callable[[Any], bool], message: str) -> Violation:
    return lambda value: message if kind(value) and not fits(value) else None


def _is(*types: type[Any]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


_is_text, _is_array, _is_document = _is(str), _is(list, tuple), _is(Mapping)


def _minimum(least: Any, schema: Any, place: Place) -> Violation:
    if schema.get("exclusiveMinimum"):
        return _if(is_number, lambda value: value > least, f"is not above {least}")
    return _if(is_number, lambda value: value >= least, f"is below {least}")


def _maximum(most: Any, schema: Any, place: Place) -> Violation:
    if schema.get("exclusiveMaximum"):
        return _if(is_number, lambda value: value < most, f"is not below {most}")
    return _if(is_number, lambda value: value <= most, f"is above {most}")


def _first_of(violations: Callable[[Mapping[str, Any]], Iterator[str]]) -> Violation:
    """The first of the violations of a document."""
    return lambda value: next(violations(value), None) if isinstance(value, Mapping) else None


def _pattern(pattern: Any, schema: Any, place: Place) -> Violation:
    found = compiled(pattern)
    return _if(_is_text, lambda value: bool(found.search(value)), f"does not match {pattern}")


def _required(names: Any, schema: Any, place: Place) -> Violation:
    return _first_of(lambda value: (f"lacks the field {n}" for n in names if n not in value))


def _within(fields: Iterable[tuple[str, Violation, Any]]) -> Iterator[str]:
    """The violations of fields, each with its name, check and value."""
    for name, check, value in fields:
        if (found := check(value)) is not None:
            yield f"{name}: {found}"


def _properties(properties: Any, schema: Any, place: Place) -> Violation:
    checks = {name: compile_schema(inner, place.at(name)) for name, inner in properties.items()}
    return _first_of(
        lambda value: _within((n, check, value[n]) for n, check in checks.items() if n in value)
    )


def _pattern_properties(properties: Any, schema: Any, place: Place) -> Violation:
    checks = [
        (compiled(pattern), compile_schema(inner, place.at(pattern)))
        for pattern, inner in properties.items()
    ]
    return _first_of(
        lambda value: _within(
            (name, check, inner)
            for name, inner in value.items()
            for pattern, check in checks
            if pattern.search(name)
        )
    )


def _additional(argument: Any, schema: Any, place: Place) -> Violation:
    declared = set(schema.get("properties", ()))
    patterns = [compiled(pattern) for pattern in schema.get("patternProperties", ())]
    check = None if isinstance(argument, bool) else compile_schema(argument, place)

    def violations(value: Mapping[str, Any]) -> Iterator[str]:
        further = {
            name: inner
            for name, inner in value.items()
            if name not in declared and not any(pattern.search(name) for pattern in patterns)
        }
        if argument is False:
            return (f"has the field {name}, which is not allowed" for name in further)
        return _within((name, check, inner) for name, inner in further.items() if check)

    return _first_of(violations)


def _items(items: Any, schema: Any, place: Place) -> Violation:
    further = schema.get("additionalItems", True)
    each = None if isinstance(items, (list, tuple)) else compile_schema(items, place)
    listed = [] if each else [compile_schema(inner, place.at(i)) for i, inner in enumerate(items)]
    rest = compile_schema(further, place) if isinstance(further, Mapping) else None

    def violation(value: Any) -> str | None:
        for position, element in enumerate(value) if _is_array(value) else ():
            check = each or (listed[position] if position < len(listed) else rest)
            if check is None and further is False:
                return f"has more than {len(listed)} elements"
            if check is not None and (found := check(element)) is not None:
                return f"[{position}]: {found}"
        return None

    return violation


def _combined(fits: Callable[[int, int], bool], message: str) -> Any:
    def keyword(schemas: Any, schema: Any, place: Place) -> Violation:
        checks = [compile_schema(inner, place.at(i)) for i, inner in enumerate(schemas)]
        return lambda value: (
            None if fits(sum(c(value) is None for c in checks), len(checks)) else message
        )

    return keyword


def _not(inner: Any, schema: Any, place: Place) -> Violation:
    check = compile_schema(inner, place)
    return lambda value: "fits a schema that it must not" if check(value) is None else None


def _enum(values: Any, schema: Any, place: Place) -> Violation:
    keys = {key_of(value) for value in values}
    return lambda value: None if key_of(value) in keys else f"is none of {shown(values)}"


def _dependencies(dependencies: Any, schema: Any, place: Place) -> Violation:
    checks = {
        name: _required(inner, schema, place)
        if isinstance(inner, (list, tuple))
        else compile_schema(inner, place.at(name))
        for name, inner in dependencies.items()
    }
    return _first_of(
        lambda value: filter(None, (check(value) for n, check in checks.items() if n in value))
    )


def _unique(wanted: Any, schema: Any, place: Place) -> Violation:
    def distinct(value: Any) -> bool:
        return len({key_of(element) for element in value}) == len(value)

    return _if(_is_array, lambda value: not wanted or distinct(value), "has an element twice")


def _count(kind: Callable[[Any], bool], least: bool, what: str) -> Any:
    def keyword(bound: Any, schema: Any, place: Place) -> Violation:
        message = f"has {'fewer' if least else 'more'} than {bound} {what}"
        return _if(
            kind, lambda value: len(value) >= bound if least else len(value) <= bound, message
        )

    return keyword


_KEYWORDS: dict[str, Callable[[Any, Any, Place], Violation]] = {
    "bsonType": _types(_BSON_TYPES),
    "type": _types(_JSON_TYPES),
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "minimum": _minimum,
    "maximum": _maximum,
    "multipleOf": lambda by, schema, place: _if(
        is_number, lambda value: value % by == 0, f"is no multiple of {by}"
    ),
    "minLength": _count(_is_text, True, "characters"),
    "maxLength": _count(_is_text, False, "characters"),
    "pattern": _pattern,
    "enum": _enum,
    "items": _items,
    "minItems": _count(_is_array, True, "elements"),
    "maxItems": _count(_is_array, False, "elements"),
    "uniqueItems": _unique,
    "minProperties": _count(_is_document, True, "fields"),
    "maxProperties": _count(_is_document, False, "fields"),
    "dependencies": _dependencies,
    "allOf": _combined(lambda count, of: count == of, "does not fit all of its schemas"),
    "anyOf": _combined(lambda count, of: count > 0, "fits none of its schemas"),
    "oneOf": _combined(lambda count, of: count == 1, "does not fit exactly one of its schemas"),
    "not": _not,
}
