"""``RestartStrategies``: whether a job that failed runs again from its checkpoint, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flinkish.api.arguments import (
    length_from_zero,
    number,
    positive,
    positive_length,
    whole_number,
)
from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.api.time.durations import TimeLike

_MOST_ATTEMPTS = 2**31 - 1


class RestartStrategyConfiguration(ABC):
    """Base class of restart strategies (Flink: ``RestartStrategyConfiguration``)."""

    @abstractmethod
    def getDescription(self) -> str:
        """Describe the strategy in a sentence."""


@dataclass(frozen=True)
class NoRestart(RestartStrategyConfiguration):
    """A failure ends the job."""

    def getDescription(self) -> str:
        return "Restart deactivated."


@dataclass(frozen=True)
class FallbackRestart(RestartStrategyConfiguration):
    """The strategy that the options ``restart-strategy...`` set."""

    def getDescription(self) -> str:
        return "Cluster level default restart strategy"


@dataclass(frozen=True)
class FixedDelayRestart(RestartStrategyConfiguration):
    """A number of restarts, each after the same delay (ms)."""

    attempts: int
    delay: int

    def getDescription(self) -> str:
        return f"Restart with fixed delay ({self.delay} ms). #{self.attempts} restart attempts."


@dataclass(frozen=True)
class ExponentialDelayRestart(RestartStrategyConfiguration):
    """Restarts after delays (ms) that grow, until the job has run for a while without a failure."""

    initialBackoff: int
    maxBackoff: int
    backoffMultiplier: float
    resetBackoffThreshold: int
    jitterFactor: float
    attempts: int = _MOST_ATTEMPTS

    def getDescription(self) -> str:
        return (
            f"Restart with exponential delay: starting at {self.initialBackoff} ms, increasing by"
            f" {self.backoffMultiplier}, with maximum {self.maxBackoff} ms. Delay resets after"
            f" {self.resetBackoffThreshold} ms with jitter {self.jitterFactor}."
        )


@dataclass(frozen=True)
class FailureRateRestart(RestartStrategyConfiguration):
    """Restarts after a delay (ms), unless there were more failures in an interval (ms) than allowed."""

    maxFailures: int
    failureInterval: int
    delay: int

    def getDescription(self) -> str:
        return (
            f"Failure rate restart with maximum of {self.maxFailures} failures within interval"
            f" {self.failureInterval} ms and fixed delay {self.delay} ms."
        )


class RestartStrategies:
    """Creates restart strategies (Flink: ``RestartStrategies``). Times are ms or a Duration."""

    @staticmethod
    def noRestart() -> RestartStrategyConfiguration:
        """A failure ends the job. This is the default."""
        return NoRestart()

    @staticmethod
    def fallBackRestart() -> RestartStrategyConfiguration:
        """The strategy that the options ``restart-strategy...`` set; without them no restart."""
        return FallbackRestart()

    @staticmethod
    def fixedDelayRestart(
        restartAttempts: int, delayBetweenAttempts: TimeLike
    ) -> RestartStrategyConfiguration:
        """Restart up to ``restartAttempts`` times, each ``delayBetweenAttempts`` after the failure."""
        call = "fixedDelayRestart"
        return FixedDelayRestart(
            whole_number(f"{call}: restartAttempts", restartAttempts, 0, _MOST_ATTEMPTS),
            length_from_zero(f"{call}: delayBetweenAttempts", delayBetweenAttempts),
        )

    @staticmethod
    def exponentialDelayRestart(
        initialBackoff: TimeLike,
        maxBackoff: TimeLike,
        backoffMultiplier: float,
        resetBackoffThreshold: TimeLike,
        jitterFactor: float,
    ) -> ExponentialDelayRestart:
        """Restart after ``initialBackoff``; each further failure multiplies the delay by
        ``backoffMultiplier``, up to ``maxBackoff``. After ``resetBackoffThreshold`` without a
        failure the delay is ``initialBackoff`` again. Delays vary by up to the fraction
        ``jitterFactor`` (0 to 1)."""
        call = "exponentialDelayRestart"
        initial = positive_length(f"{call}: initialBackoff", initialBackoff)
        highest = positive_length(f"{call}: maxBackoff", maxBackoff)
        multiplier = number(f"{call}: backoffMultiplier", backoffMultiplier)
        jitter = number(f"{call}: jitterFactor", jitterFactor)
        if highest < initial:
            raise IllegalArgumentError(
                f"{call}: maxBackoff, {highest} ms, is below initialBackoff, {initial} ms. Pass at least that."
            )
        if not 1 < multiplier < float("inf"):
            raise IllegalArgumentError(
                f"{call}: backoffMultiplier {multiplier} is not above 1. Pass such as 1.5."
            )
        if not 0 <= jitter <= 1:
            raise IllegalArgumentError(
                f"{call}: jitterFactor {jitter} is not from 0 to 1. Pass such as 0.1."
            )
        return ExponentialDelayRestart(
            initial,
            highest,
            multiplier,
            positive_length(f"{call}: resetBackoffThreshold", resetBackoffThreshold),
            jitter,
        )

    @staticmethod
    def failureRateRestart(
        failureRate: int, failureInterval: TimeLike, delayInterval: TimeLike
    ) -> RestartStrategyConfiguration:
        """Restart ``delayInterval`` after a failure, unless there were more than ``failureRate``
        failures within ``failureInterval``."""
        call = "failureRateRestart"
        return FailureRateRestart(
            positive(f"{call}: failureRate", failureRate, _MOST_ATTEMPTS),
            positive_length(f"{call}: failureInterval", failureInterval),
            length_from_zero(f"{call}: delayInterval", delayInterval),
        )


TYPE = "restart-strategy.type"

_FIXED, _EXPONENTIAL, _RATE = (
    f"restart-strategy.{kind}" for kind in ("fixed-delay", "exponential-delay", "failure-rate")
)

RESTART_OPTIONS = (
    TYPE,
    f"{_FIXED}.attempts",
    f"{_FIXED}.delay",
    f"{_EXPONENTIAL}.initial-backoff",
    f"{_EXPONENTIAL}.max-backoff",
    f"{_EXPONENTIAL}.backoff-multiplier",
    f"{_EXPONENTIAL}.reset-backoff-threshold",
    f"{_EXPONENTIAL}.jitter-factor",
    f"{_EXPONENTIAL}.attempts-before-reset-backoff",
    f"{_RATE}.max-failures-per-interval",
    f"{_RATE}.failure-rate-interval",
    f"{_RATE}.delay",
)
"""The options of Flink that say how a job restarts, as ``restart_strategy_of`` reads them."""

_TYPES = {
    "none": "none",
    "disable": "none",
    "off": "none",
    "fixed-delay": "fixed-delay",
    "fixeddelay": "fixed-delay",
    "exponential-delay": "exponential-delay",
    "exponentialdelay": "exponential-delay",
    "failure-rate": "failure-rate",
    "failurerate": "failure-rate",
}


def restart_strategy_of(options: Mapping[str, Any]) -> RestartStrategyConfiguration:
    """The strategy that ``options`` set, with Flink's defaults for options that are missing."""
    kind = _type(options.get(TYPE, "none"))
    if kind == "fixed-delay":
        attempts, delay = f"{_FIXED}.attempts", f"{_FIXED}.delay"
        return FixedDelayRestart(
            whole_number(attempts, options.get(attempts, 1), 0, _MOST_ATTEMPTS),
            length_from_zero(delay, options.get(delay, 1_000)),
        )
    if kind == "failure-rate":
        rate, interval = f"{_RATE}.max-failures-per-interval", f"{_RATE}.failure-rate-interval"
        delay = f"{_RATE}.delay"
        return FailureRateRestart(
            positive(rate, options.get(rate, 1), _MOST_ATTEMPTS),
            positive_length(interval, options.get(interval, 60_000)),
            length_from_zero(delay, options.get(delay, 1_000)),
        )
    if kind == "exponential-delay":
        attempts = f"{_EXPONENTIAL}.attempts-before-reset-backoff"
        strategy = RestartStrategies.exponentialDelayRestart(
            options.get(f"{_EXPONENTIAL}.initial-backoff", 1_000),
            options.get(f"{_EXPONENTIAL}.max-backoff", 60_000),
            options.get(f"{_EXPONENTIAL}.backoff-multiplier", 1.5),
            options.get(f"{_EXPONENTIAL}.reset-backoff-threshold", 3_600_000),
            options.get(f"{_EXPONENTIAL}.jitter-factor", 0.1),
        )
        most = positive(attempts, options.get(attempts, _MOST_ATTEMPTS), _MOST_ATTEMPTS)
        return replace(strategy, attempts=most)
    return NoRestart()


def _type(given: object) -> str:
    kind = _TYPES.get(given.lower()) if isinstance(given, str) else None
    if kind is None:
        raise IllegalArgumentError(
            f"{TYPE}: {shown(given)} is none of {', '.join(dict.fromkeys(_TYPES.values()))}. Pass one."
        )
    return kind
