"""Checks of what a user passes."""

from __future__ import annotations

from flinkish.api.errors import IllegalArgumentError


def positive(method: str, count: int) -> int:
    """``count``; raises IllegalArgumentError, naming ``method``, unless it is a whole number above 0."""
    if not isinstance(count, int) or count <= 0:
        raise IllegalArgumentError(f"{method}: {count!r} is not a whole number greater than zero.")
    return count
