"""Says which call of flinkish gave the None on which a user function failed, and what to write.

The call is found in the bytecode of the function, as a worker may not have its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from flinkish.api.bytecode import Does, Step, steps
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
"""The meaning of None as the result of each method."""

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


class _Call(NamedTuple):
    """A call of a method of flinkish, on an object that the function reaches by ``path``."""

    receiver: object
    path: list[str]

    @property
    def takesKey(self) -> bool:
        return hasattr(self.receiver, "contains")

    def givesNone(self) -> bool:
        """Whether the call may give None now."""
        try:
            return self.takesKey or getattr(self.receiver, self.path[-1])() is None
        except Exception:
            return False

    def __str__(self) -> str:
        call = f"{'.'.join(self.path)}({'...' if self.takesKey else ''})"
        names = ("assignTimestampsAndWatermarks", "withTimestampAssigner")
        if type(self.receiver).__module__.startswith("flinkish.pyflink."):
            names = ("assign_timestamps_and_watermarks", "with_timestamp_assigner")
        return f"{call} gave None: {_CALLS[self.path[-1]].format(call, *names)}."


def _calls_before(frame: FrameType, offset: int) -> Iterator[_Call]:
    """The calls that gave None to the step at ``offset``, or to a variable in it."""
    code = [step for step in steps(frame.f_code) if step.does is not Does.PUSH_NULL]
    # While a function is called, the offset is behind the step
    at = max((n for n, step in enumerate(code) if step.offset <= offset), default=0)
    # The unpacked object is not one of the targets
    taken = sorted({*_steps_within(code, code[at]), *_steps_within(code, code[at - 1])})
    yield from (call for call in _calls_among(frame, code, taken) if call.givesNone())
    for name in {code[n].argument for n in taken if code[n].does in _LOADS}:
        if frame.f_locals.get(name, name) is None:
            for n, step in enumerate(code):
                if n and step.does in _STORES and step.argument == name:
                    yield from _calls_among(frame, code, _steps_within(code, code[n - 1]))


def _calls_among(frame: FrameType, code: list[Step], among: list[int]) -> Iterator[_Call]:
    for n in among:
        if code[n].does is Does.LOAD_ATTRIBUTE and code[n].argument in _CALLS:
            path = [code[n].argument]
            while n and code[n - 1].does is Does.LOAD_ATTRIBUTE:
                n -= 1
                path.insert(0, code[n].argument)
            root = code[n - 1]
            if root.does in _LOADS:
                receiver = _found(frame, [root.argument, *path[:-1]])
                if type(receiver).__module__.startswith(_OURS):
                    yield _Call(receiver, [root.argument, *path])


def _steps_within(code: list[Step], whole: Step) -> list[int]:
    """The numbers of the steps of the expression of ``whole``."""
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


_LOADS = (Does.LOAD_VARIABLE, Does.LOAD_ENCLOSING, Does.LOAD_GLOBAL)
_STORES = (Does.STORE_VARIABLE, Does.STORE_ENCLOSING, Does.STORE_GLOBAL)
