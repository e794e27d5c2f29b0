"""``ColumnRuns``: counts the runs of a function over columns, and decides which of them are
checked.

If a check (``checks.py``) finds that a function's results differ from those of its columns, the
function is called for each element from then on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from flinkish.api.environment.configuration import DEFAULT_COLUMN_CHECKS
from flinkish.api.functions.functions import AggregateFunction, ReduceFunction
from flinkish.runtime.columns.tracing.traced_runs import columns_at_hand
from flinkish.runtime.columns.tracing.values import NOT_EXACT
from flinkish.runtime.records.rows import RowColumns

A = TypeVar("A")

_log = logging.getLogger("flinkish.columns")

_SHARE = 0.01
"""The share of the time of a function's runs that its checks may take, apart from the first
check."""


_PATIENCE = 8
"""A function that raises for one line in a thousand, and handles that, would otherwise start every
large run over columns and give up."""


class RunReport(NamedTuple):
    """A function's runs since the last report."""

    kind: str
    function: str
    taken: int
    elements: int
    difference: str | None


@dataclass
class ColumnScope:
    """The scope in which functions are created: how many elements of a run are checked, and all
    their runs."""

    checks: int = DEFAULT_COLUMN_CHECKS
    runs: list[ColumnRuns] = field(default_factory=list)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Functions that are created inside the block belong to this scope."""
        token = _scope.set(self)
        try:
            yield
        finally:
            _scope.reset(token)

    def reports(self) -> tuple[RunReport, ...]:
        """Reports of the functions that ran since the last call."""
        return tuple(report for runs in self.runs if (report := runs.report()) is not None)


_scope: ContextVar[ColumnScope | None] = ContextVar("flinkish_column_scope", default=None)

_differences: dict[Any, str] = {}
"""By function: the difference for which it is no longer run over columns in this process."""


class ColumnRuns:
    """The runs of one function. ``kind`` is the class that runs it, such as ``"ColumnFold"``."""

    def __init__(self, kind: str, function: object) -> None:
        scope = _scope.get()
        self.kind = kind
        self.function = function
        self.checks = DEFAULT_COLUMN_CHECKS if scope is None else scope.checks
        """The number of elements of a run to check."""
        self.taken = 0
        """The number of runs processed over columns."""
        self.elements = 0
        """The number of runs processed element by element."""
        self.seed = 0
        """The number of runs checked."""
        self._in_vain = 0
        """The number of consecutive runs of columns processed element by element."""
        self.difference = _differences.get(_identity(kind, function)) if _differences else None
        """The difference that a check has found; the function is not run over columns any more
        then."""
        self._told = (0, 0)
        self._working = self._checking = 0.0
        """The seconds spent in runs, and in checks."""
        self._nulls: set[tuple[bool, ...]] = set()
        if scope is not None:
            scope.runs.append(self)

    @property
    def worthTrying(self) -> bool:
        """Whether to try the next run of columns: after ``_PATIENCE`` in a row for which the
        function had to be called, one in as many."""
        return self._in_vain < _PATIENCE or self._in_vain % _PATIENCE == 0

    def note(self, taken: bool, ofColumns: bool = False) -> None:
        """Count a run. ``ofColumns``: it could have been taken over columns."""
        if taken:
            self.taken += 1
            self._in_vain = 0
        else:
            self.elements += 1
            self._in_vain += ofColumns

    def counted(
        self, values: object, compute: Callable[[], A | None], differs: Callable[[A], str | None]
    ) -> A | None:
        """The answer of ``compute`` for ``values``, which runs the function over columns; None if the
        function has to be called for each element, as ``compute`` raises one of ``NOT_EXACT`` or
        returns None. Counts the run, and checks it if that is due: ``differs`` gets the answer, and
        returns the difference that it finds, or None."""
        answer = None
        if self.difference is None and self.worthTrying:
            began = time.perf_counter()  # ``working`` would cost as much as a small run
            with suppress(*NOT_EXACT):
                answer = compute()
            self._working += time.perf_counter() - began
        if answer is not None and self.due(values):
            with self.checking():
                difference = differs(answer)
            if difference is not None:
                self.leave(difference)
                answer = None
        self.note(answer is not None, isinstance(values, RowColumns))
        return answer

    @contextmanager
    def working(self) -> Iterator[None]:
        """Times the block as a run of the function."""
        began = time.perf_counter()
        yield
        self._working += time.perf_counter() - began

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Times the block as a check of a run."""
        self.seed += 1
        began = time.perf_counter()
        yield
        self._checking += time.perf_counter() - began

    def due(self, values: object = None) -> bool:
        """Whether to check a run: the first one, one with nulls in columns that had none before,
        and any other as long as checks take a small share of the time. So the clock decides which
        runs are checked, but never a result."""
        if not self.checks:
            return False
        if isinstance(values, RowColumns):
            nulls = tuple([column.null_count > 0 for column in columns_at_hand(values.columns)])
            if nulls not in self._nulls:
                self._nulls.add(nulls)
                return True
        return self.seed == 0 or self._checking <= _SHARE * self._working

    def leave(self, difference: str) -> None:
        """Call the function for each element from now on in this process, and log why."""
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
        taken, elements = self.taken - self._told[0], self.elements - self._told[1]
        if not taken and not elements:
            return None
        self._told = (self.taken, self.elements)
        return RunReport(self.kind, described(self.function), taken, elements, self.difference)


def described(function: object) -> str:
    """The name of a function with its file and line."""
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
    """The code object of a callable or function object; None if it has none."""
    if isinstance(function, partial):
        return _code(function.func)
    if isinstance(function, AggregateFunction):
        function = function.add
    elif isinstance(function, ReduceFunction):
        function = function.reduce
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if isinstance(code, CodeType) else None
