"""The bases of sources and sinks."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from flinkish.api.connectors.sink import Sink as CoreSink
from flinkish.api.connectors.source import Source as CoreSource
from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.typeinfo import TypeInformation


class Source:
    """Base class of sources (PyFlink: ``Source``)."""

    def __init__(self, source: CoreSource[Any]) -> None:
        self.core = source
        """The source for flinkish's own environment."""


class Sink:
    """Base class of sinks (PyFlink: ``Sink``)."""

    def __init__(self, sink: CoreSink[Any]) -> None:
        self.core = sink
        """The sink for flinkish's own streams."""

    def writable(self, kind: TypeInformation) -> Callable[[Any], Any] | None:
        """The function that converts an element of ``kind`` to what ``core`` writes; None if it
        writes elements unchanged."""
        return None


class DeliveryGuarantee(Enum):
    """The guarantee for writing an element (PyFlink: ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


__getattr__ = absent_names(__name__)
