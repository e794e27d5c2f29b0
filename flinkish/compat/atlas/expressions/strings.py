"""Operators of texts and regular expressions."""

from __future__ import annotations

import re
from typing import Any

from flinkish.compat.atlas.bson.numbers import whole
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import DocumentError, is_null, type_name
from flinkish.compat.atlas.expressions.compiler import named_operator, operator
from flinkish.compat.atlas.expressions.texts import as_text


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


@operator("$concat", 0, None)
def _concat(*values: Any) -> str:
    for value in values:
        if not isinstance(value, str):
            raise DocumentError(f"$concat only supports strings, not {type_name(value)}")
    return "".join(values)


@operator("$toLower", 1, nulls=False)
def _to_lower(value: Any) -> str:
    return _ascii(_text("$toLower", value), str.lower)


@operator("$toUpper", 1, nulls=False)
def _to_upper(value: Any) -> str:
    return _ascii(_text("$toUpper", value), str.upper)


def _ascii(value: str, change: Any) -> str:
    """Only the letters of ASCII have another case, as in MongoDB."""
    if value.isascii():
        return str(change(value))
    return "".join(change(c) if c.isascii() else c for c in value)


@operator("$strcasecmp", 2, nulls=False)
def _strcasecmp(left: Any, right: Any) -> int:
    first, second = (_ascii(_text("$strcasecmp", v), str.upper) for v in (left, right))
    return (first > second) - (first < second)


@operator("$strLenCP", 1, nulls=False)
def _length(value: Any) -> int:
    return len(_string("$strLenCP", value))


@operator("$strLenBytes", 1, nulls=False)
def _length_in_bytes(value: Any) -> int:
    return len(_string("$strLenBytes", value).encode())


@operator("$substrCP", 3, nulls=False)
def _substring(value: Any, start: Any, length: Any) -> str:
    first, count = whole("$substrCP", start), whole("$substrCP", length)
    if first < 0 or count < 0:
        raise DocumentError("$substrCP: start and length must not be negative")
    return _text("$substrCP", value)[first : first + count]


def _substring_of_bytes(value: Any, start: Any, length: Any) -> str:
    first, count = int(whole("$substrBytes", start)), int(whole("$substrBytes", length))
    encoded = _text("$substrBytes", value).encode()
    if first < 0:
        raise DocumentError("$substrBytes: the start must not be negative")
    part = encoded[first:] if count < 0 else encoded[first : first + count]
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise DocumentError("$substrBytes: the range cuts a character in two") from None


operator("$substrBytes", 3, nulls=False)(_substring_of_bytes)
operator("$substr", 3, nulls=False)(_substring_of_bytes)


def _range(name: str, bounds: tuple[Any, ...]) -> tuple[int, int | None]:
    """Return the positions at which to begin and end."""
    numbers = [whole(name, bound) for bound in bounds]
    if any(bound < 0 for bound in numbers):
        raise DocumentError(f"{name}: the range must not be negative")
    return (numbers[0] if numbers else 0), (numbers[1] if len(numbers) > 1 else None)


@operator("$indexOfCP", 2, 4, nulls=False)
def _index(value: Any, wanted: Any, *bounds: Any) -> int | None:
    if is_null(value):
        return None
    start, end = _range("$indexOfCP", bounds)
    return _string("$indexOfCP", value).find(_string("$indexOfCP", wanted), start, end)


@operator("$indexOfBytes", 2, 4, nulls=False)
def _index_of_bytes(value: Any, wanted: Any, *bounds: Any) -> int | None:
    if is_null(value):
        return None
    start, end = _range("$indexOfBytes", bounds)
    encoded = _string("$indexOfBytes", value).encode()
    return encoded.find(_string("$indexOfBytes", wanted).encode(), start, end)


@operator("$split", 2)
def _split(value: Any, delimiter: Any) -> list[str]:
    if not _string("$split", delimiter):
        raise DocumentError("$split requires a non-empty separator")
    return _string("$split", value).split(delimiter)


_WHITE = "\0 \t\n\v\f\r\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B)))
"""The characters that are trimmed by default."""


def _trimmed(name: str, value: Any, chars: Any, trim: Any) -> Any:
    if is_null(value) or chars is None:
        return None
    return trim(_string(name, value), _string(name, chars))


@named_operator("$trim", ("input",), chars=_WHITE)
def _trim(input: Any, chars: Any) -> Any:  # noqa: A002 - MongoDB's name
    return _trimmed("$trim", input, chars, str.strip)


@named_operator("$ltrim", ("input",), chars=_WHITE)
def _ltrim(input: Any, chars: Any) -> Any:  # noqa: A002 - MongoDB's name
    return _trimmed("$ltrim", input, chars, str.lstrip)


@named_operator("$rtrim", ("input",), chars=_WHITE)
def _rtrim(input: Any, chars: Any) -> Any:  # noqa: A002 - MongoDB's name
    return _trimmed("$rtrim", input, chars, str.rstrip)


def _replaced(name: str, value: Any, find: Any, replacement: Any, count: int) -> Any:
    if any(map(is_null, (value, find, replacement))):
        return None
    parts = [_string(name, part) for part in (value, find, replacement)]
    return parts[0].replace(parts[1], parts[2], count)


@named_operator("$replaceOne", ("input", "find", "replacement"))
def _replace_one(input: Any, find: Any, replacement: Any) -> Any:  # noqa: A002 - MongoDB's name
    return _replaced("$replaceOne", input, find, replacement, 1)


@named_operator("$replaceAll", ("input", "find", "replacement"))
def _replace_all(input: Any, find: Any, replacement: Any) -> Any:  # noqa: A002 - MongoDB's name
    return _replaced("$replaceAll", input, find, replacement, -1)


# ---------------------------------------------------------------------- regular expressions


def _matches(name: str, value: Any, regex: Any, options: Any) -> list[re.Match[str]]:
    if is_null(value) or is_null(regex):
        return []
    return list(compiled(regex, options).finditer(_string(name, value)))


def _as_document(match: re.Match[str]) -> dict[str, Any]:
    return {"match": match[0], "idx": match.start(), "captures": list(match.groups())}


@named_operator("$regexMatch", ("input", "regex"), options=None)
def _regex_match(input: Any, regex: Any, options: Any) -> bool:  # noqa: A002 - MongoDB's name
    return bool(_matches("$regexMatch", input, regex, options))


@named_operator("$regexFind", ("input", "regex"), options=None)
def _regex_find(input: Any, regex: Any, options: Any) -> Any:  # noqa: A002 - MongoDB's name
    found = _matches("$regexFind", input, regex, options)
    return _as_document(found[0]) if found else None


@named_operator("$regexFindAll", ("input", "regex"), options=None)
def _regex_find_all(input: Any, regex: Any, options: Any) -> Any:  # noqa: A002 - MongoDB's name
    return [_as_document(match) for match in _matches("$regexFindAll", input, regex, options)]
