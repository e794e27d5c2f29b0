"""Decides from its bytecode whether a function only computes, and says why if it does not."""

from __future__ import annotations

from functools import lru_cache
from types import CodeType

from flinkish.api.bytecode import (
    Does,
    Step,
    step_at,
    steps,
    steps_with_inner,
    steps_without_handlers,
)
from flinkish.runtime.columns.tracing.texts import hands_over

_COMPUTES = {
    *(Does.LOAD_VARIABLE, Does.STORE_VARIABLE, Does.DELETE_VARIABLE, Does.LOAD_CONSTANT),
    *(Does.LOAD_GLOBAL, Does.LOAD_ENCLOSING, Does.LOAD_ATTRIBUTE, Does.LOAD_ITEM, Does.STORE_ITEM),
    *(Does.LOAD_SLICE, Does.OPERATE, Does.UNARY, Does.COMPARE, Does.CONTAINS),
    *(Does.FORMAT, Does.CONVERT, Does.BUILD_TEXT, Does.BUILD_TUPLE, Does.BUILD_LIST),
    *(Does.BUILD_SLICE, Does.BUILD_DICT, Does.BUILD_DICT_OF_NAMES, Does.EXTEND, Does.UNPACK),
    *(Does.CALL, Does.CALL_WITH_NAMES, Does.CALL_UNPACKED, Does.INTRINSIC, Does.FUNCTION),
    *(Does.GENERATOR, Does.ITERATOR, Does.ITERATE, Does.END_LOOP, Does.JUMP),
    *(Does.RETURN, Does.YIELD, Does.POP, Does.RAISE, Does.RERAISE, Does.SHUFFLE, Does.PUSH_NULL),
}
"""The steps of functions that only compute. Symbols cannot be iterated over, so loops are over
tuples and lists, and end. Lists may be built, as returning one is unsupported. Dicts may
be built and written into: changing those that come from elsewhere is unsupported."""

_REASONS = {
    Does.STORE_ATTRIBUTE: "writes the attribute {}",
    Does.DELETE_ATTRIBUTE: "deletes the attribute {}",
    Does.STORE_GLOBAL: "writes the global {}",
    Does.DELETE_GLOBAL: "deletes the global {}",
    Does.STORE_ENCLOSING: "writes the variable {} of an enclosing function",
    Does.STORE_SLICE: "writes into a container",
    Does.DELETE_ITEM: "deletes from a container",
    Does.IMPORT: "imports {}",
    Does.SUPER: "calls super",
    Does.YIELD_FROM: "yields from",
    Does.ENTER: "enters a context",
    Does.BUILD_SET: "makes a set, which can change",
    Does.IS: "compares the identity of objects",
}

_MAKES_TEXT = {"hex", "to_bytes", "tzname"}
"""Methods of numbers and time zones that return texts."""
HIDDEN = ("__", "_traced_")
"""Prefixes of attributes that belong to a symbol rather than to the value that it stands for."""


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
    reached = steps_without_handlers(code)
    for before, step, following in zip((None, *reached), reached, (*reached[1:], None)):
        line = step.line or line
        if step.does is Does.LOAD_VARIABLE and step.argument == "self":
            owner = "self."
        written = writes and step.does is Does.STORE_ATTRIBUTE
        if step.does is Does.JUMP_BACK:
            if step_at(code, step.argument).does is not Does.ITERATE:
                return f"has a loop that is not over a tuple or list (line {line})"
        elif step.does not in _COMPUTES and not (
            written
            or (step.does is Does.IS and _loads_none(before))
            or (step.does is Does.STORE_ENCLOSING and step.argument in code.co_cellvars)
        ):
            return f"{_reason(step, owner)} (line {line})"
        if (written or step.does is Does.LOAD_ATTRIBUTE) and step.argument.startswith(HIDDEN):
            uses = "writes" if written else "reads"
            return f"{uses} the attribute {step.argument} (line {line})"
        if formats and _may_be_formatted(code, step, following):
            return f"may format a text with % (line {line})"
    inner = (impurity(each) for each in code.co_consts if isinstance(each, CodeType))
    return next(filter(None, inner), None)


