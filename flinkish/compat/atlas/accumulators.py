"""The accumulators of ``$group``: each folds the values of its input, document by document.

A state is a plain value that can be pickled; ``add`` may change it in place. Those that an expression may
have too, such as ``$sum`` of an array, are added to the expressions here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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


class Accumulator(ABC):
    """Folds values; ``check`` refuses those that it cannot take, before they are folded."""

    @abstractmethod
    def create(self) -> Any:
        """The state of no value."""

    @abstractmethod
    def add(self, state: Any, value: Any) -> Any:
        """The state with ``value``, which may be MISSING."""

    @abstractmethod
    def merge(self, state: Any, other: Any) -> Any:
        """The state of the values of both, those of ``state`` first."""

    @abstractmethod
    def result(self, state: Any) -> Any:
        """The value of the field."""

    def check(self, value: Any) -> None:
        """Raises DocumentError for a value that cannot be folded."""


@dataclass(frozen=True)
class Accumulation:
    accumulator: Accumulator
    input: Evaluator

    def of(self, document: Any, variables: Variables) -> Any:
        """The value of a document, checked."""
        value = self.input(document, variables)
        self.accumulator.check(value)
        return value


# ---------------------------------------------------------------------- sums


_INTS, _HIGH, _LOW, _DECIMAL, _KIND, _COUNT = range(6)
_IS_INT, _IS_LONG, _IS_DOUBLE, _IS_DECIMAL = range(4)


class Total(Accumulator):
    """The state of ``$sum`` and ``$avg``: whole numbers exactly, doubles as the sum of two doubles,
    which is as exact as MongoDB's, and decimals."""

    def create(self) -> list[Any]:
        return [0, 0.0, 0.0, None, _IS_INT, 0]

    def add(self, state: list[Any], value: Any) -> list[Any]:
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

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        state[_INTS] += other[_INTS]
        if other[_KIND] >= _IS_DOUBLE:
            _add_double(state, other[_HIGH])
            _add_double(state, other[_LOW])
        if other[_DECIMAL] is not None:
            _add_decimal(state, other[_DECIMAL])
        state[_KIND] = max(state[_KIND], other[_KIND])
        state[_COUNT] += other[_COUNT]
        return state

    def result(self, state: list[Any]) -> Any:
        kind = state[_KIND]
        if kind <= _IS_LONG:
            total = state[_INTS]
            return integer_result(total, Int64(0)) if kind == _IS_LONG else integer_result(total)
        doubles = _double_of(state)
        if kind == _IS_DOUBLE:
            return doubles
        exact = DECIMAL128.add(state[_DECIMAL], Decimal(state[_INTS]))
        return DECIMAL128.add(exact, as_decimal(state[_HIGH] + state[_LOW]))


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


class Average(Total):
    def result(self, state: list[Any]) -> Any:
        if not state[_COUNT]:
            return None
        total = super().result(state) if state[_KIND] > _IS_LONG else state[_INTS]
        if isinstance(total, Decimal):
            return DECIMAL128.divide(total, Decimal(state[_COUNT]))
        return total / state[_COUNT]


class Deviation(Accumulator):
    """Count, mean, and the sum of squared distances from the mean (Welford)."""

    def __init__(self, sample: bool) -> None:
        self._sample = sample

    def create(self) -> list[Any]:
        return [0, 0.0, 0.0]

    def add(self, state: list[Any], value: Any) -> list[Any]:
        if is_number(value):
            state[0] += 1
            distance = float(value) - state[1]
            state[1] += distance / state[0]
            state[2] += distance * (float(value) - state[1])
        return state

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        if not other[0]:
            return state
        count = state[0] + other[0]
        distance = other[1] - state[1]
        state[2] += other[2] + distance * distance * state[0] * other[0] / count
        state[1] += distance * other[0] / count
        state[0] = count
        return state

    def result(self, state: list[Any]) -> float | None:
        count = state[0] - self._sample
        return math.sqrt(state[2] / count) if count > 0 else None


# ---------------------------------------------------------------------- one value


class Extreme(Accumulator):
    """The lowest (-1) or highest (1) value that is not null."""

    def __init__(self, direction: int) -> None:
        self._direction = direction

    def create(self) -> Any:
        return None

    def add(self, state: Any, value: Any) -> Any:
        if value is None or value is MISSING:
            return state
        if state is None or compare(value, state) * self._direction > 0:
            return value
        return state

    def merge(self, state: Any, other: Any) -> Any:
        return self.add(state, other)

    def result(self, state: Any) -> Any:
        return state


