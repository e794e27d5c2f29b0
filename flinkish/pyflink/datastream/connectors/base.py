"""The bases of sources and sinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

from flinkish.api.connectors.sink import Sink as CoreSink
from flinkish.api.connectors.source import Source as CoreSource
from flinkish.pyflink.absent import absent_names


class Source(ABC):
    """Where elements come from (PyFlink: ``Source``)."""

    @property
    @abstractmethod
    def core(self) -> CoreSource[Any]:
        """The same for flinkish's own environment."""


class Sink(ABC):
    """Where elements go (PyFlink: ``Sink``)."""

    takes_text: bool = False
    """Whether it gets the texts of elements."""

    @property
    @abstractmethod
    def core(self) -> CoreSink[Any]:
        """The same for flinkish's own streams."""


class DeliveryGuarantee(Enum):
    """How often an element may arrive (PyFlink: ``DeliveryGuarantee``)."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


__getattr__ = absent_names(__name__)
