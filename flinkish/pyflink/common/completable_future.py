"""``CompletableFuture``: a result that may still come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from flinkish.api.type_variables import T

__all__ = ["CompletableFuture"]


class CompletableFuture(Generic[T]):
    """A result that may still come (PyFlink: ``CompletableFuture``). ``wait`` waits for it; ``done`` says
    whether it has come."""

    def __init__(self, wait: Callable[[], T], done: Callable[[], bool] = lambda: True) -> None:
        self._wait = wait
        self._done = done

    def cancel(self) -> bool:
        """False: a call that has begun cannot be cancelled."""
        return False

    def cancelled(self) -> bool:
        """False, for the same reason."""
        return False

    def done(self) -> bool:
        """Whether the result has come."""
        return self._done()

    def result(self) -> T:
        """Wait for the result, or raise the error."""
        return self._wait()

    def exception(self) -> BaseException | None:
        """Wait for the end, and return the error, None if there is none."""
        try:
            self._wait()
        except Exception as error:
            return error
        return None
