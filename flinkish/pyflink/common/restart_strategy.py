"""Restart strategies: whether a job that failed runs again from its checkpoint, and when."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.api.environment.restart_strategies import RestartStrategies as CoreStrategies
from flinkish.api.environment.restart_strategies import (
    RestartStrategyConfiguration as CoreConfiguration,
)

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


@dataclass(frozen=True)
class RestartStrategyConfiguration:
    """A restart strategy (PyFlink: ``RestartStrategyConfiguration``)."""

    core: CoreConfiguration
    """The strategy as flinkish's own."""

    def get_description(self) -> str:
        """Describe the strategy in a sentence."""
        return self.core.getDescription()


class RestartStrategies:
    """Creates restart strategies (PyFlink: ``RestartStrategies``)."""

    @staticmethod
    def no_restart() -> RestartStrategyConfiguration:
        """A failure ends the job."""
        return RestartStrategyConfiguration(CoreStrategies.noRestart())

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """The strategy that the options ``restart-strategy...`` set."""
        return RestartStrategyConfiguration(CoreStrategies.fallBackRestart())

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> RestartStrategyConfiguration:
        """Restart up to ``restart_attempts`` times, ``delay_between_attempts`` ms after a
        failure."""
        return RestartStrategyConfiguration(
            CoreStrategies.fixedDelayRestart(restart_attempts, delay_between_attempts)
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> RestartStrategyConfiguration:
        """Restart ``delay_interval`` ms after a failure, unless there were more than
        ``failure_rate`` failures within ``failure_interval`` ms."""
        return RestartStrategyConfiguration(
            CoreStrategies.failureRateRestart(failure_rate, failure_interval, delay_interval)
        )
