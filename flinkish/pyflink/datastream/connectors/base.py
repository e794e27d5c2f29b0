"""The bases of sources and sinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any

from flinkish.api.connectors.sink import Sink as CoreSink
from flinkish.api.connectors.source import Source as CoreSource
from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.typeinfo import TypeInformation


class Source(ABC):
    """Base class of sources (PyFlink: ``Source``)."""

    @property
    @abstractmethod
    def core(self) -> CoreSource[Any]:
        """The source for flinkish's own environment."""


class Sink(ABC):
    """Base class of sinks (PyFlink: ``Sink``)."""

    def writable(self, kind: TypeInformation) -> Callable[[Any], Any] | None:
        """The function that converts an element of ``kind`` to what ``core`` writes; None if it
        writes elements unchanged."""
        return None

    @property
    @abstractmethod
    def core(self) -> CoreSink[Any]:
        """The sink for flinkish's own streams."""


class DeliveryGuarantee(Enum):
    """The guarantee for writing an element (PyFlink: ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


__getattr__ = absent_names(__name__)
