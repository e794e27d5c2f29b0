"""``ConfigOption``: an option of a Configuration, with its default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from flinkish.api.type_variables import T

__all__ = ["ConfigOption", "ConfigOptions"]


@dataclass(frozen=True)
class ConfigOption(Generic[T]):
    """An option by its key (PyFlink: ``ConfigOption``); None: it has no default."""

    key: str
    default: T | None = None


@dataclass(frozen=True)
class TypedConfigOptionBuilder(Generic[T]):
    """Builds an option of a type."""

    key: str

    def default_value(self, value: T) -> ConfigOption[T]:
        """The option, with that default."""
        return ConfigOption(self.key, value)

    def no_default_value(self) -> ConfigOption[T]:
        """The option, without a default."""
        return ConfigOption(self.key)


@dataclass(frozen=True)
class OptionBuilder:
    """Builds an option."""

    key: str

    def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
        """An option that is true or false."""
        return TypedConfigOptionBuilder(self.key)

    def int_type(self) -> TypedConfigOptionBuilder[int]:
        """A whole number."""
        return TypedConfigOptionBuilder(self.key)

    long_type = int_type

    def float_type(self) -> TypedConfigOptionBuilder[float]:
        """A number."""
        return TypedConfigOptionBuilder(self.key)

    double_type = float_type

    def string_type(self) -> TypedConfigOptionBuilder[str]:
        """A text."""
        return TypedConfigOptionBuilder(self.key)


class ConfigOptions:
    """Creates options (PyFlink: ``ConfigOptions``).

    >>> ConfigOptions.key("limit").int_type().default_value(5)
    ConfigOption(key='limit', default=5)
    """

    OptionBuilder: TypeAlias = OptionBuilder
    TypedConfigOptionBuilder: TypeAlias = TypedConfigOptionBuilder[Any]

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """An option of that key."""
        return ConfigOptions.OptionBuilder(key)
