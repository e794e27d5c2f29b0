"""Keys of the other systems, in which events without a key belong together."""

from __future__ import annotations

from typing import Any, TypeVar

from flinkish.api.streams.data_stream import DataStream
from flinkish.api.streams.keyed_stream import KeyedStream
from flinkish.api.streams.windowed_stream import constant_key

T = TypeVar("T")


def with_null_keys(stream: DataStream[T]) -> KeyedStream[T, Any]:
    """``stream`` with None as a key; with a single key if it is not keyed."""
    keyed = stream if isinstance(stream, KeyedStream) else stream.keyBy(constant_key)
    return keyed._withNullKeys()
