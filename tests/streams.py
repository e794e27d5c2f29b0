"""Functions for tests that drive a stream on the harness: elements in, records and their values
out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from flinkish import StreamRecord
from flinkish.testing import StreamTestHarness

T = TypeVar("T")


def records(harness: StreamTestHarness, index: int = 0) -> list[StreamRecord[Any]]:
    """Return the output of the stream, without watermarks."""
    return [element for element in harness.getOutput(index) if isinstance(element, StreamRecord)]


def values(harness: StreamTestHarness, index: int = 0) -> list[Any]:
    """Return the output of the stream, without timestamps and watermarks."""
    return [record.value for record in records(harness, index)]


def feed(harness: StreamTestHarness, elements: Iterable[T]) -> None:
    """Let ``elements`` come in, without timestamps."""
    for element in elements:
        harness.processElement(element)
