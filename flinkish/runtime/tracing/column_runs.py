"""``ColumnRuns``: counts the runs that a function took over columns, and those it was called for element by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])


class ColumnRuns:
    """The runs of one function. ``kind`` is the class that runs it, such as ``"ColumnFold"``."""

    __slots__ = ("elements", "kind", "taken")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.taken = 0
        """How many runs the function took over columns."""
        self.elements = 0
        """How many runs it was called for element by element."""

    def note(self, taken: bool) -> None:
        """Count a run."""
        if taken:
            self.taken += 1
        else:
            self.elements += 1
        for counts in _counting:
            counts.note(self.kind, taken)


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


def counting(method: _Method) -> _Method:
    """For a method that runs a function over columns: counts whether it did, that is, returned something else
    than None. Its object has ``runs``."""

    @wraps(method)
    def counted(self: Any, *arguments: Any, **named: Any) -> Any:
        answer = method(self, *arguments, **named)
        self.runs.note(answer is not None)
        return answer

    return counted  # type: ignore[return-value]
