"""Broadcast states hold what can be found again."""

from __future__ import annotations

import pytest

from flinkish import IllegalArgumentError, IllegalStateError
from flinkish.runtime.state.broadcast_state import HeapBroadcastState, ReadOnlyView


@pytest.mark.parametrize("key", [float("nan"), (1, float("nan"))])
def test_nan_is_no_key(key):
    state = HeapBroadcastState()
    for put in (lambda: state.put(key, 1), lambda: state.putAll({key: 1})):
        with pytest.raises(IllegalArgumentError, match="of the broadcast cannot have the key"):
            put()
    assert list(state.entries()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.put(key=1, value=2),
        lambda view: view.putAll(map={1: 2}),
        lambda view: view.remove(key=1),
        lambda view: view.put(1, 2),
        lambda view: view.clear(),
    ],
)
def test_a_view_says_where_broadcast_state_can_be_changed(change):
    with pytest.raises(IllegalStateError, match="can only be changed in processBroadcastElement"):
        change(ReadOnlyView(HeapBroadcastState()))
