"""Decides from its bytecode whether a function only computes, and says why if it does not."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import CodeType

from flinkish.runtime.columns.tracing.texts import hands_over

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
    *("CALL", "CALL_KW", "KW_NAMES", "CALL_INTRINSIC_1", "CALL_FUNCTION_EX"),
    *("JUMP_FORWARD", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
    *("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"),
    *("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"),
    *("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE"),
    *("GET_ITER", "FOR_ITER", "END_FOR", "POP_ITER", "LOAD_FAST_AND_CLEAR"),
    *("BUILD_LIST", "LIST_APPEND", "LIST_EXTEND", "LIST_TO_TUPLE"),
    *("BUILD_MAP", "BUILD_CONST_KEY_MAP", "DICT_UPDATE", "DICT_MERGE", "MAP_ADD", "STORE_SUBSCR"),
    *("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "MAKE_CELL", "LOAD_CLOSURE"),
    *("RETURN_GENERATOR", "YIELD_VALUE", "RERAISE"),
    *("RAISE_VARARGS", "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"),
}
"""The opcodes of functions that only compute, in Python 3.11 to 3.14. Symbols cannot be iterated
over, so loops are over tuples and lists, and end. Lists may be built, as a function that returns
one is refused. Dicts may be built and written into: those that come from elsewhere refuse it."""

_REASONS = {
    "STORE_ATTR": "writes the attribute {}",
    "DELETE_ATTR": "deletes the attribute {}",
    "STORE_GLOBAL": "writes the global {}",
    "DELETE_GLOBAL": "deletes the global {}",
    "STORE_DEREF": "writes the variable {} of an enclosing function",
    "STORE_SLICE": "writes into a container",
    "DELETE_SUBSCR": "deletes from a container",
    "IMPORT_NAME": "imports {}",
    "LOAD_SUPER_ATTR": "calls super",
    "GET_YIELD_FROM_ITER": "yields from",
    "SEND": "yields from",
    "BEFORE_WITH": "enters a context",
    "BUILD_SET": "makes a set, which can change",
    "IS_OP": "compares the identity of objects",
}

_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_MAKES_TEXT = {"hex", "to_bytes", "tzname", "key"}
"""Attributes of numbers and time zones that are texts, or return them."""
_HIDDEN = ("__", "_traced_")
"""Prefixes of attributes that belong to a symbol rather than to the value that it stands for."""

_NONE_TESTS = {
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_FORWARD_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_NONE",
    "POP_JUMP_BACKWARD_IF_NOT_NONE",
    "IS_OP",
}


@lru_cache(maxsize=1024)
def impurity(code: CodeType, writes: bool = False) -> str | None:
    """Why ``code`` does more than compute a value from its arguments; None if it does not.
    ``writes``: ``code`` may write attributes. What it does when an exception is raised does not
    matter: the function is then called.

    >>> impurity((lambda row: row.a + 1).__code__)
    >>> def counted(self, row):
    ...     self.count += 1
    >>> impurity(counted.__code__)
    'writes the attribute self.count (line 2)'
    """
    if code.co_flags & _AWAITS:
        return f"awaits (line {code.co_firstlineno})"
    line = code.co_firstlineno
    formats = takes_remainders(code)
    owner = ""
    steps = {step.offset: step for step in dis.get_instructions(code)}
    reached = [step for step in _without_exceptions(steps) if step.opname != "CACHE"]
    for before, step, following in zip([None, *reached], reached, [*reached[1:], None]):
        line = (step.positions.lineno if step.positions else None) or line
        if step.opname == "LOAD_FAST" and step.argval == "self":
            owner = "self."
        tests_none = step.opname == "IS_OP" and before is not None and before.argrepr == "None"
        written = writes and step.opname == "STORE_ATTR"
        known = step.opname in _COMPUTES or tests_none or written
        if "JUMP_BACKWARD" in step.opname:
            if steps[step.argval].opname != "FOR_ITER":
                return f"has a loop that is not over a tuple or list (line {line})"
        elif step.opname == "STORE_DEREF" and step.argval in code.co_cellvars:
            pass
        elif not known:
            return f"{_reason(step, owner)} (line {line})"
        if (step.opname in _ATTRIBUTES or written) and str(step.argval).startswith(_HIDDEN):
            uses = "writes" if written else "reads"
            return f"{uses} the attribute {step.argval} (line {line})"
        if formats and _may_be_formatted(code, step, following):
            return f"may format a text with % (line {line})"
    inner = (impurity(each) for each in code.co_consts if isinstance(each, CodeType))
    return next(filter(None, inner), None)


def _without_exceptions(steps: Mapping[int, dis.Instruction]) -> Iterator[dis.Instruction]:
    """Those of ``steps``, by their offsets, that a function may reach if nothing raises."""
    following = dict(zip(steps, [*list(steps)[1:], None]))
    reached: set[int] = set()
    left: list[int | None] = [0]
    while left:
        offset = left.pop()
        if offset is None or offset in reached:
            continue
        reached.add(offset)
        step = steps[offset]
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            left.append(step.argval)
        if step.opname not in _ENDS:
            left.append(following[offset])
    return (step for offset, step in steps.items() if offset in reached)


_ENDS = {
    *("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"),
    *("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
}
"""The opcodes behind which a function does not go on with the next one."""


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """``code``, and the code of the functions and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


