"""Operators of arrays and sets."""

from __future__ import annotations

from collections.abc import Mapping
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
    OPERATORS,
    Evaluator,
    Place,
    Variables,
    compile_expression,
    constant,
    named_arguments,
    named_operator,
    operator,
)
from flinkish.compat.atlas.expressions.control import variable
from flinkish.compat.atlas.expressions.sorting import sort_key


def array(name: str, value: Any) -> list[Any]:
    """``value``; raises DocumentError unless it is an array."""
    if not isinstance(value, (list, tuple)):
        raise DocumentError(f"{name} requires an array, but found {type_name(value)}")
    return value if isinstance(value, list) else list(value)


@operator("$isArray", 1, nulls=False)
def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple))


@operator("$size", 1, nulls=False)
def _size(value: Any) -> int:
    if not isinstance(value, (list, tuple)):
        raise DocumentError(
            f"The argument to $size must be an array, but was of type: {type_name(value)}"
        )
    return len(value)


@operator("$arrayElemAt", 2)
def _element(value: Any, index: Any) -> Any:
    elements, position = array("$arrayElemAt", value), whole("$arrayElemAt", index)
    return elements[position] if -len(elements) <= position < len(elements) else MISSING


@operator("$first", 1)
def _first(value: Any) -> Any:
    elements = array("$first", value)
    return elements[0] if elements else MISSING


@operator("$last", 1)
def _last(value: Any) -> Any:
    elements = array("$last", value)
    return elements[-1] if elements else MISSING


def count_of(name: str, n: Any) -> int:
    """``n``; raises DocumentError unless it is a whole number above 0."""
    count = whole(f"{name}: n", n)
    if count <= 0:
        raise DocumentError(f"{name}: n must be greater than 0, not {count}")
    return count


@named_operator("$firstN", ("n", "input"))
def _first_n(n: Any, input: Any) -> Any:  # noqa: A002 - MongoDB's name
    return array("$firstN", input)[: count_of("$firstN", n)]


@named_operator("$lastN", ("n", "input"))
def _last_n(n: Any, input: Any) -> Any:  # noqa: A002 - MongoDB's name
    return array("$lastN", input)[-count_of("$lastN", n) :]


@named_operator("$maxN", ("n", "input"))
def _max_n(n: Any, input: Any) -> Any:  # noqa: A002 - MongoDB's name
    found = [e for e in array("$maxN", input) if not is_null(e)]
    return sorted(found, key=ORDER, reverse=True)[: count_of("$maxN", n)]


@named_operator("$minN", ("n", "input"))
def _min_n(n: Any, input: Any) -> Any:  # noqa: A002 - MongoDB's name
    found = [e for e in array("$minN", input) if not is_null(e)]
    return sorted(found, key=ORDER)[: count_of("$minN", n)]


@operator("$slice", 2, 3)
def _slice(value: Any, first: Any, count: Any = None) -> list[Any]:
    elements, position = array("$slice", value), whole("$slice", first)
    if count is None:
        return elements[:position] if position >= 0 else elements[position:]
    length = count_of("$slice", count)
    start = position if position >= 0 else max(len(elements) + position, 0)
    return elements[start : start + length]


@operator("$in", 2, nulls=False)
def _in(value: Any, elements: Any) -> bool:
    if not isinstance(elements, (list, tuple)):
        raise DocumentError(
            f"$in requires an array as a second argument, found: {type_name(elements)}"
        )
    return any(equal(value, element) for element in elements)


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


@operator("$concatArrays", 0, None)
def _concat(*values: Any) -> list[Any]:
    return [element for value in values for element in array("$concatArrays", value)]


@operator("$reverseArray", 1)
def _reverse(value: Any) -> list[Any]:
    return array("$reverseArray", value)[::-1]


@operator("$range", 2, 3, nulls=False)
def _range(start: Any, end: Any, step: Any = 1) -> list[int]:
    first, last, by = (whole("$range", v) for v in (start, end, step))
    if by == 0:
        raise DocumentError("$range requires a non-zero step value")
    return list(range(first, last, by))


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


OPERATORS["$zip"] = _zip


