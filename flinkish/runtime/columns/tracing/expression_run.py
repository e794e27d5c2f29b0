"""``Run``: the elements of a run, with expressions evaluated over their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.runtime.columns.tracing.expressions import (
    NUMBERS,
    RAISE,
    Accumulated,
    Call,
    Choice,
    Column,
    Constant,
    Expression,
    Operation,
    Step,
    folds,
    parts_of,
)
from flinkish.runtime.columns.tracing.kernels import KERNELS, truths
from flinkish.runtime.columns.tracing.values import (
    NOT_EXACT,
    Inexact,
    Mask,
    Values,
    objects,
    of_python,
)


class Run:
    """A run of elements, with the expressions evaluated over it so far.

    ``column`` gives a column by its index, ``accumulated`` a field of the accumulator.
    """

    def __init__(
        self,
        count: int,
        column: Callable[[int], Values],
        accumulated: Callable[[int], Values] | None = None,
    ) -> None:
        self.count = count
        self._column = column
        self._accumulated = accumulated
        self._computed: dict[int, Values] = {}
        self._branches: dict[int, tuple[Mask, Run, Run]] = {}
        self._kept: list[Expression] = []

    def values(self, expression: Expression) -> Values:
        """The values of an expression. Raises one of ``NOT_EXACT`` if they could differ from
        Python's."""
        known = self._computed.get(id(expression))
        if known is None:
            known = self._computed[id(expression)] = self._compute(expression)
            self._kept.append(expression)  # so that its id is not reused
        return known

    def array(self, expression: Expression) -> Any:
        return self.values(expression).array(self.count)

    def mask(self, condition: Expression) -> Mask:
        """Return a mask of the elements for which a condition is true."""
        values = self.values(condition)
        mask: Mask = (truths(values) if values.kind != "bool" else values).array(self.count)
        return mask

    def accumulating(self, accumulated: Callable[[int], Values]) -> Run:
        """The same elements, each with the accumulator that it is added to."""
        return Run(self.count, self._column, accumulated)

    def check(self, steps: Sequence[Step]) -> None:
        """Evaluate all steps, so that Inexact is raised if one of them could raise an error in
        Python. Steps that depend on the accumulator are skipped if it is not known."""
        hidden = folds if self._accumulated is None else _never
        for path, operation in steps:
            if path and self._computes_everywhere(operation):
                continue
            run = self
            for condition, truth in path:
                if not hidden(condition):
                    _, then, otherwise = run._split(condition)
                    run = then if truth else otherwise
            if run.count == 0:
                continue
            parts = [operation] if not hidden(operation) else parts_of(operation)
            for part in parts:
                if not hidden(part):
                    run.values(part)

    def where(self, mask: Mask) -> Run:
        count = int(np.count_nonzero(mask))
        if count == self.count:
            return self
        accumulated = self._accumulated
        part = Run(
            count,
            lambda number: self._column(number).at(mask),
            None if accumulated is None else lambda number: accumulated(number).at(mask),
        )
        part._computed = _Part(self._computed, mask)
        return part

    def _compute(self, expression: Expression) -> Values:
        if isinstance(expression, Column):
            return self._column(expression.number)
        if isinstance(expression, Constant):
            return Values(expression.kind, expression.value)
        if isinstance(expression, Accumulated):
            assert self._accumulated is not None
            return self._accumulated(expression.number)
        if isinstance(expression, Choice):
            return self._choice(expression)
        if isinstance(expression, Operation) and expression.name == RAISE:
            raise Inexact  # the function is called, and raises its exception for the first element
        arguments = [self.values(argument) for argument in expression.arguments]
        if isinstance(expression, Call):
            return self._called(expression, arguments)
        with np.errstate(all="ignore"):
            return KERNELS[expression.name](*arguments)

    def _computes_everywhere(self, expression: Expression) -> bool:
        """Evaluate a cheap ``expression``, which cannot raise an error, for all elements: that is
        faster than selecting some of them. False if it is not cheap, or not exact."""
        if not is_cheap(expression):
            return False
        try:
            self.values(expression)
        except NOT_EXACT:
            return False
        return True

    def _choice(self, choice: Choice) -> Values:
        if all(map(self._computes_everywhere, (choice.then, choice.otherwise))):
            then, otherwise = self.values(choice.then), self.values(choice.otherwise)
            if then.kind == otherwise.kind and not isinstance(then.array(0), pa.Array):
                mask = self.mask(choice.condition)
                data = np.where(mask, then.array(self.count), otherwise.array(self.count))
                return Values(then.kind, data)
        mask, then_run, other_run = self._split(choice.condition)
        if then_run is self or other_run.count == 0:
            return self.values(choice.then)
        if other_run is self or then_run.count == 0:
            return self.values(choice.otherwise)
        then, otherwise = then_run.values(choice.then), other_run.values(choice.otherwise)
        if then.kind != otherwise.kind:
            raise Inexact
        first, second = then.array(then_run.count), otherwise.array(other_run.count)
        if isinstance(first, np.ndarray):
            joined = np.empty(self.count, dtype=first.dtype)
            joined[mask] = first
            joined[~mask] = second
            return Values(then.kind, joined)
        if second.type != first.type:
            raise Inexact
        places = np.empty(self.count, dtype=np.int64)
        places[mask] = np.arange(then_run.count)
        places[~mask] = np.arange(then_run.count, self.count)
        return Values(then.kind, pa.concat_arrays([first, second]).take(pa.array(places)))

    def _split(self, condition: Expression) -> tuple[Mask, Run, Run]:
        known = self._branches.get(id(condition))
        if known is None:
            mask = self.mask(condition)
            known = self._branches[id(condition)] = mask, self.where(mask), self.where(~mask)
        return known

    def _called(self, call: Call, arguments: list[Values]) -> Values:
        for argument in arguments:
            passed = argument.kind in ("opaque", "none") and not argument.constant
            if passed and (argument.kind == "none" or argument.data.null_count):
                raise Inexact
        varying = [argument for argument in arguments if not argument.constant]
        few = varying[0].distinct(self.count) if len(varying) == 1 else None
        if few is None:
            lists = [argument.listed() for argument in arguments]
        else:  # a call for each number in place of one for each element
            lists = [each.listed() if each.constant else few[0] for each in arguments]
        try:
            if not varying:
                results = [call.function(*map(next, lists))] * self.count
            else:
                results = list(map(call.function, *lists))
        except Exception:
            raise Inexact from None
        made = objects(results) if call.kind == "object" else of_python(results)
        return made if few is None else made.taken(few[1])


def _never(expression: Expression) -> bool:
    return False


_CHEAP = {
    "+",
    "-",
    "*",
    "&",
    "|",
    "^",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "float",
    "truth",
    "itself",
}


@lru_cache(maxsize=4096)
def is_cheap(expression: Expression) -> bool:
    """Whether ``expression`` is one of numbers that cannot raise an error and that NumPy computes
    quickly."""
    if isinstance(expression, (Operation, Choice)):
        known = isinstance(expression, Choice) or expression.name in _CHEAP
        return known and all(map(is_cheap, parts_of(expression)))
    return isinstance(expression, (Column, Constant)) and expression.kind in NUMBERS


class _Part(dict[int, Values]):
    """The expressions evaluated over a part of a run; reuses those evaluated over the whole."""

    def __init__(self, whole: dict[int, Values], mask: Mask) -> None:
        super().__init__()
        self._whole = whole
        self._mask = mask

    def get(self, key: int, default: Any = None) -> Any:
        known = super().get(key)
        if known is None:
            whole = self._whole.get(key)
            if whole is None:
                return default
            known = self[key] = whole.at(self._mask)
        return known
