"""Numbers, and the elements that a generator creates from them, as runs of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flinkish.runtime.records.records import Records, untimed
from flinkish.runtime.records.user_code import emitted

NUMBERS_A_RUN = 1 << 15


def number_records(
    generator: Callable[[int], Any] | None, first: int, last: int
) -> Iterator[Records]:
    """The numbers from ``first`` to ``last``, or the elements of ``generator`` for them."""
    for start in range(first, last + 1, NUMBERS_A_RUN):
        numbers: Sequence[Any] = range(start, min(start + NUMBERS_A_RUN, last + 1))
        if generator is not None:
            numbers = emitted("Data Generator Source", generator, numbers)
        yield untimed(list(numbers))
