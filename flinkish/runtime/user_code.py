"""Names the operator and the element in whatever a user function raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flinkish.api.errors import FlinkishError, UnfitElementError, UserFunctionError


@contextmanager
def user_code_of(operator: str, element: Callable[[], object]) -> Iterator[None]:
    """For a whole run of elements: ``element()`` is asked for the culprit only after an error."""
    try:
        yield
    except UnfitElementError as error:
        raise error.at(operator) from None
    except FlinkishError:
        raise
    except Exception as error:
        raise UserFunctionError.of(operator, element(), error) from error


@contextmanager
def user_method_of(operator: str, method: str) -> Iterator[None]:
    """Names the operator and the method, for one that is called without an element."""
    try:
        yield
    except FlinkishError:
        raise
    except Exception as error:
        raise UserFunctionError.of(operator, None, error, method) from error


def mapped(operator: str, function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """``function`` of every value; an error names the value."""
    results: list[Any] = []
    with user_code_of(operator, lambda: values[len(results)]):
        # extend() keeps what came before the error, so its length tells the culprit
        results.extend(map(function, values))
    return results
