"""``ParameterTool``: the settings of a program, from its arguments or a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flinkish.api.arguments import instance
from flinkish.api.errors import IllegalArgumentError, IllegalStateError, shown
from flinkish.api.type_variables import T

NO_VALUE = "__NO_VALUE_KEY"
"""The value of an argument that has none, as in Flink."""


_ESCAPED = r"\\(?:\r\n|[\s\S])"
_PROPERTY = re.compile(
    rf"[ \t\f\r\n]*(?:[#!][^\r\n]*|(?P<name>(?:{_ESCAPED}|[^\\=:\s])*)"
    rf"(?P<between>(?:\\(?:\r\n|[\r\n])|[ \t\f])*[=:]?(?:\\(?:\r\n|[\r\n])|[ \t\f])*)"
    rf"(?P<value>(?:{_ESCAPED}|[^\\\r\n])*)\\?)"
)
"""A logical line of Java's properties."""

_ESCAPE = re.compile(r"\\(?:(?:\r\n|[\r\n])[ \t\f]*|u([0-9a-fA-F]{4})|([\s\S]))")
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescaped(text: str | None) -> str:
    def character(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return _CHARACTERS.get(found[2], found[2]) if found[2] else ""

    plain = _ESCAPE.sub(character, text or "")
    # Two escapes may be a surrogate pair
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class ParameterTool:
    """Settings by name (Flink: ``ParameterTool``).

    >>> settings = ParameterTool.fromArgs(["--input", "/in", "-n", "-5", "--verbose"])
    >>> settings.get("input"), settings.getInt("n"), settings.has("verbose")
    ('/in', -5, True)
    """

    def __init__(self, parameters: Mapping[str, str]) -> None:
        fix = "Pass a dict of strings, or use ParameterTool.fromArgs(sys.argv[1:])."
        self._parameters = dict(instance("ParameterTool: parameters", parameters, Mapping, fix))

    @staticmethod
    def fromArgs(args: Sequence[str]) -> ParameterTool:
        """Read ``--name value``, ``-name value`` and ``--flag``. A negative number is a value."""
        parameters: dict[str, str] = {}
        name: str | None = None
        subject, fix = "ParameterTool.fromArgs", "Pass sys.argv[1:]."
        if isinstance(args, str):
            raise IllegalArgumentError(f"{subject}: {shown(args)} is one string. {fix}")
        for argument in instance(subject, args, Sequence, fix):
            instance(subject, argument, str, fix)
            if argument.startswith("-") and not _is_number(argument):
                name = argument.removeprefix("-").removeprefix("-")
                if not name:
                    raise IllegalArgumentError(
                        f"ParameterTool.fromArgs: {shown(argument)} names no parameter. Write --name"
                        " value."
                    )
                parameters[name] = NO_VALUE
            elif name is None:
                raise IllegalArgumentError(
                    f"ParameterTool.fromArgs: {shown(argument)} has no name before it. Write --name"
                    " value."
                )
            else:
                parameters[name] = argument
                name = None
        return ParameterTool(parameters)

    @staticmethod
    def fromMap(map: Mapping[str, str]) -> ParameterTool:  # noqa: A002 - Flink's name
        """Take the items of a dict."""
        settings = instance("ParameterTool.fromMap", map, Mapping, "Pass a dict.")
        return ParameterTool({name: str(value) for name, value in settings.items()})

    @staticmethod
    def fromPropertiesFile(path: str | os.PathLike[str]) -> ParameterTool:
        """Read a file in the format of Java's ``Properties``, in UTF-8 or else ISO 8859-1. A line
        is ``name=value``, ``name: value`` or ``name value``, and continues on the next line after a
        ``\\`` at its end. Lines that begin with ``#`` or ``!`` are comments, and ``\\t``, ``\\n``,
        ``\\u00fc`` and others stand for characters."""
        if not isinstance(path, (str, os.PathLike)) or not Path(path).is_file():
            raise IllegalArgumentError(
                f"ParameterTool.fromPropertiesFile: there is no file {shown(path)}."
            )
        parameters: dict[str, str] = {}
        data = Path(path).read_bytes()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
        for line in _PROPERTY.finditer(text):
            if line["name"] or line["between"]:
                parameters[_unescaped(line["name"])] = _unescaped(line["value"])
        return ParameterTool(parameters)

    def has(self, value: str) -> bool:
        """Whether there is a parameter of that name."""
        return value in self._parameters

    def get(self, key: str, defaultValue: str | None = None) -> str | None:
        """The parameter of that name, ``defaultValue`` if there is none."""
        return self._parameters.get(key, defaultValue)

    def getRequired(self, key: str) -> str:
        """The parameter of that name. Raises IllegalStateError if there is none."""
        if key not in self._parameters:
            raise IllegalStateError(
                f"ParameterTool: there is no parameter {key!r}. Pass --{key} to the program."
            )
        return self._parameters[key]

    def getInt(self, key: str, defaultValue: int | None = None) -> int:
        """The parameter as a whole number."""
        return self._read(key, defaultValue, int)

    def getLong(self, key: str, defaultValue: int | None = None) -> int:
        """The parameter as a whole number."""
        return self._read(key, defaultValue, int)

    def getFloat(self, key: str, defaultValue: float | None = None) -> float:
        """The parameter as a number."""
        return self._read(key, defaultValue, float)

    def getDouble(self, key: str, defaultValue: float | None = None) -> float:
        """The parameter as a number."""
        return self._read(key, defaultValue, float)

    def getBoolean(self, key: str, defaultValue: bool | None = None) -> bool:
        """Whether the parameter is ``true``."""
        return self._read(key, defaultValue, lambda text: text.lower() == "true")

    def getNumberOfParameters(self) -> int:
        """The number of parameters."""
        return len(self._parameters)

    def toMap(self) -> dict[str, str]:
        """All parameters by name."""
        return dict(self._parameters)

    def mergeWith(self, other: ParameterTool) -> ParameterTool:
        """These parameters and those of ``other``, which take precedence."""
        return ParameterTool({**self._parameters, **other._parameters})

    def _read(self, key: str, default: T | None, parse: Callable[[str], T]) -> T:
        if key not in self._parameters and default is not None:
            return default
        text = self.getRequired(key)
        try:
            return parse(text)
        except ValueError:
            raise IllegalArgumentError(
                f"ParameterTool: the parameter {key!r} is {shown(text)}, which is no number."
            ) from None

    def __repr__(self) -> str:
        return f"ParameterTool({self._parameters!r})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
