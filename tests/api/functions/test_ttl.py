"""``StateTtlConfig`` and its builder."""

from __future__ import annotations

import pickle

import pytest

from flinkish import Duration, StateTtlConfig, StateVisibility, UpdateType
from flinkish.api.errors import IllegalArgumentError


def test_defaults_are_those_of_flink():
    config = StateTtlConfig.newBuilder(Duration.ofSeconds(1)).build()
    assert config.getUpdateType() is UpdateType.OnCreateAndWrite
    assert config.getStateVisibility() is StateVisibility.NeverReturnExpired
    assert config.cleanupInBackground
    assert config.isEnabled()


def test_the_short_methods_are_the_long_ones():
    short = StateTtlConfig.newBuilder(5).updateTtlOnReadAndWrite().returnExpiredIfNotCleanedUp()
    long = (
        StateTtlConfig.newBuilder(5)
        .setUpdateType(StateTtlConfig.UpdateType.OnReadAndWrite)
        .setStateVisibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)
    )
    assert short.build() == long.build()
    back = short.updateTtlOnCreateAndWrite().neverReturnExpired().useProcessingTime()
    assert back.build() == StateTtlConfig.newBuilder(5).build()


def test_a_builder_may_begin_with_a_config():
    config = StateTtlConfig.newBuilder(5).disableCleanupInBackground().build()
    assert StateTtlConfig.newBuilder(config).build() == config
    assert StateTtlConfig.newBuilder(config).setTimeToLive(9).build().timeToLive == 9


def test_disabled_is_not_enabled():
    assert not StateTtlConfig.DISABLED.isEnabled()
    assert not StateTtlConfig.newBuilder(5).setUpdateType(UpdateType.Disabled).build().isEnabled()


def test_cleanup_options_are_accepted():
    StateTtlConfig.newBuilder(5).cleanupFullSnapshot().cleanupIncrementally(
        10, True
    ).cleanupInRocksdbCompactFilter(1000).cleanupInRocksdbCompactFilter(
        1000, Duration.ofDays(1)
    ).build()
    with pytest.raises(IllegalArgumentError, match="cleanupSize"):
        StateTtlConfig.newBuilder(5).cleanupIncrementally(0, False)


@pytest.mark.parametrize("ttl", [0, -1])
def test_the_time_to_live_is_positive(ttl):
    with pytest.raises(IllegalArgumentError, match="greater than zero"):
        StateTtlConfig.newBuilder(ttl).build()


def test_a_config_can_be_shipped():
    config = StateTtlConfig.newBuilder(5).updateTtlOnReadAndWrite().build()
    assert pickle.loads(pickle.dumps(config)) == config
