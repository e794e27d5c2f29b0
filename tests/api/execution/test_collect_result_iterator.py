"""``CollectResultIterator``, which hands on elements as batches deliver them."""

from __future__ import annotations

import queue

from flinkish.api.execution import client


class InterruptedWaits(queue.SimpleQueue):
    """Gets nothing at first, like a wait that an interrupt ends, and refuses to wait for ever."""

    def __init__(self):
        self.waits = 0

    def get(self, block=True, timeout=None):
        assert timeout is not None, "an interrupt that comes as this wait begins goes unnoticed"
        self.waits += 1
        if self.waits < 3:
            raise queue.Empty
        return super().get(block, timeout)


def test_a_wait_for_elements_notices_interrupts():
    batches = client._Batches()
    batches._batches = waits = InterruptedWaits()
    batches.put([1, 2], 0)
    assert batches.get() == [1, 2]
    assert waits.waits == 3
