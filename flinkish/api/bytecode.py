"""The code of a function as steps, in one vocabulary for Python 3.11 to 3.14.

No other module knows opcodes. ``steps`` leaves out what has no effect, and takes apart what a version of Python has
joined, such as STORE_FAST_LOAD_FAST.
"""

from __future__ import annotations

import dis
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum, auto
from functools import lru_cache
from operator import attrgetter
from types import CodeType
from typing import Any, NamedTuple


class Does(Enum):
    """The effect of a step. Its argument is the name of what it accesses, unless said otherwise."""

    LOAD_VARIABLE = auto()
    STORE_VARIABLE = auto()
    DELETE_VARIABLE = auto()
    LOAD_CONSTANT = auto()
    """The argument is its value."""
    LOAD_GLOBAL = auto()
    STORE_GLOBAL = auto()
    DELETE_GLOBAL = auto()
    LOAD_ENCLOSING = auto()
    """A variable of an enclosing function, or one that an inner function uses."""
    STORE_ENCLOSING = auto()
    LOAD_ATTRIBUTE = auto()
    STORE_ATTRIBUTE = auto()
    DELETE_ATTRIBUTE = auto()
    LOAD_ITEM = auto()
    STORE_ITEM = auto()
    DELETE_ITEM = auto()
    LOAD_SLICE = auto()
    STORE_SLICE = auto()
    OPERATE = auto()
    """The argument is the sign of the operation, such as ``+``, also for ``+=``."""
    UNARY = auto()
    COMPARE = auto()
    CONTAINS = auto()
    IS = auto()
    FORMAT = auto()
    """Make a text of a value. The argument is 0, or has WITH_SPECIFICATION or a conversion in it."""
    CONVERT = auto()
    """As ``!r`` does."""
    BUILD_TEXT = auto()
    BUILD_TUPLE = auto()
    BUILD_LIST = auto()
    BUILD_SET = auto()
    BUILD_SLICE = auto()
    BUILD_DICT = auto()
    BUILD_DICT_OF_NAMES = auto()
    """A dict whose keys are a constant."""
    EXTEND = auto()
    """Add to a list, set or dict that is being built, or to the keyword arguments of a call."""
    UNPACK = auto()
    UNPACK_REST = auto()
    CALL = auto()
    """The argument is the number of arguments."""
    CALL_WITH_NAMES = auto()
    CALL_UNPACKED = auto()
    INTRINSIC = auto()
    FUNCTION = auto()
    """Make a function."""
    GENERATOR = auto()
    ITERATOR = auto()
    ITERATE = auto()
    """Take the next element; the argument is the offset behind the loop."""
    END_LOOP = auto()
    JUMP = auto()
    """The argument is an offset."""
    JUMP_BACK = auto()
    RETURN = auto()
    YIELD = auto()
    YIELD_FROM = auto()
    POP = auto()
    RAISE = auto()
    RERAISE = auto()
    SHUFFLE = auto()
    """Change the order of the stack."""
    PUSH_NULL = auto()
    IMPORT = auto()
    SUPER = auto()
    ENTER = auto()
    """Enter a context."""
    OTHER = auto()
    """The argument is the name of the opcode."""


WITH_SPECIFICATION = 4
"""As in ``f"{x:>5}"``."""


class Step(NamedTuple):
    """One step of a function's code."""

    does: Does
    argument: Any
    offset: int
    positions: dis.Positions | None
    """Its position in the source."""
    takes: int | None
    """The number of values it takes from the stack; None if that is not known."""
    gives: int
    """The number of values it puts on the stack."""
    testsNone: bool
    """Whether it may compare a value with None."""

    @property
    def line(self) -> int | None:
        """The line in the source; None if that is not known."""
        return self.positions.lineno if self.positions else None


@lru_cache(maxsize=1024)
def steps(code: CodeType) -> tuple[Step, ...]:
    """The steps of ``code``, without those of functions in it."""
    return tuple(step for each in dis.get_instructions(code) for step in _steps(each))


@lru_cache(maxsize=1024)
def steps_without_handlers(code: CodeType) -> tuple[Step, ...]:
    """The steps that ``code`` may reach if nothing raises an exception."""
    instructions = list(dis.get_instructions(code))
    position = {each.offset: number for number, each in enumerate(instructions)}
    reached: set[int] = set()
    left = [0]
    while left:
        number = left.pop()
        if number in reached or number == len(instructions):
            continue
        reached.add(number)
        each = instructions[number]
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            left.append(position[each.argval])
        if each.opname not in _ENDS:
            left.append(number + 1)
    offsets = {instructions[number].offset for number in reached}
    return tuple(step for step in steps(code) if step.offset in offsets)


def steps_with_inner(code: CodeType) -> Iterator[Step]:
    """The steps of ``code``, and those of the functions and comprehensions in it."""
    for each in with_inner(code):
        yield from steps(each)


