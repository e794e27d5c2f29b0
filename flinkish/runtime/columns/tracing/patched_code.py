"""The code that runs in place of a traced function's, with the same steps at the same positions.

It handles no exceptions: what raises one for an element is not exact over columns, and then the
function itself is called. Some *literals*, the constants that are written in the function, are
symbols: texts that % may format, or that join others, as a text with nothing to fill in would take
any other symbol for a mapping, and leave it out unnoticed; and sets that are asked for what they
contain, as they would ask for the hash of a symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from flinkish.api.bytecode import WITH_SPECIFICATION, Does, Step, steps
from flinkish.runtime.columns.tracing.purity import takes_remainders
from flinkish.runtime.columns.tracing.texts import consumer_of
from flinkish.runtime.columns.tracing.unsupported import Unsupported

MOST_CONSTANTS = 256
"""The number of constants that a step of two bytes can load."""


def patched_code(code: CodeType, replaced: Callable[[str | frozenset[Any]], object]) -> CodeType:
    """The code that runs in place of ``code``; ``replaced`` makes what it loads in place of a
    literal. Raises Unsupported if there is no room for further constants."""
    return _patched(code, replaced, takes_remainders(code))


def _patched(
    code: CodeType, replaced: Callable[[str | frozenset[Any]], object], formats: bool
) -> CodeType:
    constants = [
        _patched(each, replaced, formats) if isinstance(each, CodeType) else each
        for each in code.co_consts
    ]
    patched = bytearray(code.co_code)
    for position, literal in symbolic_literals(code, formats):
        if len(constants) >= MOST_CONSTANTS:
            raise Unsupported("has too many constants")
        patched[position + 1] = len(constants)
        constants.append(replaced(literal))
    return code.replace(co_code=bytes(patched), co_consts=tuple(constants), co_exceptiontable=b"")


@lru_cache(maxsize=1024)
def symbolic_literals(
    code: CodeType, formats: bool
) -> tuple[tuple[int, str | frozenset[Any]], ...]:
    """The literals of ``code`` that become symbols: sets to look into, texts to join others, and if
    it ``formats``, texts that may come to the left of a %; with the positions of the steps that
    load them."""
    done = steps(code)
    return tuple(
        (step.offset, step.argument)
        for number, step in enumerate(done)
        if step.does is Does.LOAD_CONSTANT
        and (
            (type(step.argument) is str and _is_symbolic(done, number, formats))
            or (type(step.argument) is frozenset and done[number + 1].does is Does.CONTAINS)
        )
    )


def _is_symbolic(done: Sequence[Step], number: int, formats: bool) -> bool:
    """Whether the text that the step ``number`` loads joins others or may be formatted."""
    return _joins(done[number + 1]) or (formats and not _only_names(done, number))


def _joins(following: Step) -> bool:
    """Whether the step behind the one that loads a text asks that for its method ``join``."""
    return following.does is Does.LOAD_ATTRIBUTE and following.argument == "join"


def _only_names(done: Sequence[Step], number: int) -> bool:
    """Whether the text that the step ``number`` loads is a part of a longer one, is compared, or
    names an item."""
    consumer, above = consumer_of(done, number + 1)
    if consumer is None:
        return False
    if consumer.does in (Does.LOAD_ITEM, Does.STORE_ITEM):
        return above == 0
    if consumer.does is Does.FORMAT:
        return above == 0 and bool(consumer.argument & WITH_SPECIFICATION)
    if consumer.does is Does.CONTAINS:
        return above == 1
    if consumer.does is Does.BUILD_DICT:
        return above % 2 == 1
    return consumer.does in (Does.BUILD_TEXT, Does.COMPARE)
