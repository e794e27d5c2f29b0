"""Asynchronous functions, which look up values in other systems for many elements at once.

Flink's form completes a ``ResultFuture``, from any thread; a Python user writes ``async def`` and returns
the results. Retry strategies say which calls are retried, how often and when.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, Union

from flinkish.api.arguments import number, positive
from flinkish.api.functions.functions import Function, RichFunction
from flinkish.api.type_variables import R, T_contra


class ResultFuture(ABC, Generic[R]):
    """Takes the results for one element, from any thread (Flink: ``ResultFuture``). Only the first call
    counts."""

    __slots__ = ()

    @abstractmethod
    def complete(self, result: Iterable[R]) -> None:
        """Complete the future with any number of results."""

    @abstractmethod
    def completeExceptionally(self, error: BaseException) -> None:
        """Complete the future with an error. The job fails with it unless the call is retried."""


class AsyncFunction(Function, ABC, Generic[T_contra, R]):
    """Computes the results of an element while other calls are in flight (Flink:
    ``AsyncFunction``).

    Either ``asyncInvoke(value, resultFuture)``, which may be a coroutine, completes the future; or
    ``async def asyncInvoke(value)`` returns the results. ``timeout`` has the same two forms.

    >>> class Squared(AsyncFunction[int, int]):
    ...     async def asyncInvoke(self, value):
    ...         return [value * value]
    """

    @abstractmethod
    def asyncInvoke(self, *args: Any, **kwargs: Any) -> Any:
        """Called with the element, and with a ``ResultFuture`` if it takes one, for up to ``capacity``
        elements at once."""

    def timeout(self, *args: Any, **kwargs: Any) -> Any:
        """Called with an element whose results took too long, and with a ``ResultFuture`` if it takes
        one: the results come from here instead."""
        raise TimeoutError("Async function call has timed out.")


class RichAsyncFunction(RichFunction, AsyncFunction[T_contra, R]):
    """An ``AsyncFunction`` with open, close and a runtime context, but no state (Flink:
    ``RichAsyncFunction``). ``open`` runs inside the event loop, so it may create a client there."""


AsyncLike = Union[AsyncFunction[T_contra, R], Callable[[T_contra], Any]]
"""An AsyncFunction, or ``async def f(value)``, which returns a list of results."""


# ---------------------------------------------------------------------- retries

ResultPredicate = Callable[[Sequence[Any]], bool]
ExceptionPredicate = Callable[[BaseException], bool]


@dataclass(frozen=True)
class AsyncRetryPredicate:
    """The predicates for the results and errors to retry (Flink: ``AsyncRetryPredicate``); None
    retries none."""

    results: ResultPredicate | None = None
    exceptions: ExceptionPredicate | None = None

    def resultPredicate(self) -> ResultPredicate | None:
        """The predicate that retries a call for its results."""
        return self.results

    def exceptionPredicate(self) -> ExceptionPredicate | None:
        """The predicate that retries a call for its error."""
        return self.exceptions


class AsyncRetryStrategy(ABC):
    """The number and the delays of retries of a call (Flink: ``AsyncRetryStrategy``)."""

    @abstractmethod
    def canRetry(self, currentAttempts: int) -> bool:
        """Whether another attempt is allowed after ``currentAttempts``."""

    @abstractmethod
    def getBackoffTimeMillis(self, currentAttempts: int) -> int:
        """The time (ms) to wait before the next attempt."""

    @abstractmethod
    def getRetryPredicate(self) -> AsyncRetryPredicate:
        """The predicates for the results and errors to retry."""


@dataclass(frozen=True)
class NoRetryStrategy(AsyncRetryStrategy):
    """Never retries."""

    def canRetry(self, currentAttempts: int) -> bool:
        return False

    def getBackoffTimeMillis(self, currentAttempts: int) -> int:
        return -1

    def getRetryPredicate(self) -> AsyncRetryPredicate:
        return AsyncRetryPredicate()


@dataclass(frozen=True)
class DelayedRetryStrategy(AsyncRetryStrategy):
    """Retries up to ``maxAttempts`` times, after ``delay(attempts)`` ms each."""

    maxAttempts: int
    delay: Callable[[int], int]
    predicate: AsyncRetryPredicate

    def canRetry(self, currentAttempts: int) -> bool:
        return currentAttempts <= self.maxAttempts

    def getBackoffTimeMillis(self, currentAttempts: int) -> int:
        return self.delay(currentAttempts)

    def getRetryPredicate(self) -> AsyncRetryPredicate:
        return self.predicate


class _RetryStrategyBuilder(ABC):
    """The common part of the builders."""

    def __init__(self, maxAttempts: int) -> None:
        self._attempts = positive("AsyncRetryStrategies: maxAttempts", maxAttempts)
        self._results: ResultPredicate | None = None
        self._exceptions: ExceptionPredicate | None = None

    @abstractmethod
    def _delay(self, attempts: int) -> int: ...

    def ifResult(self, resultRetryPredicate: ResultPredicate) -> Self:
        """Retry a call whose results satisfy the predicate."""
        self._results = resultRetryPredicate
        return self

    def ifException(self, exceptionRetryPredicate: ExceptionPredicate) -> Self:
        """Retry a call whose error satisfies the predicate."""
        self._exceptions = exceptionRetryPredicate
        return self

    def build(self) -> AsyncRetryStrategy:
        """The strategy."""
        predicate = AsyncRetryPredicate(self._results, self._exceptions)
        return DelayedRetryStrategy(self._attempts, self._delay, predicate)


class FixedDelayRetryStrategyBuilder(_RetryStrategyBuilder):
    """Waits the same time before each attempt (Flink:
    ``AsyncRetryStrategies.FixedDelayRetryStrategyBuilder``)."""

    def __init__(self, maxAttempts: int, backoffTimeMillis: int) -> None:
        super().__init__(maxAttempts)
        self._millis = positive("AsyncRetryStrategies: backoffTimeMillis", backoffTimeMillis)

    def _delay(self, attempts: int) -> int:
        return self._millis


class ExponentialBackoffDelayRetryStrategyBuilder(_RetryStrategyBuilder):
    """Waits longer before each attempt (Flink:
    ``AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder``)."""

    def __init__(
        self, maxAttempts: int, initialDelay: int, maxRetryDelay: int, multiplier: float
    ) -> None:
        super().__init__(maxAttempts)
        self._initial = positive("AsyncRetryStrategies: initialDelay", initialDelay)
        self._most = positive("AsyncRetryStrategies: maxRetryDelay", maxRetryDelay)
        self._multiplier = number("AsyncRetryStrategies: multiplier", multiplier)

    def _delay(self, attempts: int) -> int:
        return int(min(self._initial * self._multiplier ** (attempts - 1), self._most))


class AsyncRetryStrategies:
    """Creates retry strategies (Flink: ``AsyncRetryStrategies``).

    >>> builder = AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(3, 100)
    >>> strategy = builder.ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE).build()
    >>> strategy.canRetry(3), strategy.canRetry(4)
    (True, False)
    """

    NO_RETRY_STRATEGY: AsyncRetryStrategy = NoRetryStrategy()
    FixedDelayRetryStrategyBuilder = FixedDelayRetryStrategyBuilder
    ExponentialBackoffDelayRetryStrategyBuilder = ExponentialBackoffDelayRetryStrategyBuilder


def _is_empty(results: Sequence[Any]) -> bool:
    return not results


def _is_error(error: BaseException) -> bool:
    return True


@dataclass(frozen=True)
class _IsOfType:
    kind: type[BaseException]

    def __call__(self, error: BaseException) -> bool:
        return isinstance(error, self.kind)


class RetryPredicates:
    """Predicates for retry strategies (Flink: ``RetryPredicates``)."""

    EMPTY_RESULT_PREDICATE: ResultPredicate = staticmethod(_is_empty)
    HAS_EXCEPTION_PREDICATE: ExceptionPredicate = staticmethod(_is_error)

    @staticmethod
    def createExceptionTypePredicate(exceptionClass: type[BaseException]) -> ExceptionPredicate:
        """True for errors of that class."""
        return _IsOfType(exceptionClass)
