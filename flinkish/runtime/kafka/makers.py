"""``maker``: converts the values that a decoder has parsed to objects of a type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from flinkish.api.types.type_info import TypeInformation

Maker: TypeAlias = Callable[[Any], Any]


def maker(
    composite: Callable[[TypeInformation[Any], Sequence[Maker]], Maker], kind: TypeInformation[Any]
) -> Maker:
    """The function that converts a value of lists, dicts and texts to an object of ``kind``.
    ``composite`` returns it for a type with fields, given the functions for these."""
    children = [maker(composite, child) for child in kind.children]
    if kind.isComposite():
        return composite(kind, children)
    if kind.kind == "Enum" and kind.typeClass is not None:
        members = kind.typeClass
        return lambda name: None if name is None else members[name]
    if kind.kind in ("List", "Array") and children:
        return lambda values: None if values is None else [children[0](v) for v in values]
    if kind.kind == "Map":
        return lambda items: (
            None if items is None else {k: children[1](v) for k, v in items.items()}
        )
    return lambda value: value
