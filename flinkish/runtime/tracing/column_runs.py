"""``ColumnRuns``: the runs that a function took over columns, counted, and when they are to be checked.

A function that a check has found to give something else than its columns (``checks.py``) leaves the columns for good.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from types import CodeType
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from flinkish.api.environment.configuration import DEFAULT_COLUMN_CHECKS
from flinkish.api.functions.functions import AggregateFunction, ReduceFunction
from flinkish.runtime.records.rows import RowColumns

_Method = TypeVar("_Method", bound=Callable[..., Any])

_log = logging.getLogger("flinkish.columns")

_FIRST_RUNS = 4
"""So many short runs of a function are checked, and then those whose number is a power of two: around a short run
other work takes far longer than a check."""

_SHORT = 1 << 12
"""Runs with fewer elements are short."""

_ROWS_A_CHECK = 1 << 22
"""Of longer runs the first is checked, and one for so many elements, which take far longer than a check."""


class RunReport(NamedTuple):
    """The runs of a function since the last report."""

    kind: str
    function: str
    taken: int
    elements: int
    difference: str | None


@dataclass
class ColumnScope:
    """Whose functions are made: how many elements of a run are checked, and the runs of the functions."""

    checks: int = DEFAULT_COLUMN_CHECKS
    runs: list[ColumnRuns] = field(default_factory=list)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Functions that are made inside the block are of this scope."""
        token = _scope.set(self)
        try:
            yield
        finally:
            _scope.reset(token)

    def reports(self) -> tuple[RunReport, ...]:
        """What ran since the last call."""
        return tuple(report for runs in self.runs if (report := runs.report()) is not None)


_scope: ContextVar[ColumnScope | None] = ContextVar("flinkish_column_scope", default=None)

_differences: dict[Any, str] = {}
"""The functions of this process that have left the columns."""


def differences() -> list[str]:
    """What checks have found in this process."""
    return list(_differences.values())


def forget_differences() -> None:
    """Let all functions that are made from now on run over columns again."""
    _differences.clear()


class ColumnRuns:
    """The runs of one function. ``kind`` is the class that runs it, such as ``"ColumnFold"``."""

    def __init__(self, kind: str, function: object) -> None:
        scope = _scope.get()
        self.kind = kind
        self.function = function
        self.checks = DEFAULT_COLUMN_CHECKS if scope is None else scope.checks
        """How many elements of a run are checked."""
        self.taken = 0
        """How many runs the function took over columns."""
        self.elements = 0
        """How many runs it was called for element by element."""
        self.seed = 0
        """How many runs were checked."""
        self.difference = _differences.get(_identity(kind, function)) if _differences else None
        """What a check has found, if the function has left the columns."""
        self._told = (0, 0)
        self._rows = self._runs = 0
        self._checked_long = False
        self._nulls: set[tuple[bool, ...]] = set()
        if scope is not None:
            scope.runs.append(self)

    def note(self, taken: bool) -> None:
        """Count a run."""
        if taken:
            self.taken += 1
        else:
            self.elements += 1
        for counts in _counting:
            counts.note(self.kind, taken)

    def due(self, rows: int, values: object = None) -> bool:
        """Whether a run of so many ``rows`` is to be checked: one of the first, one with nulls where there were
        none before, and one now and then."""
        if not self.checks:
            return False
        if isinstance(values, RowColumns) and isinstance(values.columns, pa.RecordBatch):
            nulls = tuple([column.null_count > 0 for column in values.columns.columns])
            if nulls not in self._nulls:
                self._nulls.add(nulls)
                self._checked_long = self._checked_long or rows >= _SHORT
                return True
        self._rows += rows
        self._runs += 1
        many = self._rows >= _ROWS_A_CHECK
        if rows < _SHORT:
            rare = self._runs > _FIRST_RUNS and self._runs & (self._runs - 1)
        else:
            rare = self._checked_long
            self._checked_long = True
        if rare and not many:
            return False
        self._rows = 0
        return True

    def dueCombining(self, rows: int) -> bool:
        """The same for accumulators that become one."""
        return self.due(rows)

    def leave(self, difference: str) -> None:
        """Call the function for each element from now on, in this process."""
        if self.difference is not None:
            return
        self.difference = difference
        _differences[_identity(self.kind, self.function)] = difference
        _log.warning(
            "%s has left the columns, as it %s. Please report it; the results are those of the function.",
            described(self.function),
            difference,
        )

    def report(self) -> RunReport | None:
        """What ran since the last call, None if nothing did."""
        taken, elements = self.taken - self._told[0], self.elements - self._told[1]
        if not taken and not elements:
            return None
        self._told = (self.taken, self.elements)
        return RunReport(self.kind, described(self.function), taken, elements, self.difference)


class RunCounts:
    """The runs of all functions while ``counted_runs`` is open, by the class that runs them."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.elements: Counter[str] = Counter()

    def note(self, kind: str, taken: bool) -> None:
        """Count a run of a function of ``kind``."""
        (self.taken if taken else self.elements)[kind] += 1


_counting: list[RunCounts] = []


@contextmanager
def counted_runs() -> Iterator[RunCounts]:
    """Count the runs of this process, for tests that would pass if nothing took the columns.

    >>> with counted_runs() as runs:
    ...     pass
    >>> runs.taken["ColumnFold"]
    0
    """
    counts = RunCounts()
    _counting.append(counts)
    try:
        yield counts
    finally:
        _counting.remove(counts)


def counting(check: Callable[..., str | None]) -> Callable[[_Method], _Method]:
    """For a method that runs a function over columns, and answers None where the function has to be called for each
    element: counts its runs, and asks ``check`` now and then for what differs.

    ``check`` gets the object, which has ``runs``, the answer, and the arguments of the method.
    """

    def decorated(method: _Method) -> _Method:
        @wraps(method)
        def counted(self: Any, *arguments: Any, **named: Any) -> Any:
            runs: ColumnRuns = self.runs
            answer = method(self, *arguments, **named) if runs.difference is None else None
            if answer is not None and runs.due(len(arguments[0]), arguments[0]):
                runs.seed += 1
                difference = check(self, answer, *arguments, **named)
                if difference is not None:
                    runs.leave(difference)
                    answer = None
            runs.note(answer is not None)
            return answer

        return counted  # type: ignore[return-value]

    return decorated


def described(function: object) -> str:
    """The name of a function with its line."""
    code = _code(function)
    found = getattr(function, "func", function) if isinstance(function, partial) else function
    name = getattr(found, "__qualname__", None) or type(found).__qualname__
    return name if code is None else f"{name} ({_file(code)}, line {code.co_firstlineno})"


def _file(code: CodeType) -> str:
    return code.co_filename.rpartition("/")[2]


def _identity(kind: str, function: object) -> Any:
    code = _code(function)
    settings = repr(sorted(vars(function).items())) if _is_of_ours(function) else None
    return kind, code, code and code.co_filename, type(function), settings


def _is_of_ours(function: object) -> bool:
    return type(function).__module__.startswith("flinkish.") and hasattr(function, "__dict__")


def _code(function: object) -> CodeType | None:
    """The code of a function of whatever form."""
    if isinstance(function, partial):
        return _code(function.func)
    if isinstance(function, AggregateFunction):
        function = function.add
    elif isinstance(function, ReduceFunction):
        function = function.reduce
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None
