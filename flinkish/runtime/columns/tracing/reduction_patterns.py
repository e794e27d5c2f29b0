"""Reduction patterns: the ways in which a field of an accumulator may change with an element,
matched with the traced expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from flinkish.runtime.columns.tracing.expressions import (
    COMPARISONS,
    MIRRORED,
    NUMBERS,
    Accumulated,
    Choice,
    Column,
    Constant,
    Expression,
    Expressions,
    Kind,
    Operation,
    columns_read,
    folds,
    parts_of,
)
from flinkish.runtime.columns.tracing.unsupported import Unsupported

NEVER_RAISES = ("+", "<", "<=", ">", ">=", "==", "!=")
"""The operations that raise no error, whatever the numbers are, or the texts that are compared."""

Way: TypeAlias = Literal["kept", "sum", "lowest", "highest", "last", "ranked"]
Ranking: TypeAlias = tuple[tuple[int, bool], ...]
"""The fields that decide which of two elements is better, compared one after the other; each with
whether the higher value wins."""


@dataclass(frozen=True)
class ReductionPattern:
    """How a field of an accumulator changes with the elements for which ``only`` is true; None:
    with all.

    By ``way``, the field is kept, or it is the sum, the lowest, the highest or the last of
    ``value``, or the ``value`` of the element that is best by the fields in ``ranking``.
    """

    way: Way
    value: Expression | None = None
    only: Expression | None = None
    lastOfEqual: bool = False
    ranking: Ranking = ()

    @property
    def columns(self) -> set[int]:
        return columns_read(*(part for part in (self.value, self.only) if part is not None))

    def exactInAnyGrouping(self, number: int, kind: Kind, reduces: bool) -> bool:
        """Whether the field ``number`` can be folded in parts that are then combined. ``reduces``:
        the first element of a part is its first accumulator, so only the field's own column can be
        its value."""
        if self.way == "kept":
            return True
        if reduces and (
            self.only is not None
            or not isinstance(self.value, Column)
            or self.value.number != number
        ):
            return False
        if self.way == "sum":
            return kind == "int"
        if self.way == "ranked":
            return reduces or not self.lastOfEqual
        return self.way != "last" or self.only is None

    def joins(self, merge: ReductionPattern, number: int) -> bool:
        """Whether ``merge``, the pattern of a reduction of accumulators, combines the field
        ``number`` of two parts: adds the other's sum, or takes the lower or the higher value. A
        field that is always kept may be taken from either."""
        if merge.way == "kept":
            return self.way == "kept"
        own = isinstance(merge.value, Column) and merge.value.number == number
        way = "last" if self.way == "kept" else self.way
        return own and merge.only is None and merge.way == way


def matched_patterns(
    expressions: Expressions, fields: Sequence[Expression]
) -> list[ReductionPattern]:
    """The pattern of each of ``fields``, the next values of an accumulator. Raises Unsupported if a
    field has none."""
    matcher = _Matcher(expressions, fields)
    patterns = [matcher.pattern(number, field) for number, field in enumerate(fields)]
    for number, pattern in enumerate(patterns):
        if not all(
            _agrees(patterns[ranked], pattern, higher) for ranked, higher in pattern.ranking
        ):
            raise _no_pattern(number)
    return patterns


def _agrees(by: ReductionPattern, pattern: ReductionPattern, higher: bool) -> bool:
    """Whether the field of ``by``, by which the element of ``pattern`` is chosen, is set with it."""
    if (by.only, by.lastOfEqual) != (pattern.only, pattern.lastOfEqual):
        return False
    if len(pattern.ranking) == 1:
        return by.way == ("highest" if higher else "lowest")
    return by.way == "ranked" and by.ranking == pattern.ranking


@dataclass(frozen=True)
class Reduction:
    """How the fields of an accumulator change with the elements. ``start``: the fields of a new
    accumulator; None if the first element is the first accumulator."""

    patterns: tuple[ReductionPattern, ...]
    kinds: tuple[Kind, ...]
    start: tuple[Any, ...] | None

    @property
    def exactInAnyGrouping(self) -> bool:
        """Whether elements can be folded in parts, which are then combined."""
        reduces = self.start is None
        return all(
            pattern.exactInAnyGrouping(number, kind, reduces)
            for number, (pattern, kind) in enumerate(zip(self.patterns, self.kinds))
        )

    @property
    def commutes(self) -> bool:
        """Whether the elements may come in any order."""
        return self.exactInAnyGrouping and all(
            pattern.way in ("kept", "sum")
            or (pattern.way in ("lowest", "highest") and kind != "float")
            for pattern, kind in zip(self.patterns, self.kinds)
        )


def needs_accumulator(operation: Expression) -> bool:
    """Whether ``operation`` could raise an error in Python that depends on the accumulator's
    values."""
    harmless = (*NEVER_RAISES, "-", "*", "unary -")
    joins_texts = operation.kind == "str"  # one may be None
    return folds(operation) and (joins_texts or getattr(operation, "name", "") not in harmless)


class _Matcher:
    """Finds the pattern of each field. ``fields``: the next value of each field."""

    def __init__(self, expressions: Expressions, fields: Sequence[Expression]) -> None:
        self._make = expressions
        self._fields = fields

    def pattern(self, number: int, expression: Expression) -> ReductionPattern:
        """The pattern of the field ``number``, whose next value is ``expression``. Raises
        Unsupported if it has none."""
        if isinstance(expression, Accumulated) and expression.number == number:
            return ReductionPattern("kept")
        if not folds(expression):
            return ReductionPattern("last", expression)
        if isinstance(expression, Operation):
            return self._sum(number, expression)
        if isinstance(expression, Choice):
            if self._says_what_zero_gives(expression):
                return self.pattern(number, expression.then)
            condition = expression.condition
            if isinstance(condition, Accumulated) and condition.kind == "bool":
                return self._any_or_all(number, condition, expression)
            if folds(condition):
                return self._ranked(number, expression)
            return self._conditional(number, expression)
        raise _no_pattern(number)

    def _says_what_zero_gives(self, choice: Choice) -> bool:
        """Whether ``choice`` is redundant, as in ``(state.value() or 0) + 1``: for an accumulator
        of 0, both branches are equal."""
        condition = choice.condition
        if not isinstance(condition, Operation) or condition.name != "truth":
            return False
        (so_far,) = condition.arguments
        if not isinstance(so_far, Accumulated) or so_far.kind != "int":
            return False
        zero = self._make.constant(0, "int")
        return self._make.replaced(choice.then, so_far, zero) is choice.otherwise

    def _sum(self, number: int, operation: Operation) -> ReductionPattern:
        if operation.name not in ("+", "-") or len(operation.arguments) != 2:
            raise _no_pattern(number)
        first, second = operation.arguments
        if operation.name == "+" and folds(second) and not folds(first):
            first, second = second, first
        if folds(second) or not {first.kind, second.kind} <= set(NUMBERS):
            raise _no_pattern(number)
        if operation.kind == "float":
            second = self._make.as_float(second)
        if operation.name == "-":
            negative: Kind = "float" if second.kind == "float" else "int"
            second = self._make.operation("unary -", negative, second)
        before = self.pattern(number, first)
        if before.way == "kept":
            return ReductionPattern("sum", second)
        if before.way == "sum" and before.only is None and operation.kind == "int":
            assert before.value is not None
            return ReductionPattern("sum", self._make.operation("+", "int", before.value, second))
        raise _no_pattern(number)

    def _conditional(self, number: int, choice: Choice) -> ReductionPattern:
        then, otherwise = self.pattern(number, choice.then), self.pattern(number, choice.otherwise)
        if otherwise.way == "kept" or then.way == "kept":
            changed = then if otherwise.way == "kept" else otherwise
            if changed.way == "kept":
                return changed
            where = self._both(choice.condition, changed is then, changed.only)
            return replace(changed, only=where)
        if then.way != otherwise.way or then.lastOfEqual != otherwise.lastOfEqual:
            raise _no_pattern(number)
        if then.way == "ranked":
            raise _no_pattern(number)
        assert then.value is not None
        assert otherwise.value is not None
        value = self._make.choice(choice.condition, then.value, otherwise.value)
        if then.only is None and otherwise.only is None:
            return replace(then, value=value)
        yes = self._make.constant(True, "bool")
        where = self._make.choice(choice.condition, then.only or yes, otherwise.only or yes)
        return replace(then, value=value, only=where)

    def _both(self, condition: Expression, truth: bool, only: Expression | None) -> Expression:
        yes, no = self._make.constant(True, "bool"), self._make.constant(False, "bool")
        within = only or yes
        return self._make.choice(
            self._make.truth(condition), within if truth else no, no if truth else within
        )

    def _ranked(self, number: int, choice: Choice) -> ReductionPattern:
        """The pattern of the lowest or highest value, or of a field of the better of two elements."""
        taken: set[Expression] = set()
        ranks = _ranks(choice, number, taken)
        if ranks is None or len(taken) != 1:
            raise _no_pattern(number)
        (value,), (first, *others) = taken, ranks.compared
        if first.so_far.number == number and value is first.value and not others:
            way: Way = "highest" if first.sign == ">" else "lowest"
            return ReductionPattern(way, value, lastOfEqual=ranks.lastOfEqual)
        # Each compared value has to be the one that its field is set to
        if folds(value) or any(
            _set_to(self._fields[pair.so_far.number], pair.so_far) is not pair.value
            for pair in ranks.compared
        ):
            raise _no_pattern(number)
        ranking = tuple((pair.so_far.number, pair.sign == ">") for pair in ranks.compared)
        return ReductionPattern("ranked", value, ranking=ranking, lastOfEqual=ranks.lastOfEqual)

    def _any_or_all(self, number: int, so_far: Accumulated, choice: Choice) -> ReductionPattern:
        def is_so_far(expression: Expression, value: bool) -> bool:
            return expression is so_far or (
                isinstance(expression, Constant) and expression.value is value
            )

        if so_far.number == number:
            if is_so_far(choice.then, True) and not folds(choice.otherwise):
                return ReductionPattern("highest", choice.otherwise)
            if is_so_far(choice.otherwise, False) and not folds(choice.then):
                return ReductionPattern("lowest", choice.then)
        raise _no_pattern(number)


class _Comparison(NamedTuple):
    """A value of an element compared with a field of the accumulator."""

    value: Expression
    so_far: Accumulated
    sign: str


def _comparison(condition: Expression) -> _Comparison | None:
    """The comparison of an element with the accumulator, the element first and both without a unary
    minus; None if ``condition`` is none."""
    if not isinstance(condition, Operation) or condition.name not in MIRRORED:
        return None
    sign = condition.name
    value, so_far = condition.arguments
    if folds(value):
        value, so_far, sign = so_far, value, MIRRORED[sign]
    while _is_negative(value) and _is_negative(so_far):
        value, so_far, sign = parts_of(value)[0], parts_of(so_far)[0], MIRRORED[sign]
    if not isinstance(so_far, Accumulated) or folds(value):
        return None
    return _Comparison(value, so_far, sign)


def _is_negative(expression: Expression) -> bool:
    return isinstance(expression, Operation) and expression.name == "unary -"


class _Ranks(NamedTuple):
    """The comparisons that decide, one after the other, which of two elements is better: the new
    element if it compares by ``sign``."""

    compared: tuple[_Comparison, ...]
    lastOfEqual: bool


def _ranks(choice: Choice, number: int, taken: set[Expression]) -> _Ranks | None:
    """The comparisons by which the field ``number`` is kept or set; adds the values that it is set
    to to ``taken``. None if they do not define an order of elements."""
    pair = _comparison(choice.condition)
    if pair is None:
        return None
    lower, equal, higher = (_decided(choice, pair, relation) for relation in (-1, 0, 1))
    if _keeps(lower, number):
        pair, chosen = pair._replace(sign=">"), higher
    elif _keeps(higher, number):
        pair, chosen = pair._replace(sign="<"), lower
    else:
        return None
    taken.add(chosen)
    if isinstance(equal, Choice):
        others = _ranks(equal, number, taken)
        return None if others is None else others._replace(compared=(pair, *others.compared))
    if _keeps(equal, number):
        return _Ranks((pair,), lastOfEqual=False)
    taken.add(equal)
    return _Ranks((pair,), lastOfEqual=True)


def _decided(expression: Expression, pair: _Comparison, relation: int) -> Expression:
    """``expression`` for an element of ``pair`` that is lower than (``relation`` -1), equal to (0)
    or higher than (1) the field."""
    while isinstance(expression, Choice):
        asked = _comparison(expression.condition)
        if asked is None or asked[:2] != pair[:2]:
            break
        truth = COMPARISONS[asked.sign](relation, 0)
        expression = expression.then if truth else expression.otherwise
    return expression


def _keeps(expression: Expression, number: int) -> bool:
    return isinstance(expression, Accumulated) and expression.number == number


def _set_to(field: Expression, so_far: Accumulated) -> Expression | None:
    """The one expression that ``field`` is set to if it is not kept; None if there are several."""
    leaves: set[Expression] = set()
    remaining = [field]
    while remaining:
        expression = remaining.pop()
        if isinstance(expression, Choice):
            remaining += [expression.then, expression.otherwise]
        elif expression is not so_far:
            leaves.add(expression)
    return leaves.pop() if len(leaves) == 1 else None


def _no_pattern(number: int) -> Unsupported:
    return Unsupported(
        f"field {number} of its result is no sum, count, minimum, maximum, first or last of the elements"
    )