def _sort_array(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "sortBy"))
    elements = compile_expression(named["input"], place.at("input"))
    order, by = named["sortBy"], place.at("sortBy")
    if isinstance(order, Mapping):
        key = sort_key(order, by)
    elif order in (1, -1):
        key = None
    else:
        raise by.error("is 1, -1 or a document of fields with 1 or -1.")

    def call(document: Any, variables: Variables) -> Any:
        value = elements(document, variables)
        if is_null(value):
            return None
        found = array("$sortArray", value)
        if key is not None:
            return sorted(found, key=key)
        return sorted(found, key=ORDER, reverse=order == -1)

    return call


OPERATORS["$sortArray"] = _sort_array


# ---------------------------------------------------------------------- each element


def _map(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "in"), ("as", "arrayIndexAs"))
    name = variable(named.get("as", "this"), place.at("as"))
    elements = compile_expression(named["input"], place.at("input"))
    within = compile_expression(named["in"], place.at("in").binding(name))

    def call(document: Any, variables: Variables) -> Any:
        value = elements(document, variables)
        if is_null(value):
            return None
        inner = dict(variables)
        results = []
        for element in array("$map", value):
            inner[name] = element
            result = within(document, inner)
            results.append(None if result is MISSING else result)
        return results

    return call


OPERATORS["$map"] = _map


def _filter(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "cond"), ("as", "limit"))
    name = variable(named.get("as", "this"), place.at("as"))
    elements = compile_expression(named["input"], place.at("input"))
    condition = compile_expression(named["cond"], place.at("cond").binding(name))
    limit = (
        compile_expression(named["limit"], place.at("limit"))
        if "limit" in named
        else constant(None)
    )

    def call(document: Any, variables: Variables) -> Any:
        value = elements(document, variables)
        if is_null(value):
            return None
        most = limit(document, variables)
        inner = dict(variables)
        kept: list[Any] = []
        for element in array("$filter", value):
            inner[name] = element
            if truth(condition(document, inner)):
                kept.append(element)
        return kept if is_null(most) else kept[: count_of("$filter: limit", most)]

    return call


OPERATORS["$filter"] = _filter


def _reduce(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "initialValue", "in"))
    elements = compile_expression(named["input"], place.at("input"))
    initial = compile_expression(named["initialValue"], place.at("initialValue"))
    within = compile_expression(named["in"], place.at("in").binding("this", "value"))

    def call(document: Any, variables: Variables) -> Any:
        value = elements(document, variables)
        if is_null(value):
            return None
        inner = {**variables, "value": initial(document, variables)}
        for element in array("$reduce", value):
            inner["this"] = element
            inner["value"] = within(document, inner)
        return inner["value"]

    return call


OPERATORS["$reduce"] = _reduce


# ---------------------------------------------------------------------- sets


def _distinct(elements: list[Any]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for element in elements:
        found.setdefault(key_of(element), element)
    return found


def _sorted(found: dict[Any, Any]) -> list[Any]:
    return sorted(found.values(), key=ORDER)


@operator("$setUnion", 0, None)
def _union(*values: Any) -> list[Any]:
    return _sorted(_distinct([e for value in values for e in array("$setUnion", value)]))


@operator("$setIntersection", 0, None)
def _intersection(*values: Any) -> list[Any]:
    sets = [_distinct(array("$setIntersection", value)) for value in values]
    if not sets:
        return []
    return _sorted({k: e for k, e in sets[0].items() if all(k in other for other in sets[1:])})


@operator("$setDifference", 2)
def _difference(left: Any, right: Any) -> list[Any]:
    taken = _distinct(array("$setDifference", right))
    found = _distinct(array("$setDifference", left))
    return [element for key, element in found.items() if key not in taken]


@operator("$setEquals", 2, None, nulls=False)
def _equals(*values: Any) -> bool:
    first, *others = (_distinct(array("$setEquals", value)).keys() for value in values)
    return all(first == other for other in others)


@operator("$setIsSubset", 2, nulls=False)
def _subset(left: Any, right: Any) -> bool:
    wanted = _distinct(array("$setIsSubset", left)).keys()
    return wanted <= _distinct(array("$setIsSubset", right)).keys()


@operator("$anyElementTrue", 1, nulls=False)
def _any(value: Any) -> bool:
    return any(map(truth, array("$anyElementTrue", value)))


@operator("$allElementsTrue", 1, nulls=False)
def _all(value: Any) -> bool:
    return all(map(truth, array("$allElementsTrue", value)))
