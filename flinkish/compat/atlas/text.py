"""Reads the texts in which pipelines are written: JSON, Extended JSON, and what is typed into mongosh.

Of JavaScript it knows values, comments, ``let``, ``var`` and ``const``, names of such values, spread, the
constructors of BSON's types, and ``sp.process(...)`` and ``sp.createStreamProcessor(...)``.
"""

from __future__ import annotations

import math
import os
import re
import uuid
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import (
    MAX_KEY,
    MIN_KEY,
    DocumentError,
    Int64,
    ObjectId,
    Timestamp,
)
from flinkish.compat.atlas.extended_json import date_value, decoded

# ---------------------------------------------------------------------- the names that a script may use


def _date(*arguments: Any) -> datetime:
    if not arguments:
        return datetime.now(UTC)
    (value, *parts) = arguments
    if parts:
        numbers = [int(number) for number in arguments]
        year, month, day, hour, minute, second, milli = (
            numbers + [0, 1, 0, 0, 0, 0][len(numbers) - 1 :]
        )[:7]
        return datetime(year, month + 1, day, hour, minute, second, milli * 1000, UTC)
    return value if isinstance(value, datetime) else date_value(value)


def _regular_expression(pattern: str, options: str = "") -> re.Pattern[str]:
    """A regular expression with the flags of JavaScript."""
    return compiled(pattern, options.replace("g", ""))


CONSTRUCTORS: dict[str, Callable[..., Any]] = {
    "ISODate": _date,
    "Date": _date,
    "NumberInt": lambda value=0: int(value),
    "Int32": lambda value=0: int(value),
    "NumberLong": lambda value=0: Int64(int(value)),
    "Long": lambda value=0: Int64(int(value)),
    "NumberDouble": float,
    "Double": float,
    "Number": float,
    "NumberDecimal": lambda value="0": Decimal(str(value)),
    "Decimal128": lambda value="0": Decimal(str(value)),
    "ObjectId": lambda value=None: ObjectId(os.urandom(12).hex() if value is None else value),
    "UUID": uuid.UUID,
    "BinData": lambda kind, data: b64decode(data),
    "Timestamp": lambda time, increment=0: (
        Timestamp(int(time["t"]), int(time["i"]))
        if isinstance(time, dict)
        else Timestamp(int(time), int(increment))
    ),
    "RegExp": _regular_expression,
    "MinKey": lambda: MIN_KEY,
    "MaxKey": lambda: MAX_KEY,
    "String": str,
    "Boolean": bool,
}

CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "NaN": math.nan,
    "Infinity": math.inf,
    "MinKey": MIN_KEY,
    "MaxKey": MAX_KEY,
}


# ---------------------------------------------------------------------- the text


@dataclass(frozen=True)
class Definition:
    """The source of a pipeline: its stages, the options beside them, and the name of the
    processor."""

    stages: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    name: str | None = None


def read_definition(text: str) -> Definition:
    """The pipeline of a text: a list of stages, statements of mongosh that end in one or in ``sp.process`` or
    ``sp.createStreamProcessor``, or a document with ``pipeline``.

    Raises IllegalArgumentError, with line and column, for a text that is none.
    """
    return _Reader(text).definition()


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


