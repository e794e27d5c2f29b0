"""The queries of ``$match``: compiled once to functions that say whether a document fits.

A path goes through documents and the elements of arrays; a condition holds for an array if it holds for the
array or one of its elements. Comparisons see values of their own type only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flinkish.api.errors import shown
from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import (
    MISSING,
    TYPE_CODES,
    DocumentError,
    compare,
    is_nan,
    is_null,
    is_number,
    key_of,
    rank,
    truth,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import Place, Variables, compile_expression
from flinkish.compat.atlas.json_schema import compile_schema, named_types

Query = Callable[[Any, Variables], bool]
"""Whether a document fits."""

Test = Callable[[Any], bool]
"""Whether a value fits; arrays are given as they are, and then element by element."""


def compile_query(query: Any, place: Place) -> Query:
    """The function that says whether a document fits ``query``.

    Raises IllegalArgumentError for an operator that there is not, or wrong arguments.
    """
    if not isinstance(query, Mapping):
        raise place.error(f"a query is a document, not {shown(query)}.")
    parts = [_clause(name, inner, place.at(name)) for name, inner in query.items()]
    if len(parts) == 1:
        return parts[0]
    return lambda document, variables: all(part(document, variables) for part in parts)


def _clause(name: str, inner: Any, place: Place) -> Query:
    if not name.startswith("$"):
        condition = _field(inner, place)
        names = name.split(".")
        return lambda document, variables: condition(document, names)
    if name in ("$and", "$or", "$nor"):
        if not isinstance(inner, (list, tuple)) or not inner:
            raise place.error("takes a list of one or more queries.")
        parts = [compile_query(query, place.at(i)) for i, query in enumerate(inner)]
        if name == "$and":
            return lambda document, variables: all(part(document, variables) for part in parts)
        wanted = name == "$or"
        return lambda document, variables: (
            any(part(document, variables) for part in parts) is wanted
        )
    if name == "$expr":
        expression = compile_expression(inner, place)
        return lambda document, variables: truth(expression(document, variables))
    if name == "$jsonSchema":
        violation = compile_schema(inner, place)
        return lambda document, variables: violation(document) is None
    if name == "$comment":
        return lambda document, variables: True
    if name in ("$text", "$where", "$near", "$nearSphere"):
        raise place.error(
            f"{name} needs an index or JavaScript, and streams have neither. Use $expr or $regexMatch."
        )
    raise place.unknown(
        "query operator", name, ("$and", "$or", "$nor", "$expr", "$jsonSchema", "$comment")
    )


# ---------------------------------------------------------------------- paths


def leaves(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """The values at a path, MISSING where a document lacks it."""
    if not names:
        yield value
    elif isinstance(value, Mapping):
        inner = value.get(names[0], MISSING)
        if inner is MISSING:
            yield MISSING
        else:
            yield from leaves(inner, names[1:])
    elif isinstance(value, (list, tuple)):
        if names[0].isdecimal() and int(names[0]) < len(value):
            yield from leaves(value[int(names[0])], names[1:])
        for element in value:
            if isinstance(element, Mapping):
                yield from leaves(element, names)
    else:
        yield MISSING


_Condition = Callable[[Any, Sequence[str]], bool]


def _any_element(test: Test) -> _Condition:
    """True if a value at the path fits, or an element of one."""

    def condition(document: Any, names: Sequence[str]) -> bool:
        for leaf in leaves(document, names):
            if test(leaf):
                return True
            if isinstance(leaf, (list, tuple)) and any(map(test, leaf)):
                return True
        return False

    return condition


def _whole_value(test: Test) -> _Condition:
    return lambda document, names: any(map(test, leaves(document, names)))


def _negated(condition: _Condition) -> _Condition:
    return lambda document, names: not condition(document, names)


# ---------------------------------------------------------------------- conditions


def is_operators(value: Any) -> bool:
    """Whether a document in a query has operators rather than fields."""
    return isinstance(value, Mapping) and any(name.startswith("$") for name in value)


def _field(inner: Any, place: Place) -> _Condition:
    if not is_operators(inner):
        return _any_element(_equals(inner))
    known = set(_OPERATORS) | {"$options"}
    parts = []
    for name, argument in inner.items():
        if name == "$options":
            continue
        if name not in known:
            raise place.unknown("query operator", name, known)
        where = place.at(name)
        if name == "$regex":
            parts.append(_regex(argument, inner.get("$options"), where))
        else:
            parts.append(_OPERATORS[name](argument, where))
    if len(parts) == 1:
        return parts[0]
    return lambda document, names: all(part(document, names) for part in parts)


def _equals(wanted: Any) -> Test:
    if isinstance(wanted, re.Pattern):
        return _searches(wanted)
    if wanted is None:
        return is_null
    if isinstance(wanted, str):
        return lambda value: value == wanted and isinstance(value, str)
    return lambda value: compare(value, wanted) == 0


def _searches(pattern: re.Pattern[str]) -> Test:
    return lambda value: (
        (isinstance(value, str) and pattern.search(value) is not None)
        or (isinstance(value, re.Pattern) and value == pattern)
    )


def _regex(argument: Any, options: Any, place: Place) -> _Condition:
    try:
        return _any_element(_searches(compiled(argument, options)))
    except DocumentError as error:
        raise place.error(f"{error}.") from None


def _ordered(accepts: Callable[[int], bool], null: bool) -> Callable[[Any, Place], _Condition]:
    """A comparison with values of the same type; ``null``: whether null fits itself."""

    def condition(wanted: Any, place: Place) -> _Condition:
        if is_null(wanted):
            return _any_element(lambda value: null and is_null(value))
        if is_nan(wanted):
            return _any_element(lambda value: null and is_nan(value))
        kind = rank(wanted)
        return _any_element(
            lambda value: (
                rank(value) == kind and not is_nan(value) and accepts(compare(value, wanted))
            )
        )

    return condition


def _in(wanted: Any, place: Place) -> _Condition:
    if not isinstance(wanted, (list, tuple)):
        raise place.error("takes a list of values.")
    tests = [_equals(w) for w in wanted if isinstance(w, re.Pattern) or w is None]
    keys = {key_of(w) for w in wanted if not isinstance(w, re.Pattern)}
    return _any_element(lambda value: key_of(value) in keys or any(t(value) for t in tests))


def _exists(wanted: Any, place: Place) -> _Condition:
    there = truth(wanted)
    return lambda document, names: (
        any(leaf is not MISSING for leaf in leaves(document, names)) is there
    )


def _type(wanted: Any, place: Place) -> _Condition:
    given = wanted if isinstance(wanted, (list, tuple)) else [wanted]
    names = named_types([TYPE_CODES.get(int(t), t) if is_number(t) else t for t in given], place)
    return _any_element(lambda value: type_name(value) in names)


def _size(wanted: Any, place: Place) -> _Condition:
    count = whole("$size", wanted)
    return _whole_value(lambda value: isinstance(value, (list, tuple)) and len(value) == count)


def _all(wanted: Any, place: Place) -> _Condition:
    if not isinstance(wanted, (list, tuple)):
        raise place.error("takes a list of values.")
    parts = [
        _elem_match(w["$elemMatch"], place.at(i))
        if isinstance(w, Mapping) and "$elemMatch" in w
        else _any_element(_equals(w))
        for i, w in enumerate(wanted)
    ]
    return lambda document, names: bool(parts) and all(part(document, names) for part in parts)


def _elem_match(wanted: Any, place: Place) -> _Condition:
    if not isinstance(wanted, Mapping):
        raise place.error(f"takes a query, not {shown(wanted)}.")
    if is_operators(wanted) and not set(wanted) & {"$and", "$or", "$nor"}:
        condition = _field(wanted, place)
        fits: Test = lambda element: condition({"": element}, ("",))  # noqa: E731
    else:
        query = compile_query(wanted, place)
        fits = lambda element: isinstance(element, (Mapping, list)) and query(element, {})  # noqa: E731
    return _whole_value(lambda value: isinstance(value, (list, tuple)) and any(map(fits, value)))


def _not(wanted: Any, place: Place) -> _Condition:
    if isinstance(wanted, re.Pattern):
        return _negated(_any_element(_searches(wanted)))
    if not is_operators(wanted):
        raise place.error("takes a document of operators, or a regular expression.")
    return _negated(_field(wanted, place))


def _mod(wanted: Any, place: Place) -> _Condition:
    if not isinstance(wanted, (list, tuple)) or len(wanted) != 2 or not all(map(is_number, wanted)):
        raise place.error("takes a list of a divisor and a remainder.")
    divisor, remainder = int(wanted[0]), int(wanted[1])
    if divisor == 0:
        raise place.error("the divisor must not be 0.")

    def fits(value: Any) -> bool:
        if not is_number(value) or is_nan(value) or abs(value) > 1 << 63:
            return False
        rest = abs(int(value)) % abs(divisor)
        return (rest if value >= 0 else -rest) == remainder

    return _any_element(fits)


def _bits(accepts: Callable[[int, int], bool]) -> Callable[[Any, Place], _Condition]:
    def condition(wanted: Any, place: Place) -> _Condition:
        positions = wanted if isinstance(wanted, (list, tuple)) else None
        mask = int(wanted) if positions is None else sum(1 << int(bit) for bit in positions)
        return _any_element(
            lambda value: (
                is_number(value)
                and not is_nan(value)
                and value == int(value)
                and accepts(int(value), mask)
            )
        )

    return condition


_OPERATORS: dict[str, Callable[[Any, Place], _Condition]] = {
    "$eq": lambda wanted, place: _any_element(_equals(wanted)),
    "$ne": lambda wanted, place: _negated(_any_element(_equals(wanted))),
    "$gt": _ordered(lambda found: found > 0, null=False),
    "$gte": _ordered(lambda found: found >= 0, null=True),
    "$lt": _ordered(lambda found: found < 0, null=False),
    "$lte": _ordered(lambda found: found <= 0, null=True),
    "$in": _in,
    "$nin": lambda wanted, place: _negated(_in(wanted, place)),
    "$exists": _exists,
    "$type": _type,
    "$regex": lambda wanted, place: _regex(wanted, None, place),
    "$size": _size,
    "$all": _all,
    "$elemMatch": _elem_match,
    "$not": _not,
    "$mod": _mod,
    "$bitsAllSet": _bits(lambda value, mask: value & mask == mask),
    "$bitsAnySet": _bits(lambda value, mask: value & mask != 0),
    "$bitsAllClear": _bits(lambda value, mask: value & mask == 0),
    "$bitsAnyClear": _bits(lambda value, mask: value & mask != mask),
}
