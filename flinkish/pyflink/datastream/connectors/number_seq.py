"""``NumberSequenceSource``: the numbers of a range."""

from __future__ import annotations

from flinkish.api.connectors.source import NumberSequenceSource as CoreNumberSequenceSource
from flinkish.pyflink.datastream.connectors.base import Source

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source):
    """The numbers from ``start`` to ``end``, both included (PyFlink: ``NumberSequenceSource``)."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(CoreNumberSequenceSource(start, end))
