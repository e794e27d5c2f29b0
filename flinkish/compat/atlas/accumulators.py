"""The accumulators of ``$group``: each folds the values of its input, document by document.

A state is a plain value that can be pickled; ``add`` may change it in place. Those that an expression may
have too, such as ``$sum`` of an array, are added to the expressions here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

from flinkish.compat.atlas.bson.numbers import as_decimal, integer_result
from flinkish.compat.atlas.bson.values import (
    DECIMAL128,
    MISSING,
    ORDER,
    DocumentError,
    Int64,
    compare,
    is_null,
    is_number,
    key_of,
)
from flinkish.compat.atlas.expressions.arrays import array, count_of, document
from flinkish.compat.atlas.expressions.compiler import (
    OPERATORS,
    Evaluator,
    Place,
    Variables,
    compile_expression,
    constant,
    named_arguments,
    sort_key,
)


@dataclass(frozen=True)
class Accumulator:
    """Folds the values of ``input``."""

    create: Callable[[], Any]
    """The state of no value."""
    add: Callable[[Any, Any], Any]
    """The state with a value, which may be MISSING."""
    merge: Callable[[Any, Any], Any]
    """The state of the values of both, those of the first before."""
    result: Callable[[Any], Any]
    """The value of the field."""
    check: Callable[[Any], object] | None = None
    """Raises DocumentError for a value that cannot be folded, before it is."""
    input: Evaluator = lambda document, variables: None

    def of(self, document: Any, variables: Variables) -> Any:
        """The value of a document, checked."""
        value = self.input(document, variables)
        if self.check is not None:
            self.check(value)
        return value


# ---------------------------------------------------------------------- sums


_INTS, _HIGH, _LOW, _DECIMAL, _KIND, _COUNT = range(6)
_IS_INT, _IS_LONG, _IS_DOUBLE, _IS_DECIMAL = range(4)


def _add_number(state: list[Any], value: Any) -> list[Any]:
    """Whole numbers exactly, doubles as the sum of two doubles, which is as exact as MongoDB's, and decimals."""
    kind = type(value)
    if kind is int:
        state[_INTS] += value
    elif kind is float:
        _add_double(state, value)
    elif isinstance(value, Decimal):
        _add_decimal(state, value)
    elif isinstance(value, int) and kind is not bool:
        state[_INTS] += int(value)
        state[_KIND] = max(state[_KIND], _IS_LONG)
    else:
        return state
    state[_COUNT] += 1
    return state


def _merge_totals(state: list[Any], other: list[Any]) -> list[Any]:
    state[_INTS] += other[_INTS]
    if other[_KIND] >= _IS_DOUBLE:
        _add_double(state, other[_HIGH])
        _add_double(state, other[_LOW])
    if other[_DECIMAL] is not None:
        _add_decimal(state, other[_DECIMAL])
    state[_KIND] = max(state[_KIND], other[_KIND])
    state[_COUNT] += other[_COUNT]
    return state


def _total(state: list[Any]) -> Any:
    kind = state[_KIND]
    if kind <= _IS_LONG:
        total = state[_INTS]
        return integer_result(total, Int64(0)) if kind == _IS_LONG else integer_result(total)
    doubles = _double_of(state)
    if kind == _IS_DOUBLE:
        return doubles
    exact = DECIMAL128.add(state[_DECIMAL], Decimal(state[_INTS]))
    return DECIMAL128.add(exact, as_decimal(state[_HIGH] + state[_LOW]))


def _average(state: list[Any]) -> Any:
    if not state[_COUNT]:
        return None
    total = _total(state) if state[_KIND] > _IS_LONG else state[_INTS]
    if isinstance(total, Decimal):
        return DECIMAL128.divide(total, Decimal(state[_COUNT]))
    return total / state[_COUNT]


def _add_double(state: list[Any], value: float) -> None:
    """Adds to the sum of two doubles without an error (Knuth's two-sum)."""
    high = state[_HIGH]
    total = high + value
    if math.isfinite(total):
        part = total - high
        state[_LOW] += (high - (total - part)) + (value - part)
    state[_HIGH] = total
    state[_KIND] = max(state[_KIND], _IS_DOUBLE)


