"""Functions of arrays, maps and rows."""

from __future__ import annotations

from typing import Any

from flinkish.table.expressions import Call, Missing


def element_at(values: list[Any], position: int) -> Any:
    return values[position - 1] if 1 <= position <= len(values) else None


def value_at(values: dict[Any, Any], key: Any) -> Any:
    return values.get(key)


def field_at(call: Call, values: tuple[Any, ...]) -> Any:
    return values[values._fields.index(call.name)]  # type: ignore[attr-defined]


def cardinality(values: Any) -> int:
    return len(values)


def only_element(values: list[Any]) -> Any:
    if len(values) > 1:
        raise Missing(f"ELEMENT: the array has {len(values)} elements instead of one")
    return values[0] if values else None


def array_of(*values: Any) -> list[Any]:
    return list(values)


def map_of(*keysAndValues: Any) -> list[tuple[Any, Any]]:
    return list(dict(zip(keysAndValues[::2], keysAndValues[1::2])).items())


def row_of(call: Call, *values: Any) -> dict[str, Any]:
    return dict(zip(call.type.fields, values))


def array_contains(values: list[Any] | None, value: Any) -> bool | None:
    return None if values is None else value in values


def array_join(values: list[Any], separator: str, missing: str | None = None) -> str:
    texts = (missing if value is None else value for value in values)
    return separator.join(text for text in texts if text is not None)


def array_distinct(values: list[Any]) -> list[Any]:
    return [value for number, value in enumerate(values) if value not in values[:number]]


def array_reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


def array_concat(*arrays: list[Any]) -> list[Any]:
    return [value for array in arrays for value in array]


def array_append(values: list[Any] | None, value: Any) -> list[Any] | None:
    return None if values is None else [*values, value]


def array_prepend(values: list[Any] | None, value: Any) -> list[Any] | None:
    return None if values is None else [value, *values]


def array_position(values: list[Any], value: Any) -> int:
    return values.index(value) + 1 if value in values else 0


def array_remove(values: list[Any] | None, value: Any) -> list[Any] | None:
    return None if values is None else [one for one in values if one != value]


def array_max(values: list[Any]) -> Any:
    return max((value for value in values if value is not None), default=None)


def array_min(values: list[Any]) -> Any:
    return min((value for value in values if value is not None), default=None)


def map_keys(values: dict[Any, Any]) -> list[Any]:
    return list(values)


def map_values(values: dict[Any, Any]) -> list[Any]:
    return list(values.values())


def split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def str_to_map(text: str, pairs: str = ",", parts: str = "=") -> list[tuple[str, str | None]]:
    found: dict[str, str | None] = {}
    for pair in text.split(pairs):
        key, separator, value = pair.partition(parts)
        found[key] = value if separator else None
    return list(found.items())
