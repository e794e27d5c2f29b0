"""``StateForm``: what the state of an operator is, noted beside it and compared before it is read.

Harness, savepoints and checkpoints note the form of each operator in the same way, and compare it by ``other_form``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from flinkish.api.functions.functions import AggregateFunction

FUNCTION_STATES = "states of a function"
"""The kind of all operators whose functions ask for their states by name, which are compared one by one."""

_INTEGERS = frozenset(("Byte", "Short", "Integer", "Long", "BigInteger"))
_FLOATS = frozenset(("Float", "Double"))
_ATOMS = frozenset(
    ("String", "Boolean", "BigDecimal", "Instant", "Timestamp", "LocalDateTime")
    + ("Date", "Time", "Duration", *_INTEGERS, *_FLOATS)
)
_SEPARATOR = " to "
"""Between the types of a map's keys and values."""

_DEEPEST = 3


@dataclass(frozen=True)
class StateForm:
    """The form of an operator's state. State of one form is never read as another.

    ``kind`` is that of the operator, ``layout`` says which tables it uses where it has a choice, ``contents`` what an
    entry is, and ``keys`` the type of its keys; each is empty if it is not known. ``timers``: whether the operator
    calls anything when a timer fires. ``broadcast``: whether it has broadcast state.
    """

    kind: str
    layout: str = ""
    contents: str = ""
    keys: str = ""
    timers: bool = True
    broadcast: bool = False

    def __str__(self) -> str:
        words = [self.kind, self.layout, self.contents and f"of {self.contents}"]
        words.append(self.keys and f"by keys of the type {self.keys}")
        words.append("" if self.timers else "without timers")
        words.append("beside broadcast state" if self.broadcast else "")
        return " ".join(word for word in words if word)

    def asDict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self)

    @classmethod
    def ofDict(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """The inverse of ``asDict``; None for None, which versions without forms stored."""
        return None if fields is None else cls(**fields)

    def readableAs(self, now: StateForm, timers: bool = True) -> bool:
        """Whether an operator of the form ``now`` can go on with state of this form. ``timers``: whether there may be
        timers in it."""
        return (
            (self.kind, self.layout) == (now.kind, now.layout)
            and (self.contents == now.contents or not (self.contents and now.contents))
            and goes_on(self.keys, now.keys)
            and (now.timers or not (timers and self.timers))
            and now.broadcast >= self.broadcast
        )


def goes_on(earlier: str, now: str) -> bool:
    """Whether values of the type ``earlier`` are values of the type ``now``.

    Only basic types are told apart, of which Python's values say the same, and accumulators; the classes of other
    values decide themselves what they can be read as.
    """
    if earlier == now:
        return True
    parts, parts_now = earlier.split(_SEPARATOR), now.split(_SEPARATOR)
    if len(parts) == len(parts_now) == 2:
        return all(map(goes_on, parts, parts_now))
    if earlier.startswith(_ACCUMULATORS) and now.startswith(_ACCUMULATORS):
        return False
    if not _ATOMS.issuperset((earlier, now)):
        return True
    if now in _INTEGERS:
        return earlier in _INTEGERS
    return now in _FLOATS and (earlier in _INTEGERS or earlier in _FLOATS)


def map_type(keys: object, values: object) -> str:
    """The type of a map as it is noted; empty if neither is known."""
    known = ["" if part is None else str(part) for part in (keys, values)]
    return _SEPARATOR.join(known) if any(known) else ""


# ---------------------------------------------------------------------- accumulators

_ACCUMULATORS = "accumulators "


def accumulators(function: AggregateFunction[Any, Any, Any]) -> str:
    """The type of the accumulators of ``function``, taken from the one that it creates.

    In Flink the serializer of the accumulator says whether another function may go on with it. Python's values have
    none: an accumulator of the same shape goes on, and numbers are one kind.
    """
    try:
        return f"{_ACCUMULATORS}like {_shape(function.createAccumulator())}"
    except Exception:  # a function that has to be opened first
        return ""


def _shape(value: Any, depth: int = 0) -> str:
    if type(value) in (int, float):
        return "number"
    if type(value) is tuple and depth < _DEEPEST:
        return f"({', '.join(_shape(part, depth + 1) for part in value)})"
    return "None" if value is None else type(value).__qualname__
