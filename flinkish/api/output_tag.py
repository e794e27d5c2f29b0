"""``OutputTag``: names a side output."""

from __future__ import annotations

from typing import Any, Generic, get_args

from typing_extensions import TypeVar

from flinkish.api.arguments import instance, text
from flinkish.api.types.type_info import TypeInformation, type_of_annotation

T = TypeVar("T", default=Any)


class OutputTag(Generic[T]):
    """Names a side output and the type of its elements (Flink: ``OutputTag``).

    Two tags with the same id are the same tag.

    >>> late = OutputTag[tuple[str, int]]("late")
    >>> late.getId()
    'late'
    """

    __slots__ = ("__orig_class__", "id", "type")

    def __init__(
        self,
        id: str,  # noqa: A002 - Flink's name
        type: TypeInformation[T] | None = None,  # noqa: A002 - Flink's name
    ) -> None:
        self.id = text("OutputTag: id", id)
        self.type = type

    def getId(self) -> str:
        """The id of the side output."""
        return self.id

    def getTypeInfo(self) -> TypeInformation[Any] | None:
        """The type of the elements: the one given, else the one in ``OutputTag[...]``."""
        if self.type is not None:
            return self.type
        alias = getattr(self, "__orig_class__", None)
        return None if alias is None else type_of_annotation(get_args(alias)[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"OutputTag({self.id!r})"


def checked_tag(method: str, tag: OutputTag[T]) -> OutputTag[T]:
    """``tag``; raises InvalidProgramError, which names ``method``, unless it is an OutputTag."""
    fix = 'Pass one, such as OutputTag("late"), and read it with getSideOutput on the result.'
    return instance(method, tag, OutputTag, fix)
