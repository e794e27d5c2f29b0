"""Texts that a traced function formats, with f-strings or ``str.format``.

``__format__`` has to return a text. It returns a *token*, which stands for the value in the text
that Python puts together, and the text becomes an expression where the function hands it over. In
between Python must not look at it, which the bytecode behind the f-string tells (``hands_over``).
"""

from __future__ import annotations

import dis
import re
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType

_MARK = f"\0{secrets.token_hex(16)}:"
"""No other text has it."""

_TOKEN = re.compile(f"({re.escape(_MARK)}[0-9]+\0)")


def token(number: int) -> str:
    """The text that stands for the value with that number."""
    return f"{_MARK}{number}\0"


def has_tokens(value: object) -> bool:
    """Whether ``value`` is a text with tokens."""
    return type(value) is str and _MARK in value


def holds_tokens(value: object) -> bool:
    """Whether ``value`` is a text with tokens, or has one in it."""
    if isinstance(value, dict):
        return any(map(holds_tokens, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(holds_tokens, value))
    return has_tokens(value)


def parts_of_text(text: str) -> Iterator[str | int]:
    """The parts of a text with tokens: texts, and the numbers of values."""
    for part in filter(None, _TOKEN.split(text)):
        yield int(part[len(_MARK) : -1]) if part.startswith(_MARK) else part


@lru_cache(maxsize=1024)
def hands_over(code: CodeType, position: int, *, calls: bool = True) -> bool:
    """Whether ``code`` only hands over the text that its step at ``position`` puts on the stack:
    it is returned, yielded, passed on, or becomes a part of a tuple, dict or longer text that is.
    ``calls``: it may be passed to functions other than collectors, which refuse tokens.
    """
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return False  # a function inside could look at it
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    current = next(n for n, step in enumerate(steps) if step.offset == position)
    if steps[current].opname == "PRECALL":
        current += 1
    formats = steps[current].opname.startswith(("FORMAT_", "CALL"))
    return formats and _Following(steps, calls).hands_over(current + 1)


def consumer_of(steps: Sequence[dis.Instruction], begin: int) -> tuple[dis.Instruction | None, int]:
    """The step that takes the value on top of the stack before the step ``begin``, and how many
    values are above it then; None: it cannot be told."""
    above = 0
    for step in steps[begin:]:
        taken, given = _taken_and_given(step)
        if taken is None:
            break
        if taken > above:
            return step, above
        above += given - taken
    return None, 0


class _Following:
    """Follows values on the stack, and in variables."""

    def __init__(self, steps: list[dis.Instruction], calls: bool) -> None:
        self._steps = steps
        self._calls = calls
        self._variables: set[str] = set()

    def hands_over(self, begin: int) -> bool:
        """Whether the value on top of the stack before the step ``begin`` is only handed over."""
        while True:
            step, above = consumer_of(self._steps, begin)
            if step is None:
                return False
            if step.opname in ("RETURN_VALUE", "YIELD_VALUE", "POP_TOP", "RAISE_VARARGS"):
                return True
            if step.opname == "STORE_FAST":
                return self._every_read(step.argval)
            number = self._steps.index(step)
            if not _keeps(step, above) or (step.opname == "CALL" and not self._hands_on(number)):
                return False
            begin = number + 1

    def _hands_on(self, number: int) -> bool:
        """Whether the call at that step is one of a collector, or of a name from outside, whose
        stand-in refuses a text with tokens if it may look at it. Other calls may keep it in a list."""
        inside = self._steps[number].arg or 0
        for step in reversed(self._steps[:number]):
            taken, given = _taken_and_given(step)
            if taken is None:
                return False
            if given > inside:
                return (step.opname == "LOAD_GLOBAL" and self._calls) or (
                    step.opname in ("LOAD_METHOD", "LOAD_ATTR") and step.argval in _COLLECTS
                )
            inside += taken - given
        return False

    def _every_read(self, variable: str) -> bool:
        if variable in self._variables:
            return True
        self._variables.add(variable)
        reads = [n for n, step in enumerate(self._steps) if _uses(step, variable)]
        names = {self._steps[number].opname for number in reads}
        return names <= {"STORE_FAST", "LOAD_FAST"} and all(
            self.hands_over(number + 1)
            for number in reads
            if self._steps[number].opname == "LOAD_FAST"
        )


def _uses(step: dis.Instruction, variable: str) -> bool:
    found = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return variable in found


def _keeps(step: dis.Instruction, above: int) -> bool:
    """Whether ``step`` makes a value of the one with ``above`` others above it, and does not look
    at it."""
    name, argument = step.opname, step.arg or 0
    if name == "FORMAT_VALUE":
        return argument == 0
    if name == "BINARY_OP":
        return step.argrepr in ("+", "+=")
    if name == "CALL":
        return above < argument
    return name in _BUILDS or name == "FORMAT_SIMPLE"


_COLLECTS = ("collect", "output")
"""The methods of collectors and contexts that take a result."""

_BUILDS = {"BUILD_STRING", "BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "BUILD_CONST_KEY_MAP"}

_NOTHING = {"NOP", "KW_NAMES", "PRECALL", "RESUME", "EXTENDED_ARG"}
_LOADS = {
    "LOAD_FAST",
    "LOAD_FAST_BORROW",
    "LOAD_CONST",
    "LOAD_SMALL_INT",
    "LOAD_DEREF",
    "PUSH_NULL",
}
_ONE_TO_ONE = {"UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "UNARY_NOT", "FORMAT_SIMPLE"}
_TWO_TO_ONE = {"BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP", "CONTAINS_OP", "FORMAT_WITH_SPEC"}


def _taken_and_given(step: dis.Instruction) -> tuple[int | None, int]:
    """How many values ``step`` takes from the stack, and how many it puts there; None: it does
    something else, or is not known."""
    name, argument = step.opname, step.arg or 0
    if name in _NOTHING:
        return 0, 0
    if name in _LOADS:
        return 0, 1
    if name == "LOAD_GLOBAL":
        return 0, 1 + (argument & 1)
    if name == "LOAD_METHOD":
        return 1, 2
    if name == "LOAD_ATTR":
        return 1, 1 + (step.argrepr.startswith("NULL") or step.argrepr.endswith("NULL|self"))
    if name in _ONE_TO_ONE:
        return 1, 1
    if name in _TWO_TO_ONE:
        return 2, 1
    if name == "FORMAT_VALUE":
        return 1 + bool(argument & 4), 1
    if name == "BUILD_MAP":
        return 2 * argument, 1
    if name == "STORE_SUBSCR":
        return 3, 0
    if name == "BUILD_CONST_KEY_MAP":
        return argument + 1, 1
    if name in _BUILDS:
        return argument, 1
    if name == "CALL":
        return argument + 2, 1
    if name == "RAISE_VARARGS":
        return argument, 0
    if name in ("RETURN_VALUE", "YIELD_VALUE", "POP_TOP", "STORE_FAST"):
        return 1, name == "YIELD_VALUE"
    return None, 0
