"""map, filter and flatMap on a keyed stream, where a rich function may have keyed state."""

from __future__ import annotations

from flinkish.runtime.operators.keyed_operator import KeyedOperator
from flinkish.runtime.operators.stateless import StreamFilter, StreamFlatMap, StreamMap


class KeyedStreamMap(KeyedOperator, StreamMap):
    """``KeyedStream.map``."""


class KeyedStreamFilter(KeyedOperator, StreamFilter):
    """``KeyedStream.filter``."""


class KeyedStreamFlatMap(KeyedOperator, StreamFlatMap):
    """``KeyedStream.flatMap``."""