# ---------------------------------------------------------------------- lists


class Listed(Accumulator):
    """The values that count, as a list."""

    def create(self) -> list[Any]:
        return []

    def counted(self, value: Any) -> Iterable[Any]:
        """The entries of the list for a value."""
        return () if value is MISSING else (value,)

    def cut(self, state: list[Any]) -> list[Any]:
        """The entries that matter."""
        return state

    def add(self, state: list[Any], value: Any) -> list[Any]:
        state.extend(self.counted(value))
        return self.cut(state)

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        state.extend(other)
        return self.cut(state)

    def result(self, state: list[Any]) -> Any:
        return list(state)


class Push(Listed):
    def add(self, state: list[Any], value: Any) -> list[Any]:
        if value is not MISSING:
            state.append(value)
        return state


class FirstN(Listed):
    """The first values, or the last (``n`` below 0); a missing one is null."""

    def __init__(self, n: int) -> None:
        self._n = n

    def add(self, state: list[Any], value: Any) -> list[Any]:
        return state if 0 < self._n <= len(state) else super().add(state, value)

    def counted(self, value: Any) -> Iterable[Any]:
        return (None if value is MISSING else value,)

    def cut(self, state: list[Any]) -> list[Any]:
        if len(state) > abs(self._n):
            del state[slice(self._n, None) if self._n > 0 else slice(0, self._n)]
        return state


class First(FirstN):
    """The first value (``n`` is 1), or the last (-1)."""

    def result(self, state: list[Any]) -> Any:
        return state[0] if state else None


class ExtremeN(Listed):
    """The ``n`` lowest or highest values that are not null."""

    def __init__(self, n: int, direction: int) -> None:
        self._n = n
        self._direction = direction

    def counted(self, value: Any) -> Iterable[Any]:
        return () if is_null(value) else (value,)

    def cut(self, state: list[Any]) -> list[Any]:
        return sorted(state, key=ORDER, reverse=self._direction > 0)[: self._n]


class Top(Listed):
    """The outputs of the first ``n`` documents of an order, or the last (``bottom``)."""

    def __init__(self, key: Callable[[Any], Any], n: int, bottom: bool, single: bool) -> None:
        self._key = key
        self._n = n
        self._bottom = bottom
        self._single = single

    def cut(self, state: list[Any]) -> list[Any]:
        ordered = sorted(state, key=lambda pair: self._key(pair[0]))
        return ordered[-self._n :] if self._bottom else ordered[: self._n]

    def result(self, state: list[Any]) -> Any:
        outputs = [output for _, output in state]
        return outputs[0] if self._single else outputs


