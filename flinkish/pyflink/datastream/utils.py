"""``ResultTypeQueryable``; the other names of PyFlink's module are for its JVM, and say so."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flinkish.pyflink.absent import absent_names
from flinkish.pyflink.common.typeinfo import TypeInformation


class ResultTypeQueryable(ABC):
    """Knows the type of the elements it emits (PyFlink: ``ResultTypeQueryable``)."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements; ``from_source`` takes it if no other is given."""


__getattr__ = absent_names(__name__)
