"""Family ``async``: the value of an element says how its request ends."""

from __future__ import annotations

from flinkish import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategies,
    RetryPredicates,
)
from tests.conformance.family import Family

TIMEOUT = 50
"""In ms of this machine's clock. Requests end at once, or never."""

TIMEOUT_WITH_RETRIES = 60_000
"""No request hangs in these cases, and a busy machine takes its time."""


class Request(AsyncFunction):
    """Gives no result, one or two; or fails twice; or hangs."""

    def __init__(self):
        self.attempts = {}

    def asyncInvoke(self, value, resultFuture):
        ending = value[1] % 5
        if ending < 3:
            resultFuture.complete([(*value, how, 1) for how in ("one", "two")[:ending]])
        elif ending == 3:
            attempt = self.attempts.pop(value, 0) + 1
            if attempt == 3:
                resultFuture.complete([(*value, "at last", attempt)])
            else:
                self.attempts[value] = attempt
                resultFuture.completeExceptionally(RuntimeError("busy"))

    def timeout(self, value, resultFuture):
        resultFuture.complete([(*value, "too late", 0)])


class AsyncFamily(Family):
    name = "async"

    def build(self, case):
        function = case.data["function"]
        ordered = function["kind"] == "ordered"
        if "attempts" not in function:
            wait = AsyncDataStream.orderedWait if ordered else AsyncDataStream.unorderedWait
            return lambda stream: wait(stream, Request(), TIMEOUT)
        retried = (
            AsyncDataStream.orderedWaitWithRetry
            if ordered
            else AsyncDataStream.unorderedWaitWithRetry
        )
        strategy = AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(function["attempts"], 1)
        strategy.ifResult(RetryPredicates.EMPTY_RESULT_PREDICATE)
        strategy.ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE)
        return lambda stream: retried(
            stream, Request(), TIMEOUT_WITH_RETRIES, asyncRetryStrategy=strategy.build()
        )
