"""Broadcast states hold what can be found again."""

from __future__ import annotations

import pytest

from flinkish import IllegalArgumentError
from flinkish.runtime.state.broadcast_state import HeapBroadcastState


@pytest.mark.parametrize("key", [float("nan"), (1, float("nan"))])
def test_nan_is_no_key(key):
    state = HeapBroadcastState()
    for put in (lambda: state.put(key, 1), lambda: state.putAll({key: 1})):
        with pytest.raises(IllegalArgumentError, match="of the broadcast cannot have the key"):
            put()
    assert list(state.entries()) == []
