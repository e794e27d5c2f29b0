"""Calls of Kafka's client that may never end."""

from __future__ import annotations

import threading

import pytest

from flinkish.runtime.kafka.transactions import in_time


def test_a_call_that_ends_gives_its_result_or_error() -> None:
    assert in_time(lambda: 7, 5) == 7
    empty: dict[str, int] = {}
    with pytest.raises(KeyError):
        in_time(lambda: empty["absent"], 5)


def test_a_call_that_does_not_end_is_left() -> None:
    ended = threading.Event()
    with pytest.raises(TimeoutError):
        in_time(ended.wait, 0.01)
    ended.set()
