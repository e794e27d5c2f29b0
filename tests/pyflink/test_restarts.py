"""Restart strategies by PyFlink's names are flinkish's own."""

from __future__ import annotations

import flinkish as fl
from flinkish.pyflink.common import Configuration, RestartStrategies
from flinkish.pyflink.datastream import StreamExecutionEnvironment


def environment():
    return StreamExecutionEnvironment.get_execution_environment().set_local_execution(True)


def test_a_strategy_restarts_the_job(tmp_path):
    failed = tmp_path / "failed"
    env = environment()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    assert env.get_restart_strategy() == RestartStrategies.fixed_delay_restart(1, 0)
    assert env.get_restart_strategy().get_description() == (
        "Restart with fixed delay (0 ms). #1 restart attempts."
    )

    def flaky(value):
        if value == 2 and not failed.exists():
            failed.touch()
            raise ConnectionError("not now")
        return value

    assert list(env.from_collection([1, 2, 3]).map(flaky).execute_and_collect()) == [1, 2, 3]
    assert failed.exists()


def test_the_options_are_texts():
    env = environment()
    configuration = Configuration()
    configuration.set_string("restart-strategy", "failure-rate")
    configuration.set_string("restart-strategy.failure-rate.max-failures-per-interval", "4")
    configuration.set_string("restart-strategy.failure-rate.failure-rate-interval", "5 min")
    configuration.set_string("restart-strategy.failure-rate.delay", "10 s")
    env.configure(configuration)
    assert env.get_restart_strategy() == RestartStrategies.failure_rate_restart(4, 300_000, 10_000)
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "exponential-delay")
    configuration.set_string("restart-strategy.exponential-delay.backoff-multiplier", "2.5")
    env.configure(configuration)
    assert env.get_restart_strategy().core == fl.RestartStrategies.exponentialDelayRestart(
        1_000, 60_000, 2.5, 3_600_000, 0.1
    )
    env.set_restart_strategy(RestartStrategies.no_restart())
    assert env.get_restart_strategy() == RestartStrategies.no_restart()
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    assert env.get_restart_strategy() != RestartStrategies.no_restart()
