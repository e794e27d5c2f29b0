"""``ColumnRuns``: the runs that a function took over columns, counted, and when they are to be checked.

A function that a check has found to give something else than its columns (``checks.py``) leaves the columns for good.
"""

from __future__ import annotations

import logging
import time
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

_SHARE = 0.01
"""How much of the time of a function's runs its checks may take, the first of them aside."""


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
    """Let functions created from now on run over columns again."""
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
        self._working = self._checking = 0.0
        """The seconds of the runs, and of the checks."""
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

    @contextmanager
    def working(self) -> Iterator[None]:
        """Inside the block the function takes a run."""
        began = time.perf_counter()
        yield
        self._working += time.perf_counter() - began

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Inside the block a run is checked."""
        self.seed += 1
        began = time.perf_counter()
        yield
        self._checking += time.perf_counter() - began

    def due(self, values: object = None) -> bool:
        """Whether a run is to be checked: the first, one with nulls where there were none before, and any other as long as
        checks take a small part of the time. So the clock decides which runs are checked, and never what they give."""
        if not self.checks:
            return False
        if isinstance(values, RowColumns) and isinstance(values.columns, pa.RecordBatch):
            nulls = tuple([column.null_count > 0 for column in values.columns.columns])
            if nulls not in self._nulls:
                self._nulls.add(nulls)
                return True
        return self.seed == 0 or self._checking <= _SHARE * self._working

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
            answer = None
            if runs.difference is None:
                began = time.perf_counter()  # not ``working``, which costs as much as a small run
                answer = method(self, *arguments, **named)
                runs._working += time.perf_counter() - began
            if answer is not None and runs.due(arguments[0]):
                with runs.checking():
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
