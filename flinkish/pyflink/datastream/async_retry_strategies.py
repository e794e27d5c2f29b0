"""Retry strategies of asynchronous functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic

from typing_extensions import TypeVar

OUT = TypeVar("OUT", default=Any)

_Results = Callable[[list[Any]], bool] | None
_Errors = Callable[[Exception], bool] | None


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Says which calls are retried (PyFlink: ``AsyncRetryPredicate``)."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """A function that says whether to retry after results; None never retries."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """A function that says whether to retry after an error; None never retries."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Says how often and when to retry (PyFlink: ``AsyncRetryStrategy``)."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether another attempt is allowed after ``current_attempts``."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The time (ms) to wait before the next attempt."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The predicate for the results and errors to retry."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy:
        """Never retry."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[Any]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """Retry up to ``max_attempts`` times, each after ``backoff_time_millis``."""
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[Any]], bool] | None = None,
        exception_predicate: Callable[[Exception], bool] | None = None,
    ) -> AsyncRetryStrategy:
        """Retry up to ``max_attempts`` times, each after a longer delay (ms)."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate):
    """Two functions, one for results and one for errors."""

    def __init__(self, result_predicate: _Results, exception_predicate: _Errors) -> None:
        self._results, self._errors = result_predicate, exception_predicate

    def result_predicate(self) -> _Results:
        return self._results

    def exception_predicate(self) -> _Errors:
        return self._errors


class NoRetryStrategy(AsyncRetryStrategy):
    """Never retries."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


class _LimitedRetryStrategy(AsyncRetryStrategy):
    """Base of the strategies that retry a number of times."""

    def __init__(
        self, max_attempts: int, result_predicate: _Results, exception_predicate: _Errors
    ) -> None:
        self._attempts = max_attempts
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class FixedDelayRetryStrategy(_LimitedRetryStrategy):
    """Retries a number of times, each after the same delay."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: _Results = None,
        exception_predicate: _Errors = None,
    ) -> None:
        if max_attempts <= 0 or backoff_time_millis <= 0:
            raise ValueError("fixed_delay: max_attempts and backoff_time_millis must be above 0.")
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._delay = backoff_time_millis

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._delay


class ExponentialBackoffDelayRetryStrategy(_LimitedRetryStrategy):
    """Retries a number of times, each after a longer delay."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: _Results = None,
        exception_predicate: _Errors = None,
    ) -> None:
        super().__init__(max_attempts, result_predicate, exception_predicate)
        self._first, self._most, self._multiplier = initial_delay, max_retry_delay, multiplier

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        grown = self._first * self._multiplier ** max(current_attempts - 1, 0)
        return int(min(grown, self._most))