@lru_cache(maxsize=1024)
def written_attributes(code: CodeType) -> tuple[str, ...]:
    """The attributes that ``code`` writes."""
    steps = dis.get_instructions(code)
    return tuple({step.argval: None for step in steps if step.opname == "STORE_ATTR"})


@lru_cache(maxsize=1024)
def tests_none(code: CodeType) -> bool:
    """Whether ``code`` tests a value for None."""
    return any(step.opname in _NONE_TESTS for step in _steps_of(code))


@lru_cache(maxsize=1024)
def globals_read(code: CodeType) -> tuple[str, ...]:
    """The names that ``code`` looks up among the globals."""
    steps = _steps_of(code)
    return tuple({step.argval: None for step in steps if step.opname == "LOAD_GLOBAL"})


@lru_cache(maxsize=1024)
def takes_remainders(code: CodeType) -> bool:
    """Whether ``code`` uses %, which takes a remainder or formats a text."""
    return any(
        step.opname == "BINARY_OP" and step.argrepr in ("%", "%=") for step in _steps_of(code)
    )


@lru_cache(maxsize=1024)
def has_texts(code: CodeType) -> bool:
    """Whether ``code`` does not use %, but has texts that it may pass to code that does."""
    return not takes_remainders(code) and any(_is_text(step) for step in _steps_of(code))


@lru_cache(maxsize=1024)
def only_raises(code: CodeType, position: int) -> bool:
    """Whether ``code``, from ``position`` on, computes an exception and raises it."""
    for step in dis.get_instructions(code):
        if step.offset >= position:
            if step.opname == "RAISE_VARARGS":
                return True
            if step.opname not in _MAKES_EXCEPTION:
                return False
    return False


_MAKES_EXCEPTION = {
    *("CACHE", "PRECALL", "PUSH_NULL", "KW_NAMES", "CALL", "CALL_KW", "COPY", "SWAP", "NOP"),
    *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD"),
    *("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_ASSERTION_ERROR"),
    *("LOAD_COMMON_CONSTANT", "BINARY_OP", "BINARY_SUBSCR", "BUILD_STRING", "BUILD_TUPLE"),
    *("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"),
}
"""The opcodes between the beginning of a message and the exception that has it."""


def _steps_of(code: CodeType) -> Iterator[dis.Instruction]:
    for each in with_inner(code):
        yield from dis.get_instructions(each)


def _is_text(step: dis.Instruction) -> bool:
    if step.opname not in ("LOAD_CONST", "RETURN_CONST"):
        return False
    parts = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return any(isinstance(part, (str, bytes)) for part in parts)


def _may_be_formatted(
    code: CodeType, step: dis.Instruction, following: dis.Instruction | None
) -> bool:
    """Whether ``step`` makes a text that may come to the left of a %. What is loaded as a text of
    its own is a symbol then, of which that is known."""
    if step.opname in _ATTRIBUTES and step.argval in _MAKES_TEXT:
        return True
    if step.opname.startswith("FORMAT_"):
        return not hands_over(code, step.offset, calls=False)
    if not _is_text(step) or type(step.argval) is str:
        return False
    # The last step returns it, from Python 3.12 on
    return following is None or following.opname not in (
        "CONTAINS_OP",
        "CALL_KW",
        "BUILD_CONST_KEY_MAP",
    )


def _reason(step: dis.Instruction, owner: str) -> str:
    reason = _REASONS.get(step.opname, f"has the step {step.opname}, which cannot be followed")
    return reason.format(f"{owner}{step.argval}" if step.opname.endswith("_ATTR") else step.argval)


_AWAITS = 0x80 | 0x200
"""The flags of coroutines."""
