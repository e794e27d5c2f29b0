"""The code that runs in place of a traced function's, with the same steps at the same positions.

It handles no exceptions: what raises one for an element is not exact over columns, and then the
function itself is called. Texts that % may format, or that join others, are symbols: a text with
nothing to fill in would take any other symbol for a mapping, and leave it out unnoticed. A set that
is written in the function, and asked for what it contains, would ask for the hash of a symbol.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

from flinkish.runtime.columns.tracing.purity import takes_remainders
from flinkish.runtime.columns.tracing.texts import consumer_of

MOST_CONSTANTS = 256
"""So many can be loaded by a step of two bytes."""


class TooManyConstants(Exception):
    """Code has no room for further constants."""


def patched_code(code: CodeType, replaced: Callable[[str | frozenset[Any]], object]) -> CodeType:
    """The code that runs in place of ``code``; ``replaced`` makes what it loads in place of a
    constant. Raises TooManyConstants."""
    return _patched(code, replaced, takes_remainders(code))


def _patched(
    code: CodeType, replaced: Callable[[str | frozenset[Any]], object], formats: bool
) -> CodeType:
    constants = [
        _patched(each, replaced, formats) if isinstance(each, CodeType) else each
        for each in code.co_consts
    ]
    steps = bytearray(code.co_code)
    for position, constant in loose_constants(code, formats):
        if len(constants) >= MOST_CONSTANTS:
            raise TooManyConstants
        steps[position + 1] = len(constants)
        constants.append(replaced(constant))
    return code.replace(co_code=bytes(steps), co_consts=tuple(constants), co_exceptiontable=b"")


@lru_cache(maxsize=1024)
def loose_constants(code: CodeType, formats: bool) -> tuple[tuple[int, str | frozenset[Any]], ...]:
    """The sets that steps of ``code`` load to look into, and the texts that they load to join
    others, and if it ``formats``, those that may come to the left of a %; with the positions of
    the steps."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    return tuple(
        (step.offset, step.argval)
        for number, step in enumerate(steps)
        if step.opname in ("LOAD_CONST", "RETURN_CONST")
        and (
            (type(step.argval) is str and _is_loose(steps, number, formats))
            or (type(step.argval) is frozenset and steps[number + 1].opname == "CONTAINS_OP")
        )
    )


def _is_loose(steps: list[dis.Instruction], number: int, formats: bool) -> bool:
    """Whether the text that the step ``number`` loads joins others or may be formatted."""
    return _joins(steps, number) or (formats and not _only_names(steps, number))


def _joins(steps: list[dis.Instruction], number: int) -> bool:
    """Whether the text that the step ``number`` loads is asked for its method ``join``."""
    return (
        number + 1 < len(steps)
        and steps[number + 1].opname in ("LOAD_METHOD", "LOAD_ATTR")
        and steps[number + 1].argval == "join"
    )


def _only_names(steps: list[dis.Instruction], number: int) -> bool:
    """Whether the text that the step ``number`` loads is a part of a longer one, is compared, or
    names an item."""
    consumer, above = consumer_of(steps, number + 1)
    if consumer is None:
        return False
    if consumer.opname in ("BINARY_SUBSCR", "STORE_SUBSCR", "FORMAT_WITH_SPEC"):
        return above == 0
    if consumer.opname == "FORMAT_VALUE":
        return above == 0 and bool((consumer.arg or 0) & 4)
    if consumer.opname == "CONTAINS_OP":
        return above == 1
    if consumer.opname == "BUILD_MAP":
        return above % 2 == 1
    return consumer.opname in ("BUILD_STRING", "COMPARE_OP")
