"""Handling of interrupts (Ctrl-C, a notebook's stop button) while flinkish runs."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from flinkish.api.execution.client import UNNOTICED_SECONDS


def wait_for(event: threading.Event, timeout: float | None = None) -> bool:
    """Wait, ``timeout`` seconds at most, until ``event`` is set, and return whether it is. Interrupts are noticed."""
    until = float("inf") if timeout is None else time.monotonic() + timeout
    while not event.wait(min(UNNOTICED_SECONDS, max(0.0, until - time.monotonic()))):
        if time.monotonic() >= until:
            return False
    return True


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let an interrupt raise KeyboardInterrupt and do nothing else. pyspark's handler first cancels
    every job of the session, also those of other queries, and it would be chance which query fails
    first. A handler that the program has set stays."""
    with _handler(lambda sparks: signal.default_int_handler if sparks else None):
        yield


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Defer interrupts until the block has ended."""
    came: list[FrameType | None] = []
    with _handler(lambda _: lambda _number, frame: came.append(frame)):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def _handler(chosen):  # type: ignore[no-untyped-def]
    if threading.current_thread() is not threading.main_thread():
        # Signals are handled in the main thread only.
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    module = getattr(before, "__module__", None) or ""
    handler = chosen(module.startswith("pyspark."))
    if handler is None or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        # A session that was created meanwhile has set its own handler, which has to stay.
        if signal.getsignal(signal.SIGINT) is handler:
            signal.signal(signal.SIGINT, before)