def with_inner(code: CodeType, but: CodeType | None = None) -> Iterator[CodeType]:
    """``code``, and the code of the functions and comprehensions in it, without ``but`` and those in that."""
    if code is not but:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from with_inner(constant, but)


def position_of(code: CodeType, offset: int) -> int:
    """The position, among the steps of ``code``, of the one at ``offset`` or the first behind it."""
    return bisect_left(steps(code), offset, key=attrgetter("offset"))


def step_at(code: CodeType, offset: int) -> Step:
    """The step of ``code`` at ``offset``, such as the ``tb_lasti`` of a traceback."""
    return steps(code)[position_of(code, offset)]


def attributes_read(code: CodeType, but: CodeType | None = None) -> set[str]:
    """The attributes that ``code`` and the functions in it read, without the function ``but``."""
    return {
        step.argument
        for each in with_inner(code, but)
        for step in steps(each)
        if step.does is Does.LOAD_ATTRIBUTE
    }


LOOK_UPS = frozenset(
    {
        *(Does.LOAD_VARIABLE, Does.LOAD_GLOBAL, Does.LOAD_ENCLOSING, Does.DELETE_VARIABLE),
        *(Does.LOAD_ATTRIBUTE, Does.STORE_ATTRIBUTE, Does.DELETE_ATTRIBUTE, Does.DELETE_GLOBAL),
        *(Does.LOAD_ITEM, Does.STORE_ITEM, Does.DELETE_ITEM),
    }
)
"""The steps that look something up and call nothing."""


def _steps(each: dis.Instruction) -> Iterator[Step]:
    name = each.opname
    if name in _NOTHING:
        return
    if name == "RETURN_CONST":
        yield _step(each, Does.LOAD_CONSTANT, each.argval)
        yield _step(each, Does.RETURN, None)
    elif name.count("_FAST") > 1:
        first, second = (part.startswith("STORE") for part in _joined(name))
        for stores, variable in zip((first, second), each.argval):
            yield _step(each, Does.STORE_VARIABLE if stores else Does.LOAD_VARIABLE, variable)
    elif name == "BINARY_OP":
        if each.argrepr == "[]":
            yield _step(each, Does.LOAD_ITEM, None)
        else:
            yield _step(each, Does.OPERATE, each.argrepr.removesuffix("="))
    elif name in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"):
        yield _step(each, Does.LOAD_CONSTANT, each.argval or AssertionError)
    elif name.startswith("FORMAT_"):
        flags = WITH_SPECIFICATION if name == "FORMAT_WITH_SPEC" else each.arg or 0
        yield _step(each, Does.FORMAT, flags)
    elif "JUMP" in name:
        yield _step(each, Does.JUMP_BACK if "BACKWARD" in name else Does.JUMP, each.argval)
    elif name.startswith("UNARY_") or name == "TO_BOOL":
        yield _step(each, Does.UNARY, None)
    else:
        does = _DOES.get(name, Does.OTHER)
        yield _step(each, does, name if does is Does.OTHER else each.argval)


def _step(each: dis.Instruction, does: Does, argument: Any) -> Step:
    tests_none = does is Does.IS or each.opname.endswith(("_NONE", "_NOT_NONE"))
    return Step(does, argument, each.offset, each.positions, *_stack(each, does), tests_none)


def _joined(name: str) -> list[str]:
    """The two opcodes of STORE_FAST_LOAD_FAST, LOAD_FAST_BORROW_LOAD_FAST_BORROW and so on."""
    half = name.index("_", name.index("_FAST") + 1)
    half = half + len("_BORROW") if name[half:].startswith("_BORROW") else half
    return [name[:half], name[half + 1 :]]


def _stack(each: dis.Instruction, does: Does) -> tuple[int | None, int]:
    """The numbers of values that an instruction takes from the stack and puts on it."""
    count = each.arg or 0
    if each.opname == "LOAD_FAST_AND_CLEAR":
        return None, 0
    if does in _TAKEN_AND_GIVEN:
        return _TAKEN_AND_GIVEN[does]
    if does is Does.LOAD_GLOBAL:
        return 0, 1 + (each.opname == "LOAD_GLOBAL" and count & 1)
    if does is Does.LOAD_ATTRIBUTE:
        return 1, 1 + (each.opname == "LOAD_METHOD" or "NULL" in each.argrepr)
    if does is Does.FORMAT:
        return 1 + (each.opname == "FORMAT_WITH_SPEC" or bool(count & WITH_SPECIFICATION)), 1
    if does is Does.BUILD_DICT:
        return 2 * count, 1
    if does is Does.BUILD_DICT_OF_NAMES:
        return count + 1, 1
    if does in (Does.BUILD_TEXT, Does.BUILD_TUPLE, Does.BUILD_LIST, Does.BUILD_SET):
        return count, 1
    if does is Does.CALL:
        return count + 2, 1
    return (count, 0) if does is Does.RAISE else (None, 0)


