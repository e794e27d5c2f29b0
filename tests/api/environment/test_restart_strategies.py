"""How a restart strategy is set: by its methods and by Flink's options."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.api.errors import IllegalArgumentError

Strategies = fl.RestartStrategies


def configured(**options):
    names = {name: name.replace("__", ".").replace("_", "-") for name in options}
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.configure(
        fl.Configuration({f"restart-strategy.{names[n]}": value for n, value in options.items()})
    )
    return env.getRestartStrategy()


def test_no_restart_unless_one_is_set():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    assert env.getRestartStrategy() == Strategies.noRestart()
    strategy = Strategies.fixedDelayRestart(3, 10_000)
    assert env.setRestartStrategy(strategy) is env
    assert env.getRestartStrategy() is strategy
    assert env.getConfig().getRestartStrategy() is strategy
    assert strategy.getDescription() == (
        "Restart with fixed delay (10000 ms). #3 restart attempts."
    )


@pytest.mark.parametrize("name", ["none", "off", "disable", "None"])
def test_it_can_be_turned_off(name):
    assert configured(type=name) == Strategies.noRestart()


def test_options_have_flinks_defaults():
    assert configured(type="fixed-delay") == Strategies.fixedDelayRestart(1, 1_000)
    assert configured(type="failurerate") == Strategies.failureRateRestart(1, 60_000, 1_000)
    assert configured(type="exponential-delay") == Strategies.exponentialDelayRestart(
        1_000, 60_000, 1.5, 3_600_000, 0.1
    )


def test_options_are_taken():
    assert configured(
        type="fixed-delay", fixed_delay__attempts=7, fixed_delay__delay=fl.Duration.ofSeconds(2)
    ) == Strategies.fixedDelayRestart(7, 2_000)
    rate = "failure_rate__"
    assert configured(
        type="failure-rate",
        **{
            f"{rate}max_failures_per_interval": 5,
            f"{rate}failure_rate_interval": 300_000,
            f"{rate}delay": 0,
        },
    ) == Strategies.failureRateRestart(5, 300_000, 0)


def test_options_may_come_one_after_the_other_and_are_what_fallback_means():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.configure(fl.Configuration({"restart-strategy.fixed-delay.attempts": 4}))
    assert env.getRestartStrategy() == Strategies.noRestart()
    env.configure(fl.Configuration({"restart-strategy.type": "fixed-delay"}))
    env.configure(fl.Configuration({"parallelism.default": 2}))
    fixed = Strategies.fixedDelayRestart(4, 1_000)
    assert env.getRestartStrategy() == fixed
    env.setRestartStrategy(Strategies.noRestart())
    assert env.getRestartStrategy() == Strategies.noRestart()
    env.setRestartStrategy(Strategies.fallBackRestart())
    assert env.getRestartStrategy() == fixed


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: configured(type="sometimes"),
            "restart-strategy.type: 'sometimes' is none of none",
        ),
        (lambda: configured(type=True), "restart-strategy.type: True is none of none"),
        (lambda: Strategies.fixedDelayRestart(-1, 0), "restartAttempts: -1 "),
        (lambda: Strategies.fixedDelayRestart(1, -1), "delayBetweenAttempts is -1 ms"),
        (lambda: Strategies.failureRateRestart(0, 1, 1), "failureRate: 0 "),
        (lambda: Strategies.failureRateRestart(1, 0, 1), "failureInterval is 0 ms"),
        (
            lambda: Strategies.exponentialDelayRestart(10, 5, 2.0, 1, 0.1),
            "maxBackoff, 5 ms, is below initialBackoff, 10 ms",
        ),
        (
            lambda: Strategies.exponentialDelayRestart(1, 5, 1.0, 1, 0.1),
            "backoffMultiplier 1.0 is not above 1",
        ),
        (
            lambda: Strategies.exponentialDelayRestart(1, 5, 2.0, 1, 1.1),
            "jitterFactor 1.1 is not from 0 to 1",
        ),
    ],
)
def test_wrong_values_are_named(call, says):
    with pytest.raises(IllegalArgumentError, match=says):
        call()