def _add_decimal(state: list[Any], value: Decimal) -> None:
    before = state[_DECIMAL]
    state[_DECIMAL] = value if before is None else DECIMAL128.add(before, value)
    state[_KIND] = _IS_DECIMAL


def _double_of(state: list[Any]) -> float:
    high: float = state[_HIGH]
    low: float = state[_LOW]
    ints: int = state[_INTS]
    if not math.isfinite(high):
        return high
    if ints == 0:
        return high + low
    near = float(ints)
    return math.fsum((high, low, near, float(ints - int(near))))


_TOTAL = Accumulator(lambda: [0, 0.0, 0.0, None, _IS_INT, 0], _add_number, _merge_totals, _total)


def _deviation(sample: bool) -> Accumulator:
    """Of count, mean, and the sum of squared distances from the mean (Welford)."""

    def result(state: list[Any]) -> float | None:
        count = state[0] - sample
        return math.sqrt(state[2] / count) if count > 0 else None

    return Accumulator(lambda: [0, 0.0, 0.0], _add_distance, _merge_distances, result)


def _add_distance(state: list[Any], value: Any) -> list[Any]:
    if is_number(value):
        state[0] += 1
        distance = float(value) - state[1]
        state[1] += distance / state[0]
        state[2] += distance * (float(value) - state[1])
    return state


def _merge_distances(state: list[Any], other: list[Any]) -> list[Any]:
    if not other[0]:
        return state
    count = state[0] + other[0]
    distance = other[1] - state[1]
    state[2] += other[2] + distance * distance * state[0] * other[0] / count
    state[1] += distance * other[0] / count
    state[0] = count
    return state


# ---------------------------------------------------------------------- one value


def _as_it_is(state: Any) -> Any:
    return state


def _extreme(direction: int) -> Accumulator:
    """The lowest (-1) or highest (1) value that is not null."""

    def add(state: Any, value: Any) -> Any:
        if value is None or value is MISSING:
            return state
        return value if state is None or compare(value, state) * direction > 0 else state

    return Accumulator(lambda: None, add, add, _as_it_is)


# ---------------------------------------------------------------------- lists


def _present(value: Any) -> Iterable[Any]:
    return () if value is MISSING else (value,)


def _listed(
    counted: Callable[[Any], Iterable[Any]],
    cut: Callable[[list[Any]], list[Any]] = _as_it_is,
    result: Callable[[list[Any]], Any] = list,
    check: Callable[[Any], object] | None = None,
) -> Accumulator:
    """A list of what is ``counted`` of each value, ``cut`` to what matters."""

    def add(state: list[Any], value: Any) -> list[Any]:
        state.extend(counted(value))
        return cut(state)

    def merge(state: list[Any], other: list[Any]) -> list[Any]:
        state.extend(other)
        return cut(state)

    return Accumulator(list, add, merge, result, check)


def _push(state: list[Any], value: Any) -> list[Any]:
    if value is not MISSING:
        state.append(value)
    return state


def _first_n(n: int, result: Callable[[list[Any]], Any] = list) -> Accumulator:
    """The first values, or the last (``n`` below 0); a missing one is null."""
    rest = slice(n, None) if n > 0 else slice(0, n)

    def cut(state: list[Any]) -> list[Any]:
        if len(state) > abs(n):
            del state[rest]
        return state

    listed = _listed(lambda value: (None if value is MISSING else value,), cut, result)

    def add(state: list[Any], value: Any) -> list[Any]:
        return state if 0 < n <= len(state) else listed.add(state, value)

    return replace(listed, add=add)


def _first(state: list[Any]) -> Any:
    return state[0] if state else None


