"""How one field of an accumulator changes with each element, recognised in the traced expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from flinkish.runtime.tracing.expressions import (
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
)
from flinkish.runtime.tracing.symbols import Refusal

Way: TypeAlias = Literal["kept", "sum", "lowest", "highest", "last", "best"]


@dataclass(frozen=True)
class Form:
    """One field of an accumulator over the elements where ``only`` is true, or over all.

    It is kept as it was, the sum, the lowest or the highest of ``value``, the last ``value``, or the
    ``value`` of the element where the field ``by`` is best.
    """

    way: Way
    value: Expression | None = None
    only: Expression | None = None
    by: int = -1
    against: Expression | None = None
    """What the field ``by`` is compared with, where this one is taken of the best element."""
    highest: bool = False
    lastOfEqual: bool = False

    @property
    def columns(self) -> set[int]:
        """The columns that are read."""
        return columns_read(*(part for part in (self.value, self.only) if part is not None))

    def exactInAnyGrouping(self, number: int, kind: Kind, reduces: bool) -> bool:
        """Whether the field ``number`` of parts of the elements can be folded apart. ``reduces``: the
        first element of a part is its first accumulator, so only the column of the field will do."""
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
        if self.way == "best":
            return reduces or not self.lastOfEqual
        return self.way != "last" or self.only is None

    def joins(self, merge: Form, number: int) -> bool:
        """Whether ``merge``, of two accumulators, joins the field ``number`` of parts of the elements: it adds
        the other's sum, or takes the lower or the higher. A field that is always kept may be any of both."""
        if merge.way == "kept":
            return self.way == "kept"
        own = isinstance(merge.value, Column) and merge.value.number == number
        way = "last" if self.way == "kept" else self.way
        return own and merge.only is None and merge.way == way


def check_best(forms: Sequence[Form]) -> None:
    """Raises Refusal unless each field of the best element goes with the field it is chosen by."""
    for number, form in enumerate(forms):
        if form.way == "best":
            by = forms[form.by]
            if (by.way, by.value, by.only, by.lastOfEqual) != (
                "highest" if form.highest else "lowest",
                form.against,
                form.only,
                form.lastOfEqual,
            ):
                raise _not_recognised(number)


class Recogniser:
    """Finds the form of each field. Raises Refusal where there is none."""

    def __init__(self, expressions: Expressions, kinds: list[Kind]) -> None:
        self._make = expressions
        self._kinds = kinds

    def form(self, number: int, expression: Expression) -> Form:
        """The form of the field ``number``, whose next value is ``expression``."""
        if isinstance(expression, Accumulated) and expression.number == number:
            return Form("kept")
        if not folds(expression):
            return Form("last", expression)
        if isinstance(expression, Operation):
            return self._sum(number, expression)
        if isinstance(expression, Choice):
            if self._says_what_zero_gives(expression):
                return self.form(number, expression.then)
            if folds(expression.condition):
                return self._compared(number, expression)
            return self._conditional(number, expression)
        raise _not_recognised(number)

    def _says_what_zero_gives(self, choice: Choice) -> bool:
        """Whether ``choice`` is as in ``(state.value() or 0) + 1``: where the accumulator is 0, the same of 0."""
        condition = choice.condition
        if not isinstance(condition, Operation) or condition.name != "truth":
            return False
        (so_far,) = condition.arguments
        if not isinstance(so_far, Accumulated) or so_far.kind != "int":
            return False
        zero = self._make.constant(0, "int")
        return self._make.replaced(choice.then, so_far, zero) is choice.otherwise

    def _sum(self, number: int, operation: Operation) -> Form:
        if operation.name not in ("+", "-") or len(operation.arguments) != 2:
            raise _not_recognised(number)
        first, second = operation.arguments
        if operation.name == "+" and folds(second) and not folds(first):
            first, second = second, first
        if folds(second) or not {first.kind, second.kind} <= set(NUMBERS):
            raise _not_recognised(number)
        if operation.kind == "float":
            second = self._make.as_float(second)
        if operation.name == "-":
            negative: Kind = "float" if second.kind == "float" else "int"
            second = self._make.operation("unary -", negative, second)
        before = self.form(number, first)
        if before.way == "kept":
            return Form("sum", second)
        if before.way == "sum" and before.only is None and operation.kind == "int":
            assert before.value is not None
            return Form("sum", self._make.operation("+", "int", before.value, second))
        raise _not_recognised(number)

    def _conditional(self, number: int, choice: Choice) -> Form:
        then, otherwise = self.form(number, choice.then), self.form(number, choice.otherwise)
        if otherwise.way == "kept" or then.way == "kept":
            changed = then if otherwise.way == "kept" else otherwise
            if changed.way == "kept":
                return changed
            where = self._both(choice.condition, changed is then, changed.only)
            return replace(changed, only=where)
        if then.way != otherwise.way or then.lastOfEqual != otherwise.lastOfEqual:
            raise _not_recognised(number)
        if then.way == "best":
            raise _not_recognised(number)
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

    def _compared(self, number: int, choice: Choice) -> Form:
        condition = choice.condition
        if isinstance(condition, Accumulated) and condition.kind == "bool":
            return self._any_or_all(number, condition, choice)
        if not isinstance(condition, Operation) or condition.name not in _OPPOSITE:
            raise _not_recognised(number)
        sign = condition.name
        value, so_far = condition.arguments
        if isinstance(value, Accumulated):
            value, so_far, sign = so_far, value, _MIRRORED[sign]
        if not isinstance(so_far, Accumulated) or folds(value):
            raise _not_recognised(number)
        taken, kept = choice.then, choice.otherwise
        if isinstance(taken, Accumulated):
            taken, kept, sign = kept, taken, _OPPOSITE[sign]
        if not (isinstance(kept, Accumulated) and kept.number == number) or folds(taken):
            raise _not_recognised(number)
        way: Way = "lowest" if sign in ("<", "<=") else "highest"
        if so_far.number == number and taken is value:
            return Form(way, value, lastOfEqual=len(sign) == 2)
        if so_far.number != number:
            return Form(
                "best",
                taken,
                by=so_far.number,
                against=value,
                highest=way == "highest",
                lastOfEqual=len(sign) == 2,
            )
        raise _not_recognised(number)

    def _any_or_all(self, number: int, so_far: Accumulated, choice: Choice) -> Form:
        def is_so_far(expression: Expression, value: bool) -> bool:
            return expression is so_far or (
                isinstance(expression, Constant) and expression.value is value
            )

        if so_far.number == number:
            if is_so_far(choice.then, True) and not folds(choice.otherwise):
                return Form("highest", choice.otherwise)
            if is_so_far(choice.otherwise, False) and not folds(choice.then):
                return Form("lowest", choice.then)
        raise _not_recognised(number)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _not_recognised(number: int) -> Refusal:
    return Refusal(
        f"field {number} of its result is no sum, count, minimum, maximum, first or last of the elements"
    )
