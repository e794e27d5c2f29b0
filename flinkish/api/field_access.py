"""Tells when a function only reads one field of its argument, so that a column can be read instead.

It looks at the function's code and does not call it; whatever it does not recognise is called for
every element as written.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter, itemgetter
from types import FunctionType
from typing import Any

from flinkish.api.fields import Field, NamedField, PositionedField

_SKIPPED = {"RESUME", "CACHE", "NOP", "PRECALL"}
_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}


def field_read(function: Callable[..., Any]) -> Field | None:
    """The field that ``function`` reads of its first argument and returns, None if it does more.

    >>> field_read(lambda row: row.origin), field_read(lambda row, timestamp: row[2])
    ('origin', 2)
    >>> field_read(lambda row: row.origin.lower()) is None
    True
    """
    if isinstance(function, NamedField):
        return function.name
    if isinstance(function, PositionedField):
        return function.position
    if isinstance(function, (itemgetter, attrgetter)):
        items = function.__reduce__()[1]
        return items[0] if len(items) == 1 and _is_field(items[0]) else None
    if isinstance(function, FunctionType):
        return _read_by(function.__code__)
    return None


@lru_cache(maxsize=1024)
def _read_by(code: Any) -> Field | None:
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]
    names = [step.opname for step in steps]
    if not steps or not names[0].startswith("LOAD_FAST") or names[-1] != "RETURN_VALUE":
        return None
    if code.co_argcount == 0 or steps[0].argval != code.co_varnames[0]:
        return None
    middle = steps[1:-1]
    if [step.opname for step in middle] == ["LOAD_ATTR"]:
        return str(middle[0].argval)
    if len(middle) == 2 and middle[0].opname in _CONSTANTS and _subscripts(middle[1]):
        field = middle[0].argval
        return field if _is_field(field) else None
    return None


def _is_field(value: object) -> bool:
    # A path is no column
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and "." not in value
    )


def _subscripts(step: dis.Instruction) -> bool:
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")
