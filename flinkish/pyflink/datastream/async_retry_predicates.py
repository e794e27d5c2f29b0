"""Predicates for retry strategies."""

from __future__ import annotations

from typing import Any


def empty_result_predicate(result: list[Any]) -> bool:
    """Whether there are no results."""
    return not result


def has_exception_predicate(error: Exception) -> bool:
    """Whether there was an error."""
    return error is not None


def exception_type_predicate(error: Exception, expected_error_type: type[Exception]) -> bool:
    """Whether the error is of that type."""
    return isinstance(error, expected_error_type)
