"""Types of elements. In flinkish they are optional: they document, check, and speed a stream up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class TypeInformation(Generic[T]):
    """Says what the elements of a stream or a state are (Flink: ``TypeInformation``).

    ``kind`` is the type's name, ``children`` the types of its parts, ``fields`` their names.
    """

    kind: str
    children: tuple[TypeInformation[Any], ...] = ()
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.children:
            return self.kind
        parts = [
            f"{name}: {child}" if name else str(child)
            for name, child in zip(self.fields or [""] * len(self.children), self.children)
        ]
        return f"{self.kind}<{', '.join(parts)}>"


class Types:
    """The types there are, by Flink's and PyFlink's names.

    >>> str(Types.TUPLE([Types.STRING(), Types.LONG()]))
    'Tuple<String, Long>'
    """

    @staticmethod
    def STRING() -> TypeInformation[str]:
        """``str``."""
        return TypeInformation("String")

    @staticmethod
    def BOOLEAN() -> TypeInformation[bool]:
        """``bool``."""
        return TypeInformation("Boolean")

    @staticmethod
    def INT() -> TypeInformation[int]:
        """``int`` of 32 bits."""
        return TypeInformation("Integer")

    @staticmethod
    def LONG() -> TypeInformation[int]:
        """``int`` of 64 bits."""
        return TypeInformation("Long")

    @staticmethod
    def FLOAT() -> TypeInformation[float]:
        """``float`` of 32 bits."""
        return TypeInformation("Float")

    @staticmethod
    def DOUBLE() -> TypeInformation[float]:
        """``float`` of 64 bits."""
        return TypeInformation("Double")

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Any Python object; what a stream without a type is."""
        return TypeInformation("Pickled")

    @staticmethod
    def TUPLE(fields: Sequence[TypeInformation[Any]]) -> TypeInformation[tuple[Any, ...]]:
        """A tuple of those fields."""
        return TypeInformation("Tuple", tuple(fields))

    @staticmethod
    def ROW_NAMED(
        names: Sequence[str], types: Sequence[TypeInformation[Any]]
    ) -> TypeInformation[Any]:
        """A row of named fields."""
        return TypeInformation("Row", tuple(types), tuple(names))

    @staticmethod
    def LIST(element: TypeInformation[A]) -> TypeInformation[list[A]]:
        """A list of that element type."""
        return TypeInformation("List", (element,))

    @staticmethod
    def MAP(key: TypeInformation[A], value: TypeInformation[B]) -> TypeInformation[dict[A, B]]:
        """A dict of those key and value types."""
        return TypeInformation("Map", (key, value))
