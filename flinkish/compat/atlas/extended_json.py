"""MongoDB's Extended JSON: BSON's types in JSON, both ways."""

from __future__ import annotations

import json
import math
import re
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.compat.atlas.bson.regular_expressions import compiled
from flinkish.compat.atlas.bson.values import (
    MAX_KEY,
    MIN_KEY,
    Bound,
    DocumentError,
    Int64,
    ObjectId,
    Timestamp,
    date_of,
    date_text,
    millis,
)
from flinkish.compat.atlas.expressions.date_formats import read


def date_value(value: Any) -> datetime:
    """The date of a text, or of a number of ms."""
    if isinstance(value, str):
        return read(value, None, None)
    return date_of(int(value))


def _binary(value: Any) -> bytes | uuid.UUID:
    if isinstance(value, str):
        return b64decode(value)
    data = b64decode(value["base64"])
    return uuid.UUID(bytes=data) if value.get("subType") in ("04", "4") else data


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$oid": ObjectId,
    "$date": date_value,
    "$numberInt": int,
    "$numberLong": lambda value: Int64(int(value)),
    "$numberDouble": float,
    "$numberDecimal": Decimal,
    "$regularExpression": lambda value: compiled(value["pattern"], value.get("options", "")),
    "$binary": _binary,
    "$uuid": uuid.UUID,
    "$timestamp": lambda value: Timestamp(value["t"], value["i"]),
    "$minKey": lambda value: MIN_KEY,
    "$maxKey": lambda value: MAX_KEY,
    "$undefined": lambda value: None,
    "$symbol": str,
}


def decoded(value: Any) -> Any:
    """The value that Extended JSON, parsed as JSON, stands for.

    Raises IllegalArgumentError for one that is malformed.
    """
    if isinstance(value, (list, tuple)):
        return [decoded(element) for element in value]
    if isinstance(value, Mapping):
        return _decoded_object({name: decoded(part) for name, part in value.items()})
    return value


def _decoded_object(fields: dict[str, Any]) -> Any:
    """An object whose fields are decoded."""
    if len(fields) != 1:
        return fields
    ((name, argument),) = fields.items()
    decoder = _DECODERS.get(name)
    if decoder is None:
        return fields
    try:
        return decoder(argument)
    except (TypeError, ValueError, KeyError, ArithmeticError, DocumentError) as error:
        raise IllegalArgumentError(
            f"{shown(fields)} is not Extended JSON: {name}: {error}"
        ) from None


_PARSER = json.JSONDecoder(object_hook=_decoded_object)


def encoded(value: Any, canonical: bool = False) -> Any:
    """The value as plain JSON: relaxed Extended JSON, or canonical, which tells all types apart."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        return {name: encoded(inner, canonical) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(element, canonical) for element in value]
    if isinstance(value, int):
        if not canonical:
            return int(value)
        is_long = isinstance(value, Int64) or not -(1 << 31) <= value < 1 << 31
        return {"$numberLong" if is_long else "$numberInt": str(int(value))}
    if isinstance(value, float):
        if math.isfinite(value) and not canonical:
            return value
        special = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return {"$numberDouble": special.get(value, "NaN" if value != value else repr(value))}
    if isinstance(value, datetime):
        time = millis(value)
        if canonical or not 0 <= time < 253_402_300_800_000:
            return {"$date": {"$numberLong": str(time)}}
        return {"$date": date_text(value)}
    for kind, encode in _ENCODERS.items():
        if isinstance(value, kind):
            return encode(value)
    raise DocumentError(f"a {type(value).__name__} has no form in Extended JSON: {shown(value)}")


def _encoded_regex(value: re.Pattern[str]) -> Any:
    flags = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
    options = "".join(option for option, flag in flags.items() if value.flags & flag)
    return {"$regularExpression": {"pattern": value.pattern, "options": options}}


_ENCODERS: dict[type[Any], Callable[[Any], Any]] = {
    Decimal: lambda value: {"$numberDecimal": str(value)},
    ObjectId: lambda value: {"$oid": str(value)},
    uuid.UUID: lambda value: {"$uuid": str(value)},
    bytes: lambda value: {"$binary": {"base64": b64encode(value).decode(), "subType": "00"}},
    re.Pattern: _encoded_regex,
    Timestamp: lambda value: {"$timestamp": {"t": value.time, "i": value.increment}},
    Bound: lambda value: {"$minKey" if value == MIN_KEY else "$maxKey": 1},
}


def line(document: Any, canonical: bool = False) -> str:
    return json.dumps(encoded(document, canonical), ensure_ascii=False, separators=(",", ":"))


def parsed(text: str | bytes) -> Any:
    """The value of a text of JSON or Extended JSON; raises DocumentError if it is none."""
    try:
        return _PARSER.decode(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError) as error:  # IllegalArgumentError is a ValueError too
        raise DocumentError(f"Failed to parse input document: {error}") from None
