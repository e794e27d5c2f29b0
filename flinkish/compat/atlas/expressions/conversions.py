"""``$convert`` and its short forms."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from flinkish.api.errors import IllegalArgumentError, shown
from flinkish.compat.atlas.bson.numbers import as_decimal
from flinkish.compat.atlas.bson.values import (
    INT32,
    INT64,
    TYPE_CODES,
    DocumentError,
    Int64,
    ObjectId,
    as_text,
    date_of,
    is_null,
    is_number,
    millis,
    truth,
    type_name,
)
from flinkish.compat.atlas.expressions.compiler import (
    Evaluator,
    Place,
    Variables,
    compile_expression,
    compiles,
    named_arguments,
    operator,
)
from flinkish.compat.atlas.expressions.date_formats import moment, read


def _unsupported(value: Any, target: str) -> DocumentError:
    return DocumentError(f"Unsupported conversion from {type_name(value)} to {target} in $convert")


def _unparsed(value: Any, kind: str) -> DocumentError:
    return DocumentError(f"Failed to parse {kind} {shown(value)} in $convert with no onError value")


def _to_whole(value: Any, target: str, bound: int) -> int:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime) and target == "long":
        return millis(value)
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?\d+", value):
            raise _unparsed(value, "number")
        found = int(value)
    elif is_number(value):
        if value != value or value in (float("inf"), float("-inf")):
            raise DocumentError(
                f"Attempt to convert NaN or infinity to integer in $convert: {value}"
            )
        found = int(value)
    else:
        raise _unsupported(value, target)
    if not -bound <= found < bound:
        raise DocumentError(
            f"Conversion would overflow target type in $convert with no onError value: {value}"
        )
    return found


_NUMERAL = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE
)


def _to_double(value: Any) -> float:
    if isinstance(value, datetime):
        return float(millis(value))
    if isinstance(value, str):
        if not _NUMERAL.fullmatch(value):
            raise _unparsed(value, "number")
        return float(value)
    if isinstance(value, (bool, int, float, Decimal)):
        return float(value)
    raise _unsupported(value, "double")


def _to_decimal(value: Any) -> Decimal:
    if isinstance(value, datetime):
        return Decimal(millis(value))
    if isinstance(value, str):
        try:
            if _NUMERAL.fullmatch(value):
                return Decimal(value)
        except InvalidOperation:  # the exponent is too large
            pass
        raise _unparsed(value, "number")
    if isinstance(value, bool) or is_number(value):
        return as_decimal(value)
    raise _unsupported(value, "decimal")


def _to_string(value: Any) -> str:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple, Mapping, re.Pattern)):
        raise _unsupported(value, "string")
    return as_text(value)


def _to_date(value: Any) -> datetime:
    if type(value) is int and not -INT32 <= value < INT32:
        return date_of(value)
    if isinstance(value, str):
        return read(value, None, None)
    if isinstance(value, bool) or type_name(value) == "int":
        raise _unsupported(value, "date")
    if is_number(value):
        if value != value or abs(value) >= INT64:
            raise DocumentError(f"Conversion would overflow target type in $convert: {value}")
        return date_of(int(value))
    return moment("$convert", value)


def _to_object_id(value: Any) -> ObjectId:
    if isinstance(value, ObjectId):
        return value
    if not isinstance(value, str):
        raise _unsupported(value, "objectId")
    try:
        return ObjectId(value)
    except IllegalArgumentError as error:
        raise DocumentError(str(error)) from None


def _to_uuid(value: Any) -> uuid.UUID:
    if isinstance(value, uuid.UUID):
        return value
    if not isinstance(value, str):
        raise _unsupported(value, "binData")
    try:
        return uuid.UUID(value)
    except ValueError:
        raise _unparsed(value, "UUID") from None


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "double": _to_double,
    "string": _to_string,
    "objectId": _to_object_id,
    "bool": truth,
    "date": _to_date,
    "int": lambda value: _to_whole(value, "int", INT32),
    "long": lambda value: Int64(_to_whole(value, "long", INT64)),
    "decimal": _to_decimal,
}

for _name, _function in {**_CONVERTERS, "UUID": _to_uuid}.items():
    operator(f"$to{_name[0].upper()}{_name[1:]}", 1)(_function)


def _target(to: Any) -> Callable[[Any], Any] | None:
    """The conversion to a type of that name or number; None for null."""
    if isinstance(to, Mapping):
        to = to.get("type")
    if is_null(to):
        return None
    name = TYPE_CODES.get(int(to), "") if is_number(to) else to
    if name not in _CONVERTERS:
        raise DocumentError(f"$convert: there is no conversion to {shown(to)}")
    return _CONVERTERS[name]


@compiles("$convert")
def _convert(argument: Any, place: Place) -> Evaluator:
    named = named_arguments(argument, place, ("input", "to"), ("onError", "onNull", "format"))
    value_of = compile_expression(named["input"], place.at("input"))
    to = compile_expression(named["to"], place.at("to"))
    on_error = compile_expression(named.get("onError"), place.at("onError"))
    on_null = compile_expression(named.get("onNull"), place.at("onNull"))

    def call(document: Any, variables: Variables) -> Any:
        value = value_of(document, variables)
        if is_null(value):
            return on_null(document, variables)
        converter = _target(to(document, variables))
        if converter is None:
            return None
        try:
            return converter(value)
        except DocumentError:
            if "onError" not in named:
                raise
            return on_error(document, variables)

    return call
