"""The size of a value as BSON, in bytes."""

from __future__ import annotations

from typing import Any

from flinkish.compat.atlas.bson.values import type_name

_FIXED = {
    "double": 8,
    "objectId": 12,
    "bool": 1,
    "date": 8,
    "null": 0,
    "int": 4,
    "timestamp": 8,
    "long": 8,
    "decimal": 16,
    "minKey": 0,
    "maxKey": 0,
}


def size_of(value: Any) -> int:
    """The bytes of a value, without its name; of a document as a whole."""
    kind = type_name(value)
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "object":
        return 5 + sum(2 + len(name.encode()) + size_of(inner) for name, inner in value.items())
    if kind == "array":
        return 5 + sum(2 + len(str(i)) + size_of(inner) for i, inner in enumerate(value))
    if kind == "string":
        return 5 + len(value.encode())
    if kind == "regex":
        return 2 + len(value.pattern.encode())
    return 5 + len(getattr(value, "bytes", value))
