"""Texts that a traced function formats, with f-strings or ``str.format``.

``__format__`` has to return a text. It returns a *token*, which stands for the value in the text
that Python puts together, and the text becomes an expression where the function hands it over. In
between Python must not look at it, which the bytecode behind the f-string tells (``hands_over``).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType

from flinkish.api.bytecode import Does, Step, position_of, steps

_MARK = f"\0{secrets.token_hex(16)}:"
"""No other text has it."""

_TOKEN = re.compile(f"({re.escape(_MARK)}[0-9]+\0)")


def token(number: int) -> str:
    return f"{_MARK}{number}\0"


def has_tokens(value: object) -> bool:
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
    ``calls``: it may be passed to functions other than collectors, which do not support tokens.
    """
    if any(isinstance(constant, CodeType) for constant in code.co_consts):
        return False  # a function inside could look at it
    done, current = steps(code), position_of(code, position)
    formats = done[current].does in (Does.FORMAT, *_CALLS)
    return formats and _Following(done, calls).hands_over(current + 1)


_CALLS = (Does.CALL, Does.CALL_WITH_NAMES, Does.CALL_UNPACKED)


def consumer_of(done: Sequence[Step], begin: int) -> tuple[Step | None, int]:
    """The step that takes the value on top of the stack before the step ``begin``, and how many
    values are above it then; None: it is not known."""
    above = 0
    for step in done[begin:]:
        if step.takes is None:
            break
        if step.takes > above:
            return step, above
        above += step.gives - step.takes
    return None, 0


class _Following:
    """Follows values on the stack, and in variables."""

    def __init__(self, done: Sequence[Step], calls: bool) -> None:
        self._steps = done
        self._calls = calls
        self._variables: set[str] = set()

    def hands_over(self, begin: int) -> bool:
        """Whether the value on top of the stack before the step ``begin`` is only handed over."""
        while True:
            step, above = consumer_of(self._steps, begin)
            if step is None:
                return False
            if step.does in (Does.RETURN, Does.YIELD, Does.POP, Does.RAISE):
                return True
            if step.does is Does.STORE_VARIABLE:
                return self._every_read(step.argument)
            number = self._steps.index(step)
            if not _keeps(step, above) or (step.does is Does.CALL and not self._hands_on(number)):
                return False
            begin = number + 1

    def _hands_on(self, number: int) -> bool:
        """Whether the call at that step is one of a collector, or of an external constant, whose
        stand-in raises Unsupported for a text with tokens if it may look at it. Other calls may
        keep it in a list."""
        inside = self._steps[number].argument
        for step in reversed(self._steps[:number]):
            if step.takes is None:
                return False
            if step.gives > inside:
                return (step.does is Does.LOAD_GLOBAL and self._calls) or (
                    step.does is Does.LOAD_ATTRIBUTE and step.argument in _COLLECTS
                )
            inside += step.takes - step.gives
        return False

    def _every_read(self, variable: str) -> bool:
        if variable in self._variables:
            return True
        self._variables.add(variable)
        uses = {n: step.does for n, step in enumerate(self._steps) if _uses(step, variable)}
        return set(uses.values()) <= {Does.STORE_VARIABLE, Does.LOAD_VARIABLE} and all(
            self.hands_over(number + 1)
            for number, does in uses.items()
            if does is Does.LOAD_VARIABLE
        )


def _uses(step: Step, variable: str) -> bool:
    # A constant or an attribute of that name counts as well, which is on the safe side
    return isinstance(step.argument, str) and step.argument == variable


def _keeps(step: Step, above: int) -> bool:
    """Whether ``step`` makes a value of the one with ``above`` others above it, and does not look
    at it."""
    if step.does is Does.FORMAT:
        return bool(step.argument == 0)
    if step.does is Does.OPERATE:
        return bool(step.argument == "+")
    if step.does is Does.CALL:
        return bool(above < step.argument)
    return step.does in _BUILDS


_COLLECTS = ("collect", "output")
"""The methods of collectors and contexts that take a result."""

_BUILDS = {
    *(Does.BUILD_TEXT, Does.BUILD_TUPLE, Does.BUILD_LIST),
    *(Does.BUILD_DICT, Does.BUILD_DICT_OF_NAMES),
}