def _extreme_n(n: int, direction: int) -> Accumulator:
    """The ``n`` lowest (-1) or highest (1) values that are not null."""
    return _listed(
        lambda value: () if is_null(value) else (value,),
        lambda state: sorted(state, key=ORDER, reverse=direction > 0)[:n],
    )


def _elements(value: Any) -> Iterable[Any]:
    return () if is_null(value) else value


def _array_for(name: str) -> Callable[[Any], object]:
    """Raises DocumentError for what is no array; null is left out."""
    return lambda value: is_null(value) or array(name, value)


# ---------------------------------------------------------------------- dicts


def _distinct(
    counted: Callable[[Any], Iterable[Any]], check: Callable[[Any], object] | None = None
) -> Accumulator:
    """The different ones of what is ``counted``, by their keys."""

    def add(state: dict[Any, Any], value: Any) -> dict[Any, Any]:
        for entry in counted(value):
            state.setdefault(key_of(entry), entry)
        return state

    def merge(state: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
        for key, value in other.items():
            state.setdefault(key, value)
        return state

    return Accumulator(dict, add, merge, lambda state: list(state.values()), check)


def _check_fields(value: Any) -> None:
    if not is_null(value):
        document("$mergeObjects", value)


def _merge_fields(state: dict[str, Any], value: Any) -> dict[str, Any]:
    """The last ones win."""
    if not is_null(value):
        state.update(value)
    return state


# ---------------------------------------------------------------------- compilation


def _plain(accumulator: Accumulator, ofArrays: bool = False) -> Callable[[Any, Place], Accumulator]:
    def compiled(argument: Any, place: Place) -> Accumulator:
        if isinstance(argument, (list, tuple)) and len(argument) == 1:
            (argument,) = argument
        elif isinstance(argument, (list, tuple)) and not ofArrays:
            raise place.error(
                "takes one expression here, not a list; write {$literal: [...]} for an array."
            )
        return replace(accumulator, input=compile_expression(argument, place))

    return compiled


def _count(argument: Any, place: Place) -> Accumulator:
    if argument not in ({}, [], None):
        raise place.error("takes an empty document: {$count: {}}.")
    return replace(_TOTAL, input=constant(1))


def _n(named: Mapping[str, Any], place: Place) -> int:
    where = place.at("n")
    try:
        return count_of("n", compile_expression(named["n"], where)({}, {}))
    except DocumentError:
        raise where.error(
            "is a whole number above 0; one that depends on a document is not supported."
        ) from None


def _with_n(make: Callable[[int], Accumulator]) -> Callable[[Any, Place], Accumulator]:
    def compiled(argument: Any, place: Place) -> Accumulator:
        named = named_arguments(argument, place, ("n", "input"))
        source = compile_expression(named["input"], place.at("input"))
        return replace(make(_n(named, place)), input=source)

    return compiled


def _top(bottom: bool, single: bool) -> Callable[[Any, Place], Accumulator]:
    def compiled(argument: Any, place: Place) -> Accumulator:
        required = ("sortBy", "output") if single else ("n", "sortBy", "output")
        named = named_arguments(argument, place, required)
        key = sort_key(named["sortBy"], place.at("sortBy"))
        output = compile_expression(named["output"], place.at("output"))
        roots = {path.partition(".")[0] for path in named["sortBy"]}

        def source(document: Any, variables: Variables) -> Any:
            value = output(document, variables)
            kept = {name: document[name] for name in roots if name in document}
            return kept, None if value is MISSING else value

        n = 1 if single else _n(named, place)

        def cut(state: list[Any]) -> list[Any]:
            ordered = sorted(state, key=lambda pair: key(pair[0]))
            return ordered[-n:] if bottom else ordered[:n]

        def result(state: list[Any]) -> Any:
            outputs = [output for _, output in state]
            return outputs[0] if single else outputs

        return replace(_listed(_present, cut, result), input=source)

    return compiled


def _percentile(argument: Any, place: Place, isMedian: bool = False) -> Accumulator:
    required = ("input", "method") if isMedian else ("input", "p", "method")
    named = named_arguments(argument, place, required)
    shares = None if isMedian else compile_expression(named["p"], place.at("p"))({}, {})
    if not isMedian and not (
        isinstance(shares, list) and all(is_number(p) and 0 <= p <= 1 for p in shares)
    ):
        raise place.at("p").error("is a list of numbers from 0 to 1.")
    if named["method"] not in ("approximate", "discrete"):
        raise place.at("method").error("is 'approximate'; the result is exact all the same.")
    source = compile_expression(named["input"], place.at("input"))

    def result(state: list[Any]) -> Any:
        """The lowest value that at least the share of the numbers does not exceed, for each."""
        ordered = sorted(state)
        found = [
            ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
            for share in ([0.5] if shares is None else shares)
        ]
        return found[0] if shares is None else found

    numbers = _listed(lambda value: (float(value),) if is_number(value) else (), result=result)
    return replace(numbers, input=source)


_median = partial(_percentile, isMedian=True)

_OF_ARRAYS: dict[str, Accumulator] = {
    "$sum": _TOTAL,
    "$avg": replace(_TOTAL, result=_average),
    "$min": _extreme(-1),
    "$max": _extreme(1),
    "$stdDevPop": _deviation(sample=False),
    "$stdDevSamp": _deviation(sample=True),
}
"""By name, the accumulators that are operators of an array too."""

_OF_VALUES: dict[str, Accumulator] = {
    **_OF_ARRAYS,
    "$first": _first_n(1, _first),
    "$last": _first_n(-1, _first),
    "$push": replace(_listed(_present), add=_push),
    "$addToSet": _distinct(_present),
    "$mergeObjects": Accumulator(dict, _merge_fields, _merge_fields, dict, _check_fields),
    "$concatArrays": _listed(_elements, check=_array_for("$concatArrays")),
    "$setUnion": _distinct(_elements, _array_for("$setUnion")),
}

ACCUMULATORS: dict[str, Callable[[Any, Place], Accumulator]] = {
    **{name: _plain(accumulator) for name, accumulator in _OF_VALUES.items()},
    "$count": _count,
    "$firstN": _with_n(_first_n),
    "$lastN": _with_n(lambda n: _first_n(-n)),
    "$minN": _with_n(lambda n: _extreme_n(n, -1)),
    "$maxN": _with_n(lambda n: _extreme_n(n, 1)),
    "$top": _top(bottom=False, single=True),
    "$topN": _top(bottom=False, single=False),
    "$bottom": _top(bottom=True, single=True),
    "$bottomN": _top(bottom=True, single=False),
    "$percentile": _percentile,
    "$median": _median,
}


def compile_accumulator(field: Any, place: Place) -> Accumulator:
    """The accumulator of a field of ``$group``: a document with one operator."""
    if not isinstance(field, Mapping) or len(field) != 1:
        raise place.error(
            "a field of $group is a document with one accumulator, such as {$sum: 1}."
        )
    ((name, argument),) = field.items()
    compiler = ACCUMULATORS.get(name)
    if compiler is None:
        raise place.unknown("accumulator", name, ACCUMULATORS)
    return compiler(argument, place.at(name))


# ---------------------------------------------------------------------- as expressions


def _folding(compiled: Callable[[Any, Place], Accumulator]) -> Callable[[Any, Place], Evaluator]:
    """The accumulator as an operator: over the elements of an array, or over one value."""

    def compiler(argument: Any, place: Place) -> Evaluator:
        accumulator = compiled(argument, place)

        def folded(document: Any, variables: Variables) -> Any:
            values = accumulator.input(document, variables)
            state = accumulator.create()
            for value in values if isinstance(values, (list, tuple)) else [values]:
                state = accumulator.add(state, value)
            return accumulator.result(state)

        return folded

    return compiler


for _name, _accumulator in _OF_ARRAYS.items():
    OPERATORS[_name] = _folding(_plain(_accumulator, ofArrays=True))
OPERATORS["$percentile"] = _folding(_percentile)
OPERATORS["$median"] = _folding(_median)
