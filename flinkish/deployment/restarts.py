"""``RestartBackoff``: applies a restart strategy (Flink: ``RestartBackoffTimeStrategy``)."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque

from flinkish.api import errors
from flinkish.api.environment.restart_strategies import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    RestartStrategyConfiguration,
)

_HOPELESS = (
    errors.CorruptCheckpointError,
    errors.IllegalArgumentError,
    errors.IncompatibleCheckpointError,
    errors.InvalidProgramError,
    errors.JavaNotFoundError,
    errors.NotSupportedError,
    errors.ProducerFencedError,
)


def is_recoverable(error: BaseException) -> bool:
    """Whether a job that failed with ``error`` may succeed after a restart, judging by the error's
    class. An unfit element depends on the data, and a source or function may emit another one."""
    if not isinstance(error, Exception):
        return False
    return isinstance(error, errors.UnfitElementError) or not isinstance(error, _HOPELESS)


class RestartBackoff(ABC):
    """Decides after each failure of a job; times are ms of a monotonic clock."""

    @abstractmethod
    def afterFailure(self, now: int) -> int | None:
        """Called at each failure: the delay until the restart, None if the job must not restart."""


class FixedDelayBackoff(RestartBackoff):
    """A fixed number of restarts, each after the same delay."""

    def __init__(self, strategy: FixedDelayRestart) -> None:
        self._strategy = strategy
        self._restarts = 0

    def afterFailure(self, now: int) -> int | None:
        self._restarts += 1
        return self._strategy.delay if self._restarts <= self._strategy.attempts else None


class FailureRateBackoff(RestartBackoff):
    """Restarts unless more failures than allowed fall into one interval."""

    def __init__(self, strategy: FailureRateRestart) -> None:
        self._strategy = strategy
        self._failures: deque[int] = deque(maxlen=strategy.maxFailures + 1)

    def afterFailure(self, now: int) -> int | None:
        strategy = self._strategy
        self._failures.append(now)
        if len(self._failures) > strategy.maxFailures:
            earliest = self._failures[0]
            if now - earliest <= strategy.failureInterval:
                return None
        return strategy.delay


class ExponentialDelayBackoff(RestartBackoff):
    """Delays that grow, and are reset once the job has run long enough."""

    def __init__(self, strategy: ExponentialDelayRestart) -> None:
        self._strategy = strategy
        self._backoff: float = strategy.initialBackoff
        self._restarts = 0
        self._restarted: int | None = None

    def afterFailure(self, now: int) -> int | None:
        strategy = self._strategy
        last = self._restarted
        if last is None or now - last >= strategy.resetBackoffThreshold:
            self._backoff, self._restarts = strategy.initialBackoff, 0
        else:
            self._backoff = min(self._backoff * strategy.backoffMultiplier, strategy.maxBackoff)
        self._restarts += 1
        if self._restarts > strategy.attempts:
            return None
        jitter = self._backoff * strategy.jitterFactor
        varied = self._backoff + random.uniform(-jitter, jitter)
        delay = min(round(varied), strategy.maxBackoff)
        self._restarted = now + delay
        return delay


def restart_backoff(strategy: RestartStrategyConfiguration) -> RestartBackoff:
    if isinstance(strategy, FixedDelayRestart):
        return FixedDelayBackoff(strategy)
    if isinstance(strategy, FailureRateRestart):
        return FailureRateBackoff(strategy)
    if isinstance(strategy, ExponentialDelayRestart):
        return ExponentialDelayBackoff(strategy)
    return FixedDelayBackoff(FixedDelayRestart(0, 0))
