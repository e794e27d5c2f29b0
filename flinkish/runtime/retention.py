"""Tells when a function cannot keep what it is given or returns, so that its results need no copies.

Like ``field_access`` it looks at the function's code and does not call it. It recognises expressions
and loops over plain data: constants, operators, methods of built-in types, and functions that make
something new. Whatever it does not recognise may keep everything.
"""

from __future__ import annotations

import builtins
import datetime
import decimal
import dis
import json
import types
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from flinkish.runtime.row_columns import RowColumns

_PLAIN: set[Any] = {
    types.NoneType,
    bool,
    int,
    float,
    str,
    bytes,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
}
"""Types of values that neither change nor call anything of a user's."""

_MAKERS: set[Any] = {
    *(
        abs,
        all,
        any,
        bool,
        bytes,
        chr,
        dict,
        divmod,
        enumerate,
        float,
        frozenset,
        int,
        len,
        list,
        max,
    ),
    *(min, ord, range, repr, reversed, round, set, sorted, str, sum, tuple, zip, json.loads),
}
"""Functions that keep nothing and give nothing that anybody else has."""

_OPERATIONS = {
    *("RESUME", "CACHE", "NOP", "PRECALL", "PUSH_NULL", "POP_TOP", "COPY", "SWAP", "EXTENDED_ARG"),
    *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "RETURN_CONST", "RETURN_VALUE"),
    *("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "STORE_FAST"),
    *("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST"),
    *("STORE_FAST_STORE_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "MAKE_CELL", "COPY_FREE_VARS"),
    *("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "RETURN_GENERATOR", "YIELD_VALUE"),
    *("BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_STRING", "BUILD_SLICE"),
    *(
        "BUILD_CONST_KEY_MAP",
        "LIST_APPEND",
        "LIST_EXTEND",
        "LIST_TO_TUPLE",
        "SET_ADD",
        "SET_UPDATE",
    ),
    *("MAP_ADD", "DICT_UPDATE", "DICT_MERGE", "BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE"),
    *("STORE_SUBSCR", "DELETE_SUBSCR", "COMPARE_OP", "IS_OP", "CONTAINS_OP", "TO_BOOL"),
    *("UNARY_NOT", "UNARY_NEGATIVE", "UNARY_INVERT", "FORMAT_VALUE", "FORMAT_SIMPLE"),
    *("FORMAT_WITH_SPEC", "CONVERT_VALUE", "UNPACK_SEQUENCE", "UNPACK_EX", "GET_ITER", "FOR_ITER"),
    *("END_FOR", "POP_ITER", "NOT_TAKEN", "CALL", "CALL_KW", "KW_NAMES", "CALL_FUNCTION_EX"),
    *("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
    *("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
    *("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_NONE"),
    *("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"),
}


def keeps_nothing(function: Callable[..., Any]) -> bool:
    """Whether ``function``, called with plain data, has nothing of it after it has returned.

    >>> keeps_nothing(lambda row: {"key": row.key, "words": row.text.split()})
    True
    >>> seen = []
    >>> keeps_nothing(lambda row: seen.append(row) or row)
    False
    """
    if isinstance(function, types.MethodDescriptorType):
        return function.__objclass__ in _PLAIN
    if not isinstance(function, types.FunctionType) or function is json.loads:
        return _is_maker(function)
    code = function.__code__
    names = _globals_read(code, frozenset(code.co_freevars))
    if names is None:
        return False
    held = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return set(map(type, chain(held, _closed_over(function)))) <= _PLAIN and all(
        _is_harmless(_global(function, name)) for name in names
    )


def is_plain(values: Sequence[Any]) -> bool:
    """Whether ``values`` are rows of a table, or numbers, texts and the like. To look into each of
    many tuples takes longer than to look at what a function makes of them."""
    return isinstance(values, RowColumns) or set(map(type, values)) <= _PLAIN


@lru_cache(maxsize=1024)
def _globals_read(code: types.CodeType, free: frozenset[str]) -> frozenset[str] | None:
    """The globals that ``code`` reads, None if it may do more than make a value of its arguments.

    ``free``: the variables around the function, which it must not set.
    """
    names: set[str] = set()
    for step in dis.get_instructions(code):
        operation, argument = step.opname, step.argval
        if isinstance(argument, types.CodeType):
            within = _globals_read(argument, free)
            if within is None:
                return None
            names |= within
        elif operation == "LOAD_GLOBAL":
            names.add(argument)
        elif operation in ("LOAD_ATTR", "LOAD_METHOD"):
            if argument.startswith("_"):
                return None
        elif operation == "STORE_DEREF":
            if argument in free:
                return None
        elif operation not in _OPERATIONS:
            return None
    return frozenset(names)


def _closed_over(function: types.FunctionType) -> list[Any]:
    """What the variables around ``function`` hold; None of one that is not set yet."""
    cells = function.__closure__ or ()
    return [_NOT_SET if cell == _EMPTY else cell.cell_contents for cell in cells]


def _global(function: types.FunctionType, name: str) -> Any:
    found = function.__globals__.get(name, _NOT_SET)
    return vars(builtins).get(name, _NOT_SET) if found is _NOT_SET else found


def _is_harmless(value: Any) -> bool:
    return type(value) in _PLAIN or _is_maker(value)


def _is_maker(function: Any) -> bool:
    kinds = (type, types.BuiltinFunctionType, types.FunctionType)
    return type(function) in kinds and function in _MAKERS


_NOT_SET: Any = object()
_EMPTY = types.CellType()