_TOKENS = re.compile(
    r"""
    (?P<space>[\s\ufeff]+|//[^\n]*|\#[^\n]*|/\*.*?\*/)
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?n?)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)
  | (?P<name>[A-Za-z_$][\w$]*)
  | (?P<mark>\.\.\.|=>|[\[\]{}(),:;=.+\-/!])
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/((?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)/([a-z]*)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}


_SHELL = ("sp", "db", "console", "rs")
"""Objects of mongosh. Of the calls of their methods, those that make a processor count."""

_STATEMENTS = (
    *("async", "class", "do", "for", "function", "if"),
    *("import", "return", "switch", "throw", "try", "while"),
)


class _Reader:
    """A parser by recursive descent, with one token to look ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._names: dict[str, Any] = {}
        self._token = self._next()

    # ------------------------------------------------------------------ tokens

    def _next(self) -> _Token:
        while self._position < len(self._text):
            found = _TOKENS.match(self._text, self._position)
            if found is None:
                raise self._error(
                    f"{shown(self._text[self._position])} is not expected here", self._position
                )
            start = self._position
            self._position = found.end()
            kind = found.lastgroup or ""
            if kind != "space":
                return _Token(kind, found.group(), start)
        return _Token("end", "the end of the text", self._position)

    def _take(self) -> _Token:
        token = self._token
        self._token = self._next()
        return token

    def _is(self, mark: str) -> bool:
        return self._token.kind == "mark" and self._token.text == mark

    def _skip(self, mark: str) -> bool:
        if self._is(mark):
            self._take()
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._skip(mark):
            raise self._error(f"{mark} is expected and {self._token.text} found")

    def _error(self, message: str, position: int | None = None) -> IllegalArgumentError:
        where = self._token.position if position is None else position
        line = self._text.count("\n", 0, where) + 1
        column = where - self._text.rfind("\n", 0, where)
        return IllegalArgumentError(f"pipeline: line {line}, column {column}: {message}.")

    # ------------------------------------------------------------------ statements

    def definition(self) -> Definition:
        """The last pipeline that the statements make."""
        found: Definition | None = None
        processed: Definition | None = None
        loose: list[Any] = []
        while self._token.kind != "end":
            if self._skip(";") or self._skip(","):
                continue
            begin = self._token
            try:
                value = self._statement()
            except IllegalArgumentError as error:
                raise self._of_script(error, begin) from None
            if isinstance(value, Definition):
                processed = value
            elif _is_stage(value):
                loose.append(value)
            elif isinstance(value, list) and value and all(map(_is_stage, value)):
                # Other lists are parts of a pipeline
                if found is None or "$source" in value[0] or "$source" not in found.stages[0]:
                    found = Definition(decoded(value))
            elif isinstance(value, dict) and "pipeline" in value:
                rest = {name: inner for name, inner in value.items() if name != "pipeline"}
                options = {**rest, **(rest.pop("options", None) or {})}
                found = Definition(decoded(value["pipeline"]), decoded(options), rest.get("name"))
        if processed is None and found is None and loose and "$source" in loose[0]:
            found = Definition(decoded(loose))
        definition = processed or found
        if definition is None:
            raise self._error("there is no list of stages in the text")
        return definition

    def _of_script(self, error: IllegalArgumentError, begin: _Token) -> IllegalArgumentError:
        """``error`` of the statement at ``begin``, and what of a script is read."""
        values = ("sp", "let", "var", "const", *self._names)
        if begin.kind != "name" and not self._names:
            return error  # a text of JSON
        fix = "write the value itself there, without a function"
        if begin.text not in values:
            (statement, *_) = self._text[begin.position :].splitlines()
            line = self._text.count("\n", 0, begin.position) + 1
            fix = f"cut the statement of line {line} that begins with {shown(statement.strip())}"
        return IllegalArgumentError(
            f"{error} Of a script for mongosh only values, names for them and calls of sp are read: {fix}."
        )

    def _statement(self) -> Any:
        if self._token.kind != "name":
            return self._value()
        if self._token.text in _STATEMENTS:
            raise self._error(f"{self._token.text} begins a statement of JavaScript")
        if self._token.text in ("let", "var", "const"):
            self._take()
            while True:
                name = self._take().text
                self._expect("=")
                self._names[name] = self._value()
                if not self._skip(","):
                    return _list_of(self._names[name])
        if self._token.text == "use":
            self._position = (self._text + "\n").find("\n", self._position)
            self._token = self._next()
            return None
        token = self._take()
        if self._skip("="):
            self._names[token.text] = self._value()
            return _list_of(self._names[token.text])
        if self._is(".") and token.text not in self._names:
            return self._method(token)
        return self._named(token)

    def _method(self, token: _Token) -> Any:
        """A call such as ``sp.process([...])``. What is for the database or the console is left out."""
        path = [token.text]
        while True:
            if self._skip("."):
                path.append(self._take().text)
            elif self._skip("["):
                path.append(str(self._value()))
                self._expect("]")
            else:
                break
        arguments = self._arguments() if self._is("(") else []
        while self._skip("."):  # such as .forEach(...) of a result, which is for people
            self._take()
            if self._is("("):
                self._arguments()
        if path[0] != "sp":
            if path[0] in _SHELL:
                return None
            raise self._error(f"{'.'.join(path)} is not known here", token.position)
        if path[-1] == "process" and arguments:
            return Definition(decoded(arguments[0]), decoded(_document(arguments[1:])))
        if path[-1] == "createStreamProcessor" and len(arguments) > 1:
            options = decoded(_document(arguments[2:]))
            return Definition(decoded(arguments[1]), options, arguments[0])
        return None

    # ------------------------------------------------------------------ values

    def _value(self) -> Any:
        token = self._token
        if token.kind == "mark" and token.text == "/":
            return self._regular_expression(token)
        self._take()
        if token.kind == "string":
            return self._joined(_unescaped(token.text))
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "name":
            return self._named(token)
        if token.text == "[":
            return self._items("]")
        if token.text == "{":
            return self._object()
        if token.text in "+-":
            value = self._value()
            if not isinstance(value, (int, float, Decimal)):
                raise self._error("a number is expected after the sign", token.position)
            return -value if token.text == "-" else value
        if token.text == "(":
            value = self._value()
            self._expect(")")
            return value
        raise self._error(f"{token.text} is not expected here", token.position)

    def _joined(self, text: str) -> str:
        while self._skip("+"):
            text += str(self._value())
        return text

    def _regular_expression(self, token: _Token) -> re.Pattern[str]:
        found = _REGEX.match(self._text, token.position)
        if found is None:
            raise self._error("/ is not expected here")
        self._position = found.end()
        self._token = self._next()
        try:
            return _regular_expression(found[1], found[2])
        except DocumentError as error:
            raise self._error(str(error), token.position) from None

    def _items(self, closing: str) -> list[Any]:
        """The values up to ``closing``."""
        items: list[Any] = []
        while not self._skip(closing):
            if self._skip("..."):
                items += self._value()
            else:
                items.append(self._value())
            if not self._is(closing):
                self._expect(",")
        return items

    def _object(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while not self._skip("}"):
            if self._skip("..."):
                fields.update(self._value())
            else:
                token = self._take()
                if token.kind == "string":
                    name = _unescaped(token.text)
                elif token.kind in ("name", "number"):
                    name = token.text
                elif token.text == "[":
                    name = str(self._value())
                    self._expect("]")
                else:
                    raise self._error(f"{token.text} is no name of a field", token.position)
                if token.kind == "name" and (self._is(",") or self._is("}")):
                    fields[name] = self._named(token)
                else:
                    self._expect(":")
                    fields[name] = self._value()
            if not self._is("}"):
                self._expect(",")
        return fields

    def _named(self, token: _Token) -> Any:
        name = token.text
        if name == "new":
            return self._value()
        if name in _SHELL:
            return self._method(token)
        if self._is("("):
            constructor = CONSTRUCTORS.get(name)
            if constructor is None:
                raise self._error(f"there is no function {name}", token.position)
            return self._constructed(name, constructor, token)
        if name in self._names:
            value = self._names[name]
            while self._skip("."):
                part = self._take()
                if not isinstance(value, dict) or self._is("("):
                    raise self._error(f"{name}.{part.text} is not known here", token.position)
                value = value.get(part.text)
            return value
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise self._error(f"the name {name} is not defined", token.position)

    def _constructed(self, name: str, constructor: Callable[..., Any], token: _Token) -> Any:
        arguments = self._arguments()
        if self._token.text == "." and name in ("ISODate", "Date"):
            raise self._error("a call of a method is not supported here")
        try:
            return constructor(*arguments)
        except (TypeError, ValueError, InvalidOperation, DocumentError) as error:
            raise self._error(f"{name}: {error}", token.position) from None

    def _arguments(self) -> list[Any]:
        self._expect("(")
        return self._items(")")


def _is_stage(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("$")


def _list_of(value: Any) -> Any:
    """Return the value of a variable if it may be a pipeline; a single stage is only named."""
    return None if _is_stage(value) else value


def _document(arguments: list[Any]) -> dict[str, Any]:
    return arguments[0] if arguments and isinstance(arguments[0], dict) else {}


def _number(text: str) -> int | float:
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    if text.endswith("n"):
        return Int64(int(text[:-1]))
    return int(text) if text.isdecimal() else float(text)


def _unescaped(literal: str) -> str:
    def character(found: re.Match[str]) -> str:
        escape = found[1]
        if escape[0] in "ux" and len(escape) > 1:
            return chr(int(escape.strip("ux{}"), 16))
        return _ESCAPES.get(escape, escape)

    body = literal[1:-1]
    if "\\" not in body:
        return body
    joined = re.sub(
        r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", character, body, flags=re.DOTALL
    )
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
