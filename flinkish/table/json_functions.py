"""JSON functions: paths into JSON, and values as JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from flinkish.table.casts import java_double
from flinkish.table.data_types import DataType
from flinkish.table.expressions import Missing, RowByRow


class NoJson(Exception):
    """A string is not JSON, or has nothing, or several values, at a path."""


class _Absent(Exception):
    """There is nothing at a path."""


def _no_constant(name: str) -> Any:
    raise ValueError(name)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=Decimal)
    except (ValueError, RecursionError):
        raise NoJson from None


_STEP = re.compile(r"\.([\w$-]+|\*)|\[\s*(\d+|\*)\s*\]|\.?\[\s*(?:'([^']*)'|\"([^\"]*)\")\s*\]")
_WHOLE = "*"


@dataclass(frozen=True)
class Path:
    """The steps of a path: names, positions, or None for all parts."""

    steps: tuple[str | int | None, ...]
    strict: bool

    @property
    def several(self) -> bool:
        """Whether the path may match several parts."""
        return None in self.steps

    def find(self, value: Any) -> Any:
        """The part at the path; a list of parts if there may be several. Raises _Absent if there is
        none."""
        if not self.several:
            for step in self.steps:
                value = _part(value, step)
            return value
        found = [value]
        for step in self.steps:
            found = [part for one in found for part in _parts(one, step)]
        return found


def _part(value: Any, step: str | int | None) -> Any:
    if isinstance(step, str) and isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(step, int) and isinstance(value, list) and step < len(value):
        return value[step]
    raise _Absent


def _parts(value: Any, step: str | int | None) -> list[Any]:
    if step is None:
        return (
            list(value.values())
            if isinstance(value, dict)
            else value
            if isinstance(value, list)
            else []
        )
    try:
        return [_part(value, step)]
    except _Absent:
        return []


@lru_cache(maxsize=256)
def path_of(text: str) -> Path:
    """Parses a path. Raises Missing for filters and the like."""
    mode, _, rest = text.strip().partition(" ")
    plain = rest.strip() if mode.lower() in ("lax", "strict") else text.strip()
    steps: list[str | int | None] = []
    position = 1
    while plain.startswith("$") and position < len(plain):
        found = _STEP.match(plain, position)
        if found is None:
            break
        name = next(group for group in found.groups() if group is not None)
        whole = name == _WHOLE and (found[1] or found[2])
        steps.append(None if whole else int(name) if found[2] else name)
        position = found.end()
    if not plain.startswith("$") or position != len(plain):
        raise Missing(
            f"the path {text!r} is not supported. Write names, positions and * only, as in '$.a.b[0].c'; for more, use map"
        )
    return Path(tuple(steps), mode.lower() != "lax")


# ---------------------------------------------------------------------- JSON_VALUE and the like

NULL, ERROR, DEFAULT = "NULL", "ERROR", "DEFAULT"


@dataclass(frozen=True)
class OnMissing:
    """The result when there is nothing at a path, or an error occurs."""

    empty: str = NULL
    error: str = NULL


@dataclass(frozen=True)
class JsonValue:
    """``JSON_VALUE(text, path)``; the defaults are further arguments."""

    on: OnMissing
    returning: DataType

    def __call__(self, text: str | None, path: str | None, empty: Any, error: Any) -> Any:
        if text is None or path is None:
            return None
        try:
            value = path_of(path).find(_parsed(text))
            if value is not None:
                return _returned(value, self.returning)
            return self._other("EMPTY", self.on.empty, empty)
        except _Absent:
            if path_of(path).strict:
                return self._other("ERROR", self.on.error, error)
            return self._other("EMPTY", self.on.empty, empty)
        except NoJson:
            return self._other("ERROR", self.on.error, error)

    def _other(self, why: str, mode: str, default: Any) -> Any:
        if mode == ERROR:
            raise Missing(f"JSON_VALUE: ERROR ON {why}")
        return default if mode == DEFAULT else None


def _returned(value: Any, kind: DataType) -> Any:
    if isinstance(value, (dict, list)):
        raise NoJson
    if kind.isText:
        return _scalar_text(value)
    fits = {
        "INT": isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31,
        "BIGINT": isinstance(value, int)
        and not isinstance(value, bool)
        and -(2**63) <= value < 2**63,
        "DOUBLE": isinstance(value, Decimal),
        "BOOLEAN": isinstance(value, bool),
    }
    if not fits[kind.name]:
        raise Missing(
            f"JSON_VALUE: {value!r} is no {kind}. Leave RETURNING out, and write TRY_CAST"
        )
    return float(value) if kind.name == "DOUBLE" else value


RETURNING = ("INT", "DOUBLE", "BOOLEAN")


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True)
class JsonExists:
    """``JSON_EXISTS(text, path)``."""

    error: str

    def __call__(self, text: str | None, path: str | None) -> bool | None:
        if text is None or path is None:
            return None
        try:
            found = path_of(path)
            value = found.find(_parsed(text))
            return bool(value) if found.several else value is not None
        except _Absent:
            return self._on_error() if path_of(path).strict else False
        except NoJson:
            return self._on_error()

    def _on_error(self) -> bool | None:
        if self.error == ERROR:
            raise Missing("JSON_EXISTS: ERROR ON ERROR")
        return {"TRUE": True, "FALSE": False}.get(self.error)


@dataclass(frozen=True)
class JsonQuery:
    """``JSON_QUERY(text, path)``; ``wrapper`` is WITHOUT, CONDITIONAL or UNCONDITIONAL."""

    wrapper: str
    on: OnMissing

    def __call__(self, text: str | None, path: str | None) -> str | None:
        if text is None or path is None:
            return None
        try:
            found = path_of(path)
            value = found.find(_parsed(text))
            if value is None:
                return self._other("EMPTY", self.on.empty)
            scalar = not isinstance(value, (dict, list))
            if self.wrapper == "UNCONDITIONAL" or (self.wrapper == "CONDITIONAL" and scalar):
                value = value if found.several else [value]
            elif scalar:
                raise NoJson
            return written(value)
        except _Absent:
            strict = path_of(path).strict
            return (
                self._other("ERROR", self.on.error)
                if strict
                else self._other("EMPTY", self.on.empty)
            )
        except NoJson:
            return self._other("ERROR", self.on.error)

    def _other(self, why: str, mode: str) -> str | None:
        if mode == ERROR:
            raise Missing(f"JSON_QUERY: ERROR ON {why}")
        return {"EMPTY ARRAY": "[]", "EMPTY OBJECT": "{}"}.get(mode)


def is_json(kind: str) -> RowByRow:
    """The kernel of ``IS JSON kind``."""
    return RowByRow(_IsJson(kind), nulls=True)


@dataclass(frozen=True)
class _IsJson:
    kind: str

    def __call__(self, text: str | None) -> bool | None:
        if text is None:
            return False
        try:
            value = _parsed(text)
        except NoJson:
            return False
        if self.kind == "OBJECT":
            return isinstance(value, dict)
        if self.kind == "ARRAY":
            return isinstance(value, list)
        return self.kind == "VALUE" or not isinstance(value, (dict, list))


# ---------------------------------------------------------------------- values as JSON


def written(value: Any) -> str:
    """A value as JSON, with numbers formatted like Java's."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = java_double(value)
        return text if text[-1].isdigit() else f'"{text}"'
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        parts = (
            f"{json.dumps(str(k), ensure_ascii=False)}:{written(v)}"
            for k, v in sorted(value.items())
        )
        return f"{{{','.join(parts)}}}"
    raise Missing(f"{value!r} cannot be written as JSON. Cast it to STRING")


def json_string(value: Any) -> str | None:
    return None if value is None else written(value)


@dataclass(frozen=True)
class JsonObject:
    """``JSON_OBJECT(key VALUE value, ...)``."""

    absentOnNull: bool

    def __call__(self, *keysAndValues: Any) -> str:
        pairs = zip(keysAndValues[::2], keysAndValues[1::2])
        return written({k: v for k, v in pairs if v is not None or not self.absentOnNull})


@dataclass(frozen=True)
class JsonArray:
    """``JSON_ARRAY(value, ...)``."""

    absentOnNull: bool

    def __call__(self, *values: Any) -> str:
        return written([v for v in values if v is not None or not self.absentOnNull])
