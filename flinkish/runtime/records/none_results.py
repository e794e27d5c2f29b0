"""Says which call of flinkish gave the None on which a user function failed, and what to write.

The call is found in the bytecode of the function, as a worker may not have its source.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import FrameType

from flinkish.api.tracebacks import is_of_program, traces

_NO_VALUE = (
    "nothing was stored under it for this key yet. Write what it begins with, such as ({0} or 0), or check"
    " for None"
)
_CALLS = {
    "timestamp": (
        "the element has no timestamp. Call {1}(strategy) on the stream before, with a strategy that has a"
        " timestamp assigner ({2})"
    ),
    "value": _NO_VALUE,
    "get": _NO_VALUE,
}
"""What it means that a method gives None."""

_OURS = "flinkish."


def none_note(error: BaseException) -> str | None:
    """A sentence on the call that gave the None that ``error`` is about; None if there is none."""
    if not isinstance(error, (TypeError, AttributeError)) or "NoneType" not in str(error):
        return None
    for trace in reversed(list(filter(is_of_program, traces(error.__traceback__)))):
        call = next(_calls_before(trace.tb_frame, trace.tb_lasti), None)
        if call is not None:
            return str(call)
    return None


class _Call:
    """A call of a method of flinkish, on an object that the function reaches by ``path``."""

    def __init__(self, receiver: object, path: list[str]) -> None:
        self._receiver = receiver
        self._path = path

    @property
    def _takesKey(self) -> bool:
        return hasattr(self._receiver, "contains")

    def givesNone(self) -> bool:
        """Whether the call may give None now."""
        try:
            return self._takesKey or getattr(self._receiver, self._path[-1])() is None
        except Exception:
            return False

    def __str__(self) -> str:
        call = f"{'.'.join(self._path)}({'...' if self._takesKey else ''})"
        names = ("assignTimestampsAndWatermarks", "withTimestampAssigner")
        if type(self._receiver).__module__.startswith("flinkish.pyflink."):
            names = ("assign_timestamps_and_watermarks", "with_timestamp_assigner")
        return f"{call} gave None: {_CALLS[self._path[-1]].format(call, *names)}."


def _calls_before(frame: FrameType, offset: int) -> Iterator[_Call]:
    """The calls that gave None to the instruction at ``offset``: in its expression, or where a
    variable in it that is None was set."""
    code = [i for i in dis.get_instructions(frame.f_code) if i.opname not in _NO_STEPS]
    # While a function is called, the offset is behind the instruction
    at = max((n for n, i in enumerate(code) if i.offset <= offset), default=0)
    # What is unpacked is no part of the targets
    taken = sorted({*_steps_within(code, code[at]), *_steps_within(code, code[at - 1])})
    yield from (call for call in _calls_among(frame, code, taken) if call.givesNone())
    for name in {name for n in taken for name in _variables(code[n], "LOAD")}:
        if frame.f_locals.get(name, name) is None:
            for n, step in enumerate(code):
                if n and name in _variables(step, "STORE"):
                    yield from _calls_among(frame, code, _steps_within(code, code[n - 1]))


def _calls_among(
    frame: FrameType, code: list[dis.Instruction], steps: list[int]
) -> Iterator[_Call]:
    for n in steps:
        if code[n].opname in ("LOAD_METHOD", "LOAD_ATTR") and code[n].argval in _CALLS:
            path = [code[n].argval]
            while n and code[n - 1].opname == "LOAD_ATTR":
                n -= 1
                path.insert(0, code[n].argval)
            root = _variables(code[n - 1], "LOAD")[-1:]
            receiver = _found(frame, [*root, *path[:-1]]) if root else None
            if type(receiver).__module__.startswith(_OURS):
                yield _Call(receiver, [*root, *path])


def _steps_within(code: list[dis.Instruction], whole: dis.Instruction) -> list[int]:
    """The numbers of the instructions of the expression of ``whole``."""
    span = whole.positions
    if span is None or span.lineno is None:
        return []
    begin, end = (span.lineno, span.col_offset), (span.end_lineno, span.end_col_offset)
    return [
        n
        for n, step in enumerate(code)
        if (place := step.positions) is not None
        and place.lineno is not None
        and begin <= (place.lineno, place.col_offset)
        and (place.end_lineno, place.end_col_offset) <= end
    ]


def _found(frame: FrameType, path: list[str]) -> object:
    root, *attributes = path
    found = frame.f_locals.get(root, frame.f_globals.get(root))
    try:
        for attribute in attributes:
            found = getattr(found, attribute)
    except Exception:
        return None
    return found


def _variables(step: dis.Instruction, action: str) -> tuple[str, ...]:
    """The variables that an instruction loads (``LOAD``) or sets (``STORE``)."""
    name, found = step.opname, step.argval
    if isinstance(found, tuple):  # two in one, since Python 3.13
        if name == "STORE_FAST_LOAD_FAST":
            return found[:1] if action == "STORE" else found[1:]
        return found if name.startswith("LOAD") and action == "LOAD" else ()
    kinds = tuple(f"{action}_{kind}" for kind in ("FAST", "DEREF", "NAME", "GLOBAL", "CLOSURE"))
    return (found,) if name.startswith(kinds) else ()


_NO_STEPS = ("CACHE", "PRECALL", "NOP", "RESUME", "COPY_FREE_VARS", "PUSH_NULL")
