"""Asynchronous requests of recorded cases end by a clock that no busy machine disturbs."""

from __future__ import annotations

import asyncio
import selectors

import pytest

from flinkish.runtime.operators import async_wait


class IdleTime(selectors.DefaultSelector):
    """Lets the time of its loop pass only while that has nothing to do, and then at once."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        events = super().select(0)
        if not events:
            self.passed += timeout
        return events


class IdleTimeLoop(asyncio.SelectorEventLoop):
    """An event loop by ``IdleTime``: what is ready is done before any timeout."""

    def __init__(self) -> None:
        self._idle = IdleTime()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.passed


@pytest.fixture(autouse=True)
def idle_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asynchronous operators of this process wait by ``IdleTime``."""

    class Loops(async_wait._EventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._runner = asyncio.Runner(loop_factory=IdleTimeLoop)

    monkeypatch.setattr(async_wait, "_EventLoop", Loops)
