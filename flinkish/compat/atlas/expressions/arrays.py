"""Operators of arrays, sets and documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.values import (
    MISSING,
    ORDER,
    DocumentError,
    equal,
    is_null,
    key_of,
    truth,
    type_name,
)
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
    named_operator,
    operator,
    operators,
    sort_key,
    variable,
)


def array(
    name: str, value: Any, error: str = "{name} requires an array, but found {kind}"
) -> list[Any]:
    """``value``; raises DocumentError unless it is an array."""
    if not isinstance(value, (list, tuple)):
        raise DocumentError(error.format(name=name, kind=type_name(value)))
    return value if isinstance(value, list) else list(value)


# In the words of MongoDB, by which a reader of dead letters looks for them
_sized = partial(array, error="The argument to {name} must be an array, but was of type: {kind}")
_searched = partial(array, error="{name} requires an array as a second argument, found: {kind}")


def count_of(name: str, n: Any) -> int:
    """``n``; raises DocumentError unless it is a whole number above 0."""
    count = whole(f"{name}: n", n)
    if count <= 0:
        raise DocumentError(f"{name}: n must be greater than 0, not {count}")
    return count


def _set(name: str, value: Any) -> dict[Any, Any]:
    """The different elements of an array by their keys."""
    found: dict[Any, Any] = {}
    for element in array(name, value):
        found.setdefault(key_of(element), element)
    return found


def _sorted(found: dict[Any, Any]) -> list[Any]:
    return sorted(found.values(), key=ORDER)


def _element(elements: list[Any], position: int) -> Any:
    return elements[position] if -len(elements) <= position < len(elements) else MISSING


def _difference(left: dict[Any, Any], right: dict[Any, Any]) -> list[Any]:
    return [element for key, element in left.items() if key not in right]


operators(
    {
        "$arrayElemAt": (_element, array, whole),
        "$first": (lambda elements: _element(elements, 0), array),
        "$last": (lambda elements: _element(elements, -1), array),
        "$reverseArray": (lambda elements: elements[::-1], array),
        "$setDifference": (_difference, _set, _set),
    },
    nulls=True,
)
operators(
    {
        "$isArray": (lambda value: isinstance(value, (list, tuple)), any_value),
        "$size": (len, _sized),
        "$in": (lambda value, found: any(equal(value, e) for e in found), any_value, _searched),
        "$setIsSubset": (lambda left, right: left.keys() <= right.keys(), _set, _set),
        "$anyElementTrue": (lambda elements: any(map(truth, elements)), array),
        "$allElementsTrue": (lambda elements: all(map(truth, elements)), array),
    },
    nulls=False,
)


@operator("$slice", 2, 3, kinds=(array, whole, any_value))
def _slice(elements: list[Any], position: int, count: Any = None) -> list[Any]:
    if count is None:
        return elements[:position] if position >= 0 else elements[position:]
    start = position if position >= 0 else max(len(elements) + position, 0)
    return elements[start : start + count_of("$slice", count)]


@operator("$indexOfArray", 2, 4, nulls=False)
def _index_of(value: Any, wanted: Any, *bounds: Any) -> int | None:
    if is_null(value):
        return None
    elements = array("$indexOfArray", value)
    limits = [whole("$indexOfArray", bound) for bound in bounds]
    start, end = (limits + [0, len(elements)][len(limits) :])[:2]
    for position in range(start, min(end, len(elements))):
        if equal(elements[position], wanted):
            return position
    return -1


@operator("$concatArrays", 0, None, kinds=(array,))
def _concat(*values: list[Any]) -> list[Any]:
    return [element for value in values for element in value]


@operator("$range", 2, 3, nulls=False, kinds=(whole,))
def _range(first: int, last: int, step: int = 1) -> list[int]:
    if step == 0:
        raise DocumentError("$range requires a non-zero step value")
    return list(range(first, last, step))


@operator("$setUnion", 0, None, kinds=(array,))
def _union(*values: list[Any]) -> list[Any]:
    return _sorted(_set("$setUnion", _concat(*values)))


@operator("$setIntersection", 0, None, kinds=(_set,))
def _intersection(*sets: dict[Any, Any]) -> list[Any]:
    if not sets:
        return []
    return _sorted({k: e for k, e in sets[0].items() if all(k in other for other in sets[1:])})


@operator("$setEquals", 2, None, nulls=False, kinds=(_set,))
def _equals(first: dict[Any, Any], *others: dict[Any, Any]) -> bool:
    return all(first.keys() == other.keys() for other in others)


def _first_of(name: str, chosen: Callable[[list[Any], int], list[Any]]) -> None:
    @named_operator(name, ("n", "input"))
    def call(n: Any, input: Any) -> list[Any]:  # noqa: A002 - MongoDB's name
        return chosen(array(name, input), count_of(name, n))


def _ordered(elements: list[Any], reverse: bool) -> list[Any]:
    return sorted((e for e in elements if not is_null(e)), key=ORDER, reverse=reverse)


_first_of("$firstN", lambda elements, n: elements[:n])
_first_of("$lastN", lambda elements, n: elements[-n:])
_first_of("$maxN", lambda elements, n: _ordered(elements, reverse=True)[:n])
_first_of("$minN", lambda elements, n: _ordered(elements, reverse=False)[:n])


@compiles("$zip")
def _zip(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("inputs",), ("useLongestLength", "defaults"))
    inputs = compile_expression(named["inputs"], place.at("inputs"))
    defaults = compile_expression(named.get("defaults"), place.at("defaults"))
    longest = bool(named.get("useLongestLength", False))

    def call(document: Any, variables: Variables) -> Any:
        arrays = inputs(document, variables)
        if any(map(is_null, arrays)):
            return None
        lists = [array("$zip", value) for value in arrays]
        fill = defaults(document, variables) or [None] * len(lists)
        lengths = [len(elements) for elements in lists]
        return [
            [e[i] if i < len(e) else fill[position] for position, e in enumerate(lists)]
            for i in range((max if longest else min)(lengths, default=0))
        ]

    return call


# ---------------------------------------------------------------------- each element


def _over_input(
    name: str,
    named: Mapping[str, Any],
    place: Place,
    call: Callable[[list[Any], Any, Variables], Any],
) -> Evaluator:
    """``call(elements, document, variables)`` of the elements of ``input``, which the variables are
    a copy for; null if that is null."""
    source = compile_expression(named["input"], place.at("input"))

    def over(document: Any, variables: Variables) -> Any:
        value = source(document, variables)
        return None if is_null(value) else call(array(name, value), document, dict(variables))

    return over


@compiles("$sortArray")
def _sort_array(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "sortBy"))
    order, by = named["sortBy"], place.at("sortBy")
    if not isinstance(order, Mapping) and order not in (1, -1):
        raise by.error("is 1, -1 or a document of fields with 1 or -1.")
    key: Any = sort_key(order, by) if isinstance(order, Mapping) else ORDER

    def call(elements: list[Any], document: Any, variables: Variables) -> list[Any]:
        return sorted(elements, key=key, reverse=order == -1)

    return _over_input("$sortArray", named, place, call)


@compiles("$map")
def _map(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "in"), ("as", "arrayIndexAs"))
    name = variable(named.get("as", "this"), place.at("as"))
    within = compile_expression(named["in"], place.at("in").binding(name))

    def call(elements: list[Any], document: Any, variables: Variables) -> list[Any]:
        results = []
        for element in elements:
            variables[name] = element
            result = within(document, variables)
            results.append(None if result is MISSING else result)
        return results

    return _over_input("$map", named, place, call)


@compiles("$filter")
def _filter(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "cond"), ("as", "limit"))
    name = variable(named.get("as", "this"), place.at("as"))
    condition = compile_expression(named["cond"], place.at("cond").binding(name))
    limit = compile_expression(named.get("limit"), place.at("limit"))

    def call(elements: list[Any], document: Any, variables: Variables) -> list[Any]:
        most = limit(document, variables)
        kept: list[Any] = []
        for element in elements:
            variables[name] = element
            if truth(condition(document, variables)):
                kept.append(element)
        return kept if is_null(most) else kept[: count_of("$filter: limit", most)]

    return _over_input("$filter", named, place, call)


@compiles("$reduce")
def _reduce(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "initialValue", "in"))
    initial = compile_expression(named["initialValue"], place.at("initialValue"))
    within = compile_expression(named["in"], place.at("in").binding("this", "value"))

    def call(elements: list[Any], document: Any, variables: Variables) -> Any:
        variables["value"] = initial(document, variables)
        for element in elements:
            variables["this"] = element
            variables["value"] = within(document, variables)
        return variables["value"]

    return _over_input("$reduce", named, place, call)


# ---------------------------------------------------------------------- documents


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
