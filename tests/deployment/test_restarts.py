"""Restart strategies over failures at given times, as Flink's tests of them have it."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.environment.configuration import ExecutionConfig
from flinkish.deployment.restarts import is_recoverable, restart_backoff

Strategies = fl.RestartStrategies


def delays(strategy, *failures):
    backoff = restart_backoff(strategy)
    return [backoff.afterFailure(at) for at in failures]


def test_none_restarts_nothing():
    assert delays(Strategies.noRestart(), 0) == [None]
    assert delays(ExecutionConfig().getRestartStrategy(), 0) == [None]


def test_a_fixed_delay_allows_so_many_restarts_in_all():
    strategy = Strategies.fixedDelayRestart(2, fl.Duration.ofSeconds(3))
    assert delays(strategy, 0, 10**6, 10**9) == [3_000, 3_000, None]
    assert delays(Strategies.fixedDelayRestart(0, 0), 0) == [None]


def test_a_failure_rate_counts_the_failures_of_an_interval():
    strategy = Strategies.failureRateRestart(2, 100, 5)
    assert delays(strategy, 0, 1, 100) == [5, 5, None]
    assert delays(strategy, 0, 1, 101, 102) == [5, 5, 5, 5]
    assert delays(strategy, 0, 1, 101, 101) == [5, 5, 5, None]


def test_an_exponential_delay_grows_up_to_its_highest_and_begins_anew():
    strategy = Strategies.exponentialDelayRestart(100, 500, 2.0, 1_000, 0.0)
    assert delays(strategy, 0, 100, 300, 700, 1_200) == [100, 200, 400, 500, 500]
    # The threshold counts from the restart on
    assert delays(strategy, 0, 1_099) == [100, 200]
    assert delays(strategy, 0, 1_100) == [100, 100]


def test_the_jitter_keeps_to_its_part_of_the_delay():
    strategy = Strategies.exponentialDelayRestart(1_000, 1_000, 1.5, 1, 0.1)
    found = {delays(strategy, 0)[0] for _ in range(200)}
    assert len(found) > 1
    assert all(900 <= delay <= 1_000 for delay in found)


def test_exponential_delays_may_be_limited_until_they_begin_anew():
    configuration = fl.Configuration(
        {
            "restart-strategy.type": "exponential-delay",
            "restart-strategy.exponential-delay.attempts-before-reset-backoff": 2,
            "restart-strategy.exponential-delay.jitter-factor": 0,
            "restart-strategy.exponential-delay.reset-backoff-threshold": 10_000,
        }
    )
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(configuration)
    assert delays(env.getRestartStrategy(), 0, 1_000, 3_000) == [1_000, 1_500, None]
    assert delays(env.getRestartStrategy(), 0, 1_000, 20_000) == [1_000, 1_500, 1_000]


@pytest.mark.parametrize(
    ("error", "helps"),
    [
        (fl.UserFunctionError("Map", "1", "ValueError: no"), True),
        (fl.JobExecutionError("a worker is gone"), True),
        (fl.UnfitElementError("no such field"), True),
        (ConnectionError("no broker"), True),
        (fl.InvalidProgramError("the pieces do not fit"), False),
        (fl.NotSupportedError("no"), False),
        (fl.IncompatibleCheckpointError("another job"), False),
        (fl.CorruptCheckpointError("damaged"), False),
        (KeyboardInterrupt(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_what_may_go_better_is_tried_again(error, helps):
    assert is_recoverable(error) is helps
