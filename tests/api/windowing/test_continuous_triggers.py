"""Triggers that fire at intervals."""

from __future__ import annotations

import pytest

from flinkish import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    IllegalArgumentError,
)


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
@pytest.mark.parametrize("interval", [0, -1])
def test_an_interval_must_be_positive(trigger, interval):
    with pytest.raises(IllegalArgumentError, match=rf"interval is {interval} ms, but must be"):
        trigger.of(interval)