class Elements(Listed):
    """All elements of arrays, for the accumulator ``name``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def check(self, value: Any) -> None:
        if not is_null(value):
            array(self._name, value)

    def counted(self, value: Any) -> Iterable[Any]:
        return () if is_null(value) else value


class Percentile(Listed):
    """The lowest value that at least the share p of the numbers does not exceed, for each p."""

    def __init__(self, shares: list[float] | None) -> None:
        self._shares = shares

    def counted(self, value: Any) -> Iterable[Any]:
        return (float(value),) if is_number(value) else ()

    def result(self, state: list[Any]) -> Any:
        ordered = sorted(state)
        shares = [0.5] if self._shares is None else self._shares
        found = [
            ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
            for share in shares
        ]
        return found[0] if self._shares is None else found


# ---------------------------------------------------------------------- dicts


class Distinct(Accumulator):
    """Different entries of ``values``, by their keys."""

    def __init__(self, values: Listed) -> None:
        self._values = values

    def check(self, value: Any) -> None:
        self._values.check(value)

    def create(self) -> dict[Any, Any]:
        return {}

    def add(self, state: dict[Any, Any], value: Any) -> dict[Any, Any]:
        for entry in self._values.counted(value):
            state.setdefault(key_of(entry), entry)
        return state

    def merge(self, state: dict[Any, Any], other: dict[Any, Any]) -> dict[Any, Any]:
        for key, value in other.items():
            state.setdefault(key, value)
        return state

    def result(self, state: dict[Any, Any]) -> list[Any]:
        return list(state.values())


class Merged(Accumulator):
    """The fields of all documents, the last ones winning."""

    def check(self, value: Any) -> None:
        if not is_null(value):
            document("$mergeObjects", value)

    def create(self) -> dict[str, Any]:
        return {}

    def add(self, state: dict[str, Any], value: Any) -> dict[str, Any]:
        if not is_null(value):
            state.update(value)
        return state

    def merge(self, state: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        return self.add(state, other)

    def result(self, state: dict[str, Any]) -> dict[str, Any]:
        return dict(state)


# ---------------------------------------------------------------------- compilation


def _plain(
    accumulator: Accumulator, ofArrays: bool = False
) -> Callable[[Any, Place], Accumulation]:
    def compiled(argument: Any, place: Place) -> Accumulation:
        if isinstance(argument, (list, tuple)) and len(argument) == 1:
            (argument,) = argument
        elif isinstance(argument, (list, tuple)) and not ofArrays:
            raise place.error(
                "takes one expression here, not a list; write {$literal: [...]} for an array."
            )
        return Accumulation(accumulator, compile_expression(argument, place))

    return compiled


def _count(argument: Any, place: Place) -> Accumulation:
    if argument not in ({}, [], None):
        raise place.error("takes an empty document: {$count: {}}.")
    return Accumulation(Total(), constant(1))


def _n(named: Mapping[str, Any], place: Place) -> int:
    where = place.at("n")
    try:
        return count_of("n", compile_expression(named["n"], where)({}, {}))
    except DocumentError:
        raise where.error(
            "is a whole number above 0; one that depends on a document is not supported."
        ) from None


def _with_n(make: Callable[[int], Accumulator]) -> Callable[[Any, Place], Accumulation]:
    def compiled(argument: Any, place: Place) -> Accumulation:
        named = named_arguments(argument, place, ("n", "input"))
        source = compile_expression(named["input"], place.at("input"))
        return Accumulation(make(_n(named, place)), source)

    return compiled


def _top(bottom: bool, single: bool) -> Callable[[Any, Place], Accumulation]:
    def compiled(argument: Any, place: Place) -> Accumulation:
        required = ("sortBy", "output") if single else ("n", "sortBy", "output")
        named = named_arguments(argument, place, required)
        key = sort_key(named["sortBy"], place.at("sortBy"))
        output = compile_expression(named["output"], place.at("output"))
        roots = {path.partition(".")[0] for path in named["sortBy"]}

        def source(document: Any, variables: Variables) -> Any:
            value = output(document, variables)
            kept = {name: document[name] for name in roots if name in document}
            return kept, None if value is MISSING else value

        return Accumulation(Top(key, 1 if single else _n(named, place), bottom, single), source)

    return compiled


def _percentile(argument: Any, place: Place, isMedian: bool = False) -> Accumulation:
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
    return Accumulation(Percentile(shares), source)


_median = partial(_percentile, isMedian=True)

_OF_ARRAYS: dict[str, Accumulator] = {
    "$sum": Total(),
    "$avg": Average(),
    "$min": Extreme(-1),
    "$max": Extreme(1),
    "$stdDevPop": Deviation(sample=False),
    "$stdDevSamp": Deviation(sample=True),
}
"""By name, the accumulators that are operators of an array too."""

_OF_VALUES: dict[str, Accumulator] = {
    **_OF_ARRAYS,
    "$first": First(1),
    "$last": First(-1),
    "$push": Push(),
    "$addToSet": Distinct(Listed()),
    "$mergeObjects": Merged(),
    "$concatArrays": Elements("$concatArrays"),
    "$setUnion": Distinct(Elements("$setUnion")),
}

ACCUMULATORS: dict[str, Callable[[Any, Place], Accumulation]] = {
    **{name: _plain(accumulator) for name, accumulator in _OF_VALUES.items()},
    "$count": _count,
    "$firstN": _with_n(FirstN),
    "$lastN": _with_n(lambda n: FirstN(-n)),
    "$minN": _with_n(lambda n: ExtremeN(n, -1)),
    "$maxN": _with_n(lambda n: ExtremeN(n, 1)),
    "$top": _top(bottom=False, single=True),
    "$topN": _top(bottom=False, single=False),
    "$bottom": _top(bottom=True, single=True),
    "$bottomN": _top(bottom=True, single=False),
    "$percentile": _percentile,
    "$median": _median,
}


def compile_accumulator(field: Any, place: Place) -> Accumulation:
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


def _folding(compiled: Callable[[Any, Place], Accumulation]) -> Callable[[Any, Place], Evaluator]:
    """The accumulator as an operator: over the elements of an array, or over one value."""

    def compiler(argument: Any, place: Place) -> Evaluator:
        accumulation = compiled(argument, place)
        accumulator, source = accumulation.accumulator, accumulation.input

        def folded(document: Any, variables: Variables) -> Any:
            values = source(document, variables)
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
