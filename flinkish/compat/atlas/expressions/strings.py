"""Operators of texts and regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import DocumentError, as_text, is_null, type_name
from flinkish.compat.atlas.expressions.compiler import (
    named_operator,
    operator,
    operators,
)


def _string(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DocumentError(f"{name} requires a string argument, found: {type_name(value)}")
    return value


def _text(name: str, value: Any) -> str:
    """A string, number or date as text; null is an empty one."""
    if is_null(value):
        return ""
    if isinstance(value, (list, dict, bool, bytes)):
        raise DocumentError(f"{name} can't convert from BSON type {type_name(value)} to String")
    return as_text(value)


def _from_zero(name: str, value: Any) -> int:
    number = whole(name, value)
    if number < 0:
        raise DocumentError(f"{name}: positions and lengths must not be negative")
    return number


@operator("$concat", 0, None)
def _concat(*values: Any) -> str:
    for value in values:
        if not isinstance(value, str):
            raise DocumentError(f"$concat only supports strings, not {type_name(value)}")
    return "".join(values)


def _ascii(value: str, change: Callable[[str], str]) -> str:
    """Only the letters of ASCII have another case, as in MongoDB."""
    if value.isascii():
        return change(value)
    return "".join(change(c) if c.isascii() else c for c in value)


def _compared(left: str, right: str) -> int:
    first, second = _ascii(left, str.upper), _ascii(right, str.upper)
    return (first > second) - (first < second)


def _substring_of_bytes(value: str, first: int, count: int) -> str:
    encoded = value.encode()
    part = encoded[first:] if count < 0 else encoded[first : first + count]
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise DocumentError("$substrBytes: the range cuts a character in two") from None


operators(
    {
        "$toLower": (lambda text: _ascii(text, str.lower), _text),
        "$toUpper": (lambda text: _ascii(text, str.upper), _text),
        "$strcasecmp": (_compared, _text, _text),
        "$strLenCP": (len, _string),
        "$strLenBytes": (lambda text: len(text.encode()), _string),
        "$substrCP": (lambda text, i, n: text[i : i + n], _text, _from_zero, _from_zero),
        "$substrBytes": (_substring_of_bytes, _text, _from_zero, whole),
        "$substr": (_substring_of_bytes, _text, _from_zero, whole),
    },
    nulls=False,
)


def _index(name: str, of: Callable[[str], Any]) -> None:
    @operator(name, 2, 4, nulls=False)
    def call(value: Any, wanted: Any, *bounds: Any) -> int | None:
        if is_null(value):
            return None
        limits = [_from_zero(name, bound) for bound in bounds]
        searched: int = of(_string(name, value)).find(of(_string(name, wanted)), *limits)
        return searched


_index("$indexOfCP", str)
_index("$indexOfBytes", str.encode)


@operator("$split", 2, kinds=(_string,))
def _split(value: str, delimiter: str) -> list[str]:
    if not delimiter:
        raise DocumentError("$split requires a non-empty separator")
    return value.split(delimiter)


_WHITE = "\0 \t\n\v\f\r\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
"""The characters that are trimmed by default."""


def _trimming(name: str, trim: Callable[[str, str], str]) -> None:
    @named_operator(name, ("input",), chars=_WHITE)
    def call(input: Any, chars: Any) -> str | None:  # noqa: A002 - MongoDB's name
        if is_null(input) or chars is None:
            return None
        return trim(_string(name, input), _string(name, chars))


_trimming("$trim", str.strip)
_trimming("$ltrim", str.lstrip)
_trimming("$rtrim", str.rstrip)


def _replacing(name: str, count: int) -> None:
    required = ("input", "find", "replacement")

    @named_operator(name, required, nulls=required)
    def call(**given: Any) -> str:
        value, found, instead = (_string(name, given[part]) for part in required)
        return value.replace(found, instead, count)


_replacing("$replaceOne", 1)
_replacing("$replaceAll", -1)


def _matching(name: str, result: Callable[[list[dict[str, Any]]], Any]) -> None:
    @named_operator(name, ("input", "regex"), options=None)
    def call(input: Any, regex: Any, options: Any) -> Any:  # noqa: A002 - MongoDB's name
        if is_null(input) or is_null(regex):
            return result([])
        matches = compiled(regex, options).finditer(_string(name, input))
        return result(
            [{"match": m[0], "idx": m.start(), "captures": list(m.groups())} for m in matches]
        )


_matching("$regexMatch", bool)
_matching("$regexFind", lambda found: found[0] if found else None)
_matching("$regexFindAll", lambda found: found)
