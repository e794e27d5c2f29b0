"""A loop over the words of a text, which a traced function splits and emits results for.

The function is traced with two words. If it emits the same for each, with another word, and the
bytecode shows that no variable carries over between iterations, it does so for any number of
words. Its columns are then evaluated over all words, each beside its element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from types import CodeType
from typing import Any

import numpy as np
import pyarrow as pa

from flinkish.api.bytecode import Does, position_of, steps
from flinkish.runtime.columns.tracing.checks import Positions
from flinkish.runtime.columns.tracing.expression_run import Run
from flinkish.runtime.columns.tracing.expressions import Expression, columns_read
from flinkish.runtime.columns.tracing.symbols import LoopedOver, Symbol, is_constant
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import Unsupported
from flinkish.runtime.columns.tracing.values import Inexact

ROUNDS = 2
"""The number of iterations of a loop that are traced."""


@dataclass(frozen=True)
class Split:
    """How a function splits a text: ``text.method(*arguments)``."""

    text: Expression
    method: str
    arguments: tuple[Any, ...]

    def explode(
        self, run: Run, batch: pa.RecordBatch, read: set[int]
    ) -> tuple[pa.RecordBatch, Positions]:
        """A row for each word of the texts of ``run``, whose rows are ``batch``, and the position of
        the word's element. Columns that are not ``read`` are null. Raises Inexact where Python might
        raise an error."""
        texts = run.values(self.text)
        if texts.kind != "str":
            raise Inexact
        split = getattr(str, self.method)
        try:
            words = [split(text, *self.arguments) for text in islice(texts.listed(), run.count)]
        except Exception:
            raise Inexact from None
        positions = np.repeat(
            np.arange(run.count), np.fromiter(map(len, words), np.intp, run.count)
        )
        indices = pa.array(positions)
        columns = [
            column.take(indices) if number in read else pa.nulls(len(positions), column.type)
            for number, column in enumerate(batch.columns)
        ]
        columns.append(pa.array(chain.from_iterable(words), pa.string()))
        names = [*batch.schema.names, "word"]
        return pa.RecordBatch.from_arrays(columns, names), positions


@dataclass
class Rounds:
    """The loop of a function that is being traced. ``first``: the number of the column of the
    first word."""

    first: int
    split: Split | None = None
    current: int | None = None
    """The round that runs."""
    _begun: bool = field(default=False, init=False)

    def begin(self) -> None:
        self.current = None
        self._begun = False

    def splitter(self, symbol: Symbol, method: str) -> Callable[..., LoopedOver]:
        """The bound method ``method`` of the text ``symbol``."""

        def split(*arguments: Any) -> LoopedOver:
            trace = symbol._traced_trace
            if not all(map(is_constant, arguments)):
                raise trace.unsupported(f"calls {method} with a value")
            made = Split(symbol._traced_expression, method, arguments)
            reason = "does more with the words of a text than to loop over them"
            return LoopedOver(trace, reason, partial(self._begun_with, trace, made))

        return split

    def _begun_with(self, trace: Trace, split: Split) -> Iterator[Symbol]:
        if not trace.asks(is_independent, otherwise=True):
            raise trace.unsupported("has a loop over words that may depend on those before")
        return self._words(trace, split)

    def _words(self, trace: Trace, split: Split) -> Iterator[Symbol]:
        """Words that stand for all. Raises Unsupported if they cannot."""
        if self._begun or self.split not in (None, split):
            raise trace.unsupported("has several loops over the words of texts")
        self._begun = True
        self.split = split
        for number in range(ROUNDS):
            self.current = number
            yield Symbol(trace, self.word(trace, number))
        self.current = None

    def word(self, trace: Trace, number: int) -> Expression:
        return trace.expressions.column(self.first + number, "str")

    def later(self, *expressions: Expression) -> bool:
        """Whether a word but the first is read."""
        return any(number > self.first for number in columns_read(*expressions))

    def inLoop(self, *expressions: Expression) -> bool:
        """Whether a word is read."""
        return any(number >= self.first for number in columns_read(*expressions))


@lru_cache(maxsize=1024)
def is_independent(code: CodeType, position: int) -> bool:
    """Whether no round of a loop can leave anything for the next. The step of ``code`` at
    ``position`` creates the iterator of the loop. A round writes only variables that every round
    writes before it reads them."""
    begin = position_of(code, position) + 1
    behind = steps(code)[begin:]
    if not behind or behind[0].does is not Does.ITERATE:
        return False
    written: set[str] = set()
    read: set[str] = set()
    branched = False
    for step in behind[1:]:
        if step.offset >= behind[0].argument:
            return True
        if step.does is Does.STORE_VARIABLE:
            if step.argument not in written and (branched or step.argument in read):
                return False
            written.add(step.argument)
        elif step.does in _WRITES:
            return False
        elif step.does is Does.LOAD_VARIABLE:
            read.update({step.argument} - written)
        elif step.does in (Does.JUMP, Does.JUMP_BACK, Does.ITERATE):
            branched = True
        elif step.does in _LOADS and step.argument in _CHANGES:
            return False
    return True


_WRITES = {
    *(Does.STORE_GLOBAL, Does.STORE_ENCLOSING, Does.STORE_ATTRIBUTE, Does.STORE_ITEM),
    *(Does.STORE_SLICE, Does.DELETE_VARIABLE, Does.DELETE_GLOBAL, Does.DELETE_ATTRIBUTE),
    *(Does.DELETE_ITEM, Does.EXTEND),
}

_LOADS = (Does.LOAD_ATTRIBUTE, Does.LOAD_GLOBAL, Does.LOAD_ENCLOSING)

_CHANGES = {
    "next",
    *(
        name
        for name in {*dir(list), *dir(dict), *dir(set)} - {*dir(tuple), *dir(str)}
        if not name.startswith("_")
    ),
} - {"get", "keys", "values", "items", "copy"}
"""The names of functions that change an object."""


def check_rounds(
    trace: Trace, rounds: Rounds, slots: Sequence[Sequence[tuple[Expression, ...]]]
) -> None:
    """Raises Unsupported unless the slots of each round are those of the first with its word."""
    first = rounds.word(trace, 0)
    for number in range(1, ROUNDS):
        word = rounds.word(trace, number)
        wanted = [
            tuple(trace.expressions.replaced(part, first, word) for part in slot)
            for slot in slots[0]
        ]
        found = slots[number]
        same = len(found) == len(wanted) and all(
            len(one) == len(other) and all(a is b for a, b in zip(one, other))
            for one, other in zip(found, wanted)
        )
        if not same:
            raise Unsupported("has a loop over words whose rounds differ")
