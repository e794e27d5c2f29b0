"""What tests of examples share: a job on the harness, fed in the order of a test's lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from flinkish import StreamRecord
from flinkish.testing import StreamTestHarness

T = TypeVar("T")


def values(harness: StreamTestHarness, index: int = 0) -> list[object]:
    """What came out of the stream, without timestamps and watermarks."""
    return [e.value for e in harness.getOutput(index) if isinstance(e, StreamRecord)]


def feed(harness: StreamTestHarness, elements: Iterable[T]) -> None:
    """Let ``elements`` come in, without timestamps."""
    for element in elements:
        harness.processElement(element)
