"""The order of ``$sort``, ``$top`` and ``$sortArray``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

from flinkish.compat.atlas.bson.values import MISSING, ORDER, compare
from flinkish.compat.atlas.expressions.compiler import Place, path_getter, split_path


def sort_key(order: Any, place: Place) -> Callable[[Any], Any]:
    """A key for ``sorted`` from fields with 1 or -1: null and missing are equal, and an array counts as
    its lowest element, or the highest if the order falls."""
    if not isinstance(order, Mapping) or not order:
        raise place.error("is a document of fields with 1 or -1.")
    fields = []
    for path, direction in order.items():
        if isinstance(direction, bool) or direction not in (1, -1):
            raise place.at(path).error(f"the order is 1 or -1, not {direction!r}.")
        fields.append((path_getter(split_path(path, place)), int(direction)))

    def values(document: Any) -> list[Any]:
        return [_extreme(get(document), direction) for get, direction in fields]

    directions = [direction for _, direction in fields]

    def compared(left: list[Any], right: list[Any]) -> int:
        for value, other, direction in zip(left, right, directions):
            if found := compare(value, other):
                return found * direction
        return 0

    ordered = cmp_to_key(compared)
    return lambda document: ordered(values(document))


def _extreme(value: Any, direction: int) -> Any:
    if value is MISSING:
        return None
    if isinstance(value, (list, tuple)):
        if not value:
            return MISSING
        return min(value, key=ORDER) if direction > 0 else max(value, key=ORDER)
    return value
