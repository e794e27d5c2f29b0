"""Restart strategies, which say nothing here: a job that fails raises its error."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


@dataclass(frozen=True)
class RestartStrategyConfiguration:
    """A restart strategy, kept and not used: start the job again with the same checkpoint directory."""

    description: str

    def get_description(self) -> str:
        """What was asked for."""
        return self.description


class RestartStrategies:
    """Makes restart strategies (PyFlink: ``RestartStrategies``)."""

    @staticmethod
    def no_restart() -> RestartStrategyConfiguration:
        """Fail."""
        return RestartStrategyConfiguration("Restart deactivated.")

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """What the cluster does."""
        return RestartStrategyConfiguration("Cluster level default restart strategy")

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> RestartStrategyConfiguration:
        """Try so many times, so many ms apart."""
        return RestartStrategyConfiguration(
            f"Restart with fixed delay ({delay_between_attempts} ms). #{restart_attempts} restart"
            " attempts."
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> RestartStrategyConfiguration:
        """Try up to so many times in an interval."""
        return RestartStrategyConfiguration(
            f"Failure rate restart with maximum of {failure_rate} failures within interval"
            f" {failure_interval} ms and fixed delay {delay_interval} ms."
        )
