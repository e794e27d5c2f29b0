"""Tagged elements as columns: those of the elements themselves, as the tag is in the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.api.functions.join import TaggedUnion
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.records.shapes import ConstantShape, Shape


class TaggedColumns:
    """Tags columns of elements as ``Tagger`` tags each element."""

    def __init__(self, tag: int) -> None:
        self._tag = ConstantShape(int, value=tag)

    def results(self, values: Sequence[Any]) -> RowColumns | None:
        """The tagged ``values``; None if they are not columns, or may differ from them."""
        if not isinstance(values, RowColumns) or values.mayDiffer:
            return None
        return values.shaped(Shape(TaggedUnion, TaggedUnion._fields, (self._tag, values.shape)))


def tag_of(shape: Shape) -> int | None:
    """The tag of elements of ``shape``; None if they are not tagged."""
    tag = shape.parts[0] if shape.kind is TaggedUnion else None
    return tag.value if isinstance(tag, ConstantShape) else None