@lru_cache(maxsize=1024)
def written_attributes(code: CodeType) -> tuple[str, ...]:
    return tuple({s.argument: None for s in steps(code) if s.does is Does.STORE_ATTRIBUTE})


@lru_cache(maxsize=1024)
def tests_none(code: CodeType) -> bool:
    """Whether ``code`` tests a value for None."""
    return any(step.testsNone for step in steps_with_inner(code))


@lru_cache(maxsize=1024)
def globals_read(code: CodeType) -> tuple[str, ...]:
    return tuple({s.argument: None for s in steps_with_inner(code) if s.does is Does.LOAD_GLOBAL})


@lru_cache(maxsize=1024)
def takes_remainders(code: CodeType) -> bool:
    """Whether ``code`` uses %, which takes a remainder or formats a text."""
    return any(s.does is Does.OPERATE and s.argument == "%" for s in steps_with_inner(code))


@lru_cache(maxsize=1024)
def has_texts(code: CodeType) -> bool:
    """Whether ``code`` does not use %, but has texts that it may pass to code that does."""
    return not takes_remainders(code) and any(map(_is_text, steps_with_inner(code)))


@lru_cache(maxsize=1024)
def only_raises(code: CodeType, position: int) -> bool:
    """Whether ``code``, from ``position`` on, computes an exception and raises it."""
    for step in steps(code):
        if step.offset >= position and step.does not in _MAKES_EXCEPTION:
            return step.does is Does.RAISE
    return False


_MAKES_EXCEPTION = {
    *(Does.LOAD_VARIABLE, Does.LOAD_CONSTANT, Does.LOAD_GLOBAL, Does.LOAD_ENCLOSING),
    *(Does.LOAD_ATTRIBUTE, Does.LOAD_ITEM, Does.OPERATE, Does.FORMAT, Does.CONVERT),
    *(Does.BUILD_TEXT, Does.BUILD_TUPLE, Does.CALL, Does.CALL_WITH_NAMES, Does.SHUFFLE),
    Does.PUSH_NULL,
}
"""The steps between the beginning of a message and the exception that has it."""


def _loads_none(step: Step | None) -> bool:
    return step is not None and step.does is Does.LOAD_CONSTANT and step.argument is None


def _is_text(step: Step) -> bool:
    if step.does is not Does.LOAD_CONSTANT:
        return False
    parts = step.argument if isinstance(step.argument, tuple) else (step.argument,)
    return any(isinstance(part, (str, bytes)) for part in parts)


def _may_be_formatted(code: CodeType, step: Step, following: Step | None) -> bool:
    """Whether ``step`` makes a text that may come to the left of a %. Text literals are
    symbols then."""
    if step.does is Does.LOAD_ATTRIBUTE and step.argument in _MAKES_TEXT:
        return True
    if step.does is Does.FORMAT:
        return not hands_over(code, step.offset, calls=False)
    if not _is_text(step) or type(step.argument) is str:
        return False
    return following is None or following.does not in (
        Does.CONTAINS,
        Does.CALL_WITH_NAMES,
        Does.BUILD_DICT_OF_NAMES,
    )


def _reason(step: Step, owner: str) -> str:
    if step.does in (Does.STORE_ATTRIBUTE, Does.DELETE_ATTRIBUTE):
        return _REASONS[step.does].format(f"{owner}{step.argument}")
    if step.does in _REASONS:
        return _REASONS[step.does].format(step.argument)
    name = step.argument if step.does is Does.OTHER else step.does.name
    return f"has the step {name}, which cannot be followed"


_AWAITS = 0x80 | 0x200
"""The flags of coroutines."""
