"""The runs of functions over columns in this process, and the differences that checks have found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from flinkish.runtime.columns.tracing import column_runs
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns


class RunCounts:
    """The runs of all functions inside ``counted_runs``, by the class that runs them."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.elements: Counter[str] = Counter()


@contextmanager
def counted_runs() -> Iterator[RunCounts]:
    """Count the runs of this process, for tests that would also pass if nothing ran over columns."""
    counts, note = RunCounts(), ColumnRuns.note

    def noted(self: ColumnRuns, taken: bool, ofColumns: bool = False) -> None:
        note(self, taken, ofColumns)
        (counts.taken if taken else counts.elements)[self.kind] += 1

    with patch.object(ColumnRuns, "note", noted):
        yield counts


def differences() -> list[str]:
    """The differences that checks have found in this process."""
    return list(column_runs._differences.values())


def forget_differences() -> None:
    """Allow functions created from now on to run over columns again."""
    column_runs._differences.clear()