_TAKEN_AND_GIVEN = {
    Does.LOAD_VARIABLE: (0, 1),
    Does.LOAD_CONSTANT: (0, 1),
    Does.LOAD_ENCLOSING: (0, 1),
    Does.PUSH_NULL: (0, 1),
    Does.STORE_VARIABLE: (1, 0),
    Does.POP: (1, 0),
    Does.RETURN: (1, 0),
    Does.YIELD: (1, 1),
    Does.UNARY: (1, 1),
    Does.OPERATE: (2, 1),
    Does.LOAD_ITEM: (2, 1),
    Does.COMPARE: (2, 1),
    Does.CONTAINS: (2, 1),
    Does.STORE_ITEM: (3, 0),
}

_NOTHING = {
    *("CACHE", "NOP", "RESUME", "PRECALL", "KW_NAMES", "EXTENDED_ARG", "NOT_TAKEN"),
    *("MAKE_CELL", "COPY_FREE_VARS"),
}
"""The opcodes that change nothing a reader of the code could see."""

_ENDS = {
    *("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"),
    *("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
}
"""The opcodes behind which a function does not go on with the next one."""

_OPCODES = {
    Does.LOAD_VARIABLE: "LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR",
    Does.STORE_VARIABLE: "STORE_FAST",
    Does.DELETE_VARIABLE: "DELETE_FAST",
    Does.LOAD_CONSTANT: "LOAD_CONST LOAD_SMALL_INT",
    Does.LOAD_GLOBAL: "LOAD_GLOBAL LOAD_NAME",
    Does.STORE_GLOBAL: "STORE_GLOBAL STORE_NAME",
    Does.DELETE_GLOBAL: "DELETE_GLOBAL",
    Does.LOAD_ENCLOSING: "LOAD_DEREF LOAD_CLOSURE",
    Does.STORE_ENCLOSING: "STORE_DEREF",
    Does.LOAD_ATTRIBUTE: "LOAD_ATTR LOAD_METHOD",
    Does.STORE_ATTRIBUTE: "STORE_ATTR",
    Does.DELETE_ATTRIBUTE: "DELETE_ATTR",
    Does.SUPER: "LOAD_SUPER_ATTR",
    Does.LOAD_ITEM: "BINARY_SUBSCR",
    Does.STORE_ITEM: "STORE_SUBSCR",
    Does.DELETE_ITEM: "DELETE_SUBSCR",
    Does.LOAD_SLICE: "BINARY_SLICE",
    Does.STORE_SLICE: "STORE_SLICE",
    Does.COMPARE: "COMPARE_OP",
    Does.CONTAINS: "CONTAINS_OP",
    Does.IS: "IS_OP",
    Does.CONVERT: "CONVERT_VALUE",
    Does.BUILD_TEXT: "BUILD_STRING",
    Does.BUILD_TUPLE: "BUILD_TUPLE",
    Does.BUILD_LIST: "BUILD_LIST",
    Does.BUILD_SET: "BUILD_SET",
    Does.BUILD_SLICE: "BUILD_SLICE",
    Does.BUILD_DICT: "BUILD_MAP",
    Does.BUILD_DICT_OF_NAMES: "BUILD_CONST_KEY_MAP",
    Does.EXTEND: "LIST_APPEND LIST_EXTEND SET_ADD SET_UPDATE MAP_ADD DICT_UPDATE DICT_MERGE",
    Does.UNPACK: "UNPACK_SEQUENCE",
    Does.UNPACK_REST: "UNPACK_EX",
    Does.CALL: "CALL",
    Does.CALL_WITH_NAMES: "CALL_KW",
    Does.CALL_UNPACKED: "CALL_FUNCTION_EX",
    Does.INTRINSIC: "CALL_INTRINSIC_1 LIST_TO_TUPLE",
    Does.FUNCTION: "MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE",
    Does.GENERATOR: "RETURN_GENERATOR",
    Does.ITERATOR: "GET_ITER",
    Does.ITERATE: "FOR_ITER",
    Does.END_LOOP: "END_FOR POP_ITER",
    Does.RETURN: "RETURN_VALUE",
    Does.YIELD: "YIELD_VALUE",
    Does.YIELD_FROM: "GET_YIELD_FROM_ITER SEND",
    Does.POP: "POP_TOP",
    Does.RAISE: "RAISE_VARARGS",
    Does.RERAISE: "RERAISE",
    Does.SHUFFLE: "COPY SWAP",
    Does.PUSH_NULL: "PUSH_NULL",
    Does.IMPORT: "IMPORT_NAME",
    Does.ENTER: "BEFORE_WITH LOAD_SPECIAL",
}
_DOES = {name: does for does, names in _OPCODES.items() for name in names.split()}
