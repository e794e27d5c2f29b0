"""``StateForm``: the form of an operator's state, stored with the state and compared before it is
restored.

Harness, savepoints and checkpoints store the form of each operator in the same way, and compare it
by ``StateForm.readableAs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from flinkish.api.functions.functions import AggregateFunction

FUNCTION_STATES = "states of a function"
"""The kind of all operators whose functions register their states by name; these are compared one
by one."""

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

    ``kind`` is that of the operator, ``layout`` the tables it uses where it has a choice,
    ``contents`` what an entry contains, and ``keys`` the type of the keys; each is empty if
    unknown. ``timers``: whether the operator calls anything when a timer fires. ``broadcast``:
    whether it has broadcast state.
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
        """The fields, for JSON."""
        return asdict(self)

    @classmethod
    def ofDict(cls, fields: Mapping[str, Any] | None) -> Self | None:
        """The inverse of ``asDict``; None for None, which versions without forms stored."""
        return None if fields is None else cls(**fields)

    def readableAs(self, now: StateForm, timers: bool = True) -> bool:
        """Whether an operator of the form ``now`` can restore state of this form. ``timers``:
        whether the state may contain timers."""
        return (
            (self.kind, self.layout) == (now.kind, now.layout)
            and (self.contents in ("", now.contents, _adopted(now)) or not now.contents)
            and goes_on(self.keys, now.keys)
            and (now.timers or not (timers and self.timers))
            and now.broadcast >= self.broadcast
        )


def _adopted(now: StateForm) -> str:
    """Other contents from which an operator of the form ``now`` continues: one of aligned windows
    moves what it finds in windows of each key."""
    return now.contents.replace(" in aligned windows", " in windows")


def goes_on(earlier: str, now: str) -> bool:
    """Whether values of the type ``earlier`` are values of the type ``now``.

    Only basic types and accumulators are compared. For other values their classes decide what they
    can be restored from.
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
    """The type of a map as a form stores it; empty if neither type is known."""
    known = ["" if part is None else str(part) for part in (keys, values)]
    return _SEPARATOR.join(known) if any(known) else ""


# ---------------------------------------------------------------------- accumulators

_ACCUMULATORS = "accumulators "


def accumulators(function: AggregateFunction[Any, Any, Any]) -> str:
    """The type of the accumulators of ``function``, taken from the one that it creates.

    In Flink the serializer of the accumulator decides whether another function can restore it.
    Python's values have no serializer: an accumulator of the same shape is restored, and all
    numbers count as one type.
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
