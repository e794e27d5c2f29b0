"""Waits for what another thread or process does."""

from __future__ import annotations

import time


def wait_for(condition, seconds=120):
    """Return once ``condition()`` is true; fail after ``seconds``."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
