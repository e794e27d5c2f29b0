"""Samples the stacks of the tasks of one batch, on demand: ``StackSampler`` in the workers,
``Profiler`` in the driver.

A thread of the worker looks at the stack of the task every few milliseconds. Unlike a tracing
profiler, this does not slow down the functions that are called most, and it costs nothing unless a
profile is requested.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Self

from flinkish.api.errors import elements_hidden, shown
from flinkish.api.execution.details import BatchProfile, ProfiledKey, ProfiledStack
from flinkish.runtime.reports import OperatorReport

INTERVAL_MILLIS = 2

_PACKAGE = Path(__file__).parents[1]

_KEYS = 50
"""The most keys that a key group reports, and that a profile has."""

_BATCHES = 20
"""A request is dropped if in this many batches no task worked long enough to be sampled."""


class StackSampler:
    """Samples the stack of the thread that enters it: the calls within the block."""

    def __init__(self) -> None:
        self._stacks: Counter[tuple[str, ...]] = Counter()

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        outermost = sys._getframe(1)
        self._thread = threading.Thread(
            target=self._sample, args=(threading.get_ident(), outermost), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def taken(self) -> tuple[tuple[tuple[str, ...], int], ...]:
        """The stacks sampled since the last call, from the outermost frame, with ms in each."""
        stacks, self._stacks = self._stacks, Counter()
        return tuple(stacks.items())

    def _sample(self, thread: int, outermost: FrameType) -> None:
        last = time.perf_counter()
        while not self._stop.wait(INTERVAL_MILLIS / 1000):
            frame = sys._current_frames().get(thread)
            stack: list[str] = []
            while frame is not None and frame is not outermost:
                stack.append(_named(frame.f_code))
                frame = frame.f_back
            # On a busy machine, this thread may run later than planned
            now = time.perf_counter()
            # The task may have ended meanwhile, and wait for this thread
            if stack and not self._stop.is_set():
                self._stacks[tuple(reversed(stack))] += max(1, round((now - last) * 1000))
            last = now


def largest_keys(keys: Iterable[Hashable]) -> tuple[tuple[str, int], ...]:
    """The most frequent of ``keys`` as text, each with its count; empty if elements are hidden."""
    if elements_hidden():
        return ()
    return tuple((shown(key), count) for key, count in Counter(keys).most_common(_KEYS))


def _named(code: CodeType) -> str:
    """A function by name, file and line. Files of flinkish have their path in the package."""
    file = Path(code.co_filename)
    if file.is_relative_to(_PACKAGE):
        shown = file.relative_to(_PACKAGE.parent).as_posix()
    else:
        shown = "/".join(file.parts[-2:])
    return f"{code.co_qualname} ({shown}:{code.co_firstlineno})"


class Profiler:
    """Says whether a batch is sampled, and keeps the profile of the last sampled batch."""

    def __init__(self) -> None:
        self._left = 0
        self._sampling = False
        self._stacks: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._keys: Counter[tuple[str, int, str]] = Counter()
        self.last: BatchProfile | None = None

    @property
    def requested(self) -> bool:
        """Whether a profile was requested and is not complete yet."""
        return self._left > 0

    def request(self) -> None:
        """Ask for the stacks of the next batch. May be called from any thread."""
        self._left = _BATCHES

    def begin(self) -> bool:
        """Called before a batch; returns whether its tasks are sampled."""
        self._sampling = self._left > 0
        self._stacks.clear()
        self._keys.clear()
        return self._sampling

    def add(self, report: OperatorReport) -> None:
        for stack, count in report.stacks:
            self._stacks[report.vertex, stack] += count
        for key, records in report.keys:
            self._keys[report.vertex, report.keyGroup, key] += records

    def endBatch(self, number: int) -> None:
        """Called when all tasks of a batch have reported."""
        if not self._sampling:
            return
        self._left -= 1
        if self._stacks:
            self._left = 0
            stacks = tuple(ProfiledStack(v, s, n) for (v, s), n in self._stacks.most_common())
            keys = tuple(ProfiledKey(*k, n) for k, n in self._keys.most_common(_KEYS))
            now = round(time.time() * 1000)
            self.last = BatchProfile(number, now, INTERVAL_MILLIS, stacks, keys)
