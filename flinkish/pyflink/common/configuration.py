"""``Configuration``: options by their keys."""

from __future__ import annotations

import ast
import re
from typing import Any

__all__ = ["Configuration"]


class Configuration:
    """Options by Flink's keys (PyFlink: ``Configuration``). Any key is stored; one that flinkish
    does not know has no effect."""

    def __init__(self, other: Configuration | None = None, j_configuration: object = None) -> None:
        self._options: dict[str, Any] = dict(other._options) if other is not None else {}
        if isinstance(j_configuration, Configuration):
            self._options = j_configuration._options

    @staticmethod
    def parse_list_value(value: str) -> list[Any]:
        """The parts of an option that is a list: ``a;b``, or ``[a, b]`` as in YAML.

        >>> Configuration.parse_list_value("a;b"), Configuration.parse_list_value("['a', 2]")
        (['a', 'b'], ['a', 2])
        """
        if value.startswith("[") and value.endswith("]"):
            return [_scalar(part) for part in _PARTS.findall(value[1:-1]) if part.strip()]
        return value.split(";") if value else []

    def get_string(self, key: str, default_value: str) -> str:
        """The value of ``key`` as a text."""
        return str(self._options.get(key, default_value))

    def set_string(self, key: str, value: str) -> Configuration:
        """Set ``key``."""
        return self._set(key, value)

    def get_integer(self, key: str, default_value: int) -> int:
        """The value of ``key`` as a whole number."""
        return int(self._options.get(key, default_value))

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set ``key``."""
        return self._set(key, value)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value of ``key`` as a bool."""
        return str(self._options.get(key, default_value)).lower() == "true"

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set ``key``."""
        return self._set(key, value)

    def get_float(self, key: str, default_value: float) -> float:
        """The value of ``key`` as a number."""
        return float(self._options.get(key, default_value))

    def set_float(self, key: str, value: float) -> Configuration:
        """Set ``key``."""
        return self._set(key, value)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value of ``key`` as bytes."""
        return bytearray(self._options.get(key, default_value))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set ``key``."""
        return self._set(key, bytes(value))

    def key_set(self) -> set[str]:
        """The keys that are set."""
        return set(self._options)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put all options into ``target_dict``."""
        target_dict.update(self._options)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take all options of ``other``, with ``prefix`` before their keys."""
        self._options.update({f"{prefix or ''}{k}": v for k, v in other._options.items()})
        return self

    def contains_key(self, key: str) -> bool:
        """Whether ``key`` is set."""
        return key in self._options

    def to_dict(self) -> dict[str, str]:
        """All options as texts."""
        return {key: _text(value) for key, value in self._options.items()}

    def remove_config(self, key: str) -> bool:
        """Remove ``key``, and return whether it was set."""
        return self._options.pop(key, None) is not None

    def _set(self, key: str, value: Any) -> Configuration:
        self._options[key] = value
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        return str(self.to_dict())


_PARTS = re.compile(r"""'[^']*'|"[^"]*"|[^,'"]+""")


def _scalar(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (SyntaxError, ValueError):
        return text.strip()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
