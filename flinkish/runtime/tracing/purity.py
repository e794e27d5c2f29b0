"""Which functions only compute, by their bytecode, and in plain words why the others do not."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType

_COMPUTES = {
    *("RESUME", "CACHE", "NOP", "PRECALL", "PUSH_NULL", "POP_TOP", "COPY", "SWAP", "EXTENDED_ARG"),
    *("LOAD_CONST", "LOAD_SMALL_INT", "RETURN_CONST", "RETURN_VALUE", "COPY_FREE_VARS"),
    *("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "STORE_FAST"),
    *("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"),
    *("DELETE_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD"),
    *("BUILD_TUPLE", "BUILD_SLICE", "UNPACK_SEQUENCE", "BUILD_STRING"),
    *("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"),
    *("BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "COMPARE_OP", "CONTAINS_OP"),
    *("UNARY_NOT", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "TO_BOOL", "NOT_TAKEN"),
    *("CALL", "CALL_KW", "KW_NAMES", "CALL_INTRINSIC_1"),
    *("JUMP_FORWARD", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
    *("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
    *("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"),
    *("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE"),
}
"""What a function that only computes is made of, in Python 3.11 to 3.14."""

_REASONS = {
    "STORE_ATTR": "writes the attribute {}",
    "DELETE_ATTR": "deletes the attribute {}",
    "STORE_GLOBAL": "writes the global {}",
    "DELETE_GLOBAL": "deletes the global {}",
    "STORE_DEREF": "writes the variable {} of an enclosing function",
    "STORE_SUBSCR": "writes into a container",
    "STORE_SLICE": "writes into a container",
    "DELETE_SUBSCR": "deletes from a container",
    "IMPORT_NAME": "imports {}",
    "YIELD_VALUE": "yields",
    "RETURN_GENERATOR": "yields",
    "FOR_ITER": "has a loop",
    "GET_ITER": "has a loop",
    "JUMP_BACKWARD": "has a loop",
    "MAKE_FUNCTION": "defines a function or comprehension",
    "PUSH_EXC_INFO": "handles exceptions",
    "CHECK_EXC_MATCH": "handles exceptions",
    "POP_EXCEPT": "handles exceptions",
    "RERAISE": "handles exceptions",
    "BEFORE_WITH": "enters a context",
    "RAISE_VARARGS": "raises an exception",
    "LOAD_ASSERTION_ERROR": "asserts",
    "LOAD_COMMON_CONSTANT": "asserts",
    "BUILD_LIST": "makes a list, which can change",
    "BUILD_MAP": "makes a dict, which can change",
    "BUILD_CONST_KEY_MAP": "makes a dict, which can change",
    "BUILD_SET": "makes a set, which can change",
    "IS_OP": "compares the identity of objects",
    "MAKE_CELL": "has a variable that an inner function uses",
}

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_HIDDEN = ("__", "_traced_")
"""What is no field or method of a value, but of the symbol that stands for it."""

_NONE_TESTS = {
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "IS_OP",
}


@lru_cache(maxsize=1024)
def impurity(code: CodeType, writes: bool = False) -> str | None:
    """Why ``code`` does more than compute a value of its arguments, None if it does not. ``writes``: it may
    write attributes.

    >>> impurity((lambda row: row.a + 1).__code__)
    >>> def counted(self, row):
    ...     self.count += 1
    >>> impurity(counted.__code__)
    'writes the attribute self.count (line 2)'
    """
    if code.co_flags & _GENERATES:
        return f"yields or awaits (line {code.co_firstlineno})"
    line, before = code.co_firstlineno, None
    formats = takes_remainders(code)
    owner = ""
    for step in dis.get_instructions(code):
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname == "LOAD_FAST" and step.argval == "self":
            owner = "self."
        tests_none = step.opname == "IS_OP" and before is not None and before.argrepr == "None"
        written = writes and step.opname == "STORE_ATTR"
        if step.opname not in _COMPUTES and not tests_none and not written:
            return f"{_reason(step, owner)} (line {line})"
        if (step.opname in _ATTRIBUTES or written) and str(step.argval).startswith(_HIDDEN):
            uses = "writes" if written else "reads"
            return f"{uses} the attribute {step.argval} (line {line})"
        if formats and before is not None and _is_text(before) and not _takes_item(step):
            return f"may format a text with % (line {line})"
        if step.opname != "CACHE":
            before = step
    if code.co_exceptiontable:
        return f"handles exceptions or enters a context (line {code.co_firstlineno})"
    return None


@lru_cache(maxsize=1024)
def written_attributes(code: CodeType) -> tuple[str, ...]:
    """The attributes that ``code`` writes."""
    steps = dis.get_instructions(code)
    return tuple({step.argval: None for step in steps if step.opname == "STORE_ATTR"})


@lru_cache(maxsize=1024)
def tests_none(code: CodeType) -> bool:
    """Whether ``code`` asks whether a value is None."""
    return any(step.opname in _NONE_TESTS for step in dis.get_instructions(code))


@lru_cache(maxsize=1024)
def globals_read(code: CodeType) -> tuple[str, ...]:
    """The names that ``code`` looks up among the globals."""
    steps = dis.get_instructions(code)
    return tuple({step.argval: None for step in steps if step.opname == "LOAD_GLOBAL"})


@lru_cache(maxsize=1024)
def takes_remainders(code: CodeType) -> bool:
    """Whether ``code`` has a %, which takes a remainder or formats a text."""
    return any(
        step.opname == "BINARY_OP" and step.argrepr in ("%", "%=")
        for step in dis.get_instructions(code)
    )


def _is_text(step: dis.Instruction) -> bool:
    if step.opname != "LOAD_CONST":
        return False
    parts = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return any(isinstance(part, str) for part in parts)


def _takes_item(step: dis.Instruction) -> bool:
    subscript = step.opname == "BINARY_OP" and step.argrepr == "[]"
    return subscript or step.opname in ("BINARY_SUBSCR", "CALL_KW")


def _reason(step: dis.Instruction, owner: str) -> str:
    reason = _REASONS.get(step.opname, f"has the step {step.opname}, which cannot be followed")
    return reason.format(f"{owner}{step.argval}" if step.opname.endswith("_ATTR") else step.argval)


_GENERATES = 0x20 | 0x80 | 0x200
"""The flags of generators and coroutines."""
