"""Stand-ins for the states of a keyed function.

A function that uses one entry of its maps for each element, such as ``map.get(value.name)`` and
``map.put(value.name, ...)``, does with the entry what others do with a ValueState. So its elements
are grouped by their key and the key of the entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from flinkish.api.functions.state import MapState, State
from flinkish.runtime.columns.tracing.emissions import Emitting
from flinkish.runtime.columns.tracing.expressions import Column, Constant, Expression, leaves
from flinkish.runtime.columns.tracing.stand_ins import StandIn
from flinkish.runtime.columns.tracing.symbolic_values import kept, own, taken_apart
from flinkish.runtime.columns.tracing.symbols import is_constant
from flinkish.runtime.columns.tracing.trace import Trace
from flinkish.runtime.columns.tracing.unsupported import OtherSpecialization
from flinkish.runtime.records.shapes import Shape

GROUPED_KINDS = {"int", "bool", "str"}
"""The kinds of values of which equal ones are one key of a map."""


@dataclass(frozen=True, eq=False)
class MapKey:
    """The key of an entry, computed from the columns of the element."""

    shape: Shape
    parts: tuple[Expression, ...]

    @staticmethod
    def of(trace: Trace, key: Any, width: int) -> MapKey | None:
        """``key``, which a function of elements with ``width`` columns gives to a map; None if
        elements cannot be grouped by it."""
        shape, parts = taken_apart(trace, key)
        read = leaves(*parts)
        known = all(
            isinstance(leaf, Constant) or (isinstance(leaf, Column) and leaf.number < width)
            for leaf in read
        )
        if (
            not known
            or shape.mutable
            or shape.ofClasses
            or not {p.kind for p in parts} <= GROUPED_KINDS
        ):
            return None
        return MapKey(shape, tuple(parts))

    def isLike(self, other: MapKey) -> bool:
        """Whether ``other``, of another trace, is computed in the same way."""
        return self.shape == other.shape and repr(self.parts) == repr(other.parts)


class OtherMapKey(OtherSpecialization):
    """The function uses the entries of its maps under another key than its specialization."""

    def __init__(self, key: MapKey | None) -> None:
        """``key``: None if not each element uses one entry, or if it changes other states too."""
        self.key = key


class ValueStandIn(StandIn):
    """Stands for a ``ValueState`` with the value ``start``; None: it is empty."""

    def __init__(self, trace: Trace, start: Any, default: Any) -> None:
        super().__init__(trace, "state")
        self.start = start
        self._default = default
        self.begin()

    def begin(self) -> None:
        self.current = self.start
        self.done: Literal["", "set", "cleared"] = ""

    def value(self) -> Any:
        if self.current is None and not is_constant(self._default):
            raise self._trace.unsupported("uses a state whose default value can change")
        return self._trace.constant(self._default) if self.current is None else own(self.current)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        if self.done == "cleared":
            raise self._trace.unsupported("clears a state and updates it again")
        self.current = kept(self._trace, value)
        self.done = "set"

    def clear(self) -> None:
        if self.done == "set":
            raise self._trace.unsupported("updates a state and clears it again")
        if self.start is not None:
            self.current = None
            self.done = "cleared"


class CollectionStandIn(StandIn):
    """Stands for a ``ListState`` or ``MapState``. It can be added to, and read while it is empty."""

    def __init__(
        self, out: Emitting, state: State, number: int, empty: bool, undecided: int | None
    ) -> None:
        """``number``: the channel of ``out`` that gets what is added. ``undecided``: the number of
        columns of the element, if the function may use its maps by entry."""
        self._is_map = isinstance(state, MapState)
        super().__init__(out.trace, "map" if self._is_map else "list")
        self._out = out
        self._number = number
        self._empty = empty
        self._undecided = undecided
        self.begin()

    def begin(self) -> None:
        self.done: Literal["", "added", "cleared"] = ""

    def get(self, *keys: Any) -> Any:
        self._check_by_entry(*keys)
        self._check_empty()
        return None if self._is_key(*keys) else []

    def contains(self, *keys: Any) -> bool:
        self._check_by_entry(*keys)
        self._check_empty()
        if not self._is_key(*keys):
            raise self._trace.unsupported("uses contains of a ListState")
        return False

    def remove(self, *keys: Any) -> None:
        self._check_by_entry(*keys)
        raise self._trace.unsupported(f"uses remove of its {self._kind}")

    def add(self, *values: Any) -> None:
        if self._is_map or len(values) != 1 or values[0] is None:
            raise self._trace.unsupported("adds something to its state that a list does not take")
        self._add(values[0])

    def put(self, *entry: Any) -> None:
        if len(entry) != 2 or not self._is_key(entry[0]):
            raise self._trace.unsupported("calls a method of its state with other arguments")
        if "float" in {part.kind for part in taken_apart(self._trace, entry[0])[1]}:
            raise self._trace.unsupported(
                "puts something into a map under a float, which may be NaN"
            )
        self._add(entry)

    def _add(self, value: Any) -> None:
        if self.done == "cleared":
            raise self._trace.unsupported("clears a state and adds to it again")
        self._out.collectIn(self._number, value)
        self.done = "added"

    def clear(self) -> None:
        if self.done == "added":
            raise self._trace.unsupported("adds to a state and clears it again")
        if not self._empty:
            self.done = "cleared"

    def _check_by_entry(self, *keys: Any) -> None:
        if self._is_map and self._undecided is not None and len(keys) == 1:
            key = MapKey.of(self._trace, keys[0], self._undecided)
            if key is not None:
                raise OtherMapKey(key)

    def _check_empty(self) -> None:
        if not self._empty or self.done:
            raise self._trace.unsupported("reads a list or map state that is not empty")

    def _is_key(self, *keys: Any) -> bool:
        """Whether the state is a map, and ``keys`` a key. Raises Unsupported if the arguments are
        others."""
        if len(keys) != self._is_map:
            raise self._trace.unsupported("calls a method of its state with other arguments")
        for key in keys:
            shape, parts = taken_apart(self._trace, key)
            if shape.mutable or shape.ofClasses or {part.kind for part in parts} - _KEYS:
                raise self._trace.unsupported("asks a map for something that may not be its key")
        return self._is_map

    def __getattr__(self, attribute: str) -> Any:
        if self._is_map and attribute == "isEmpty":
            empty = self.done == "cleared" or (self._empty and not self.done)
            return lambda: empty
        if self._is_map and attribute in ("keys", "values", "entries"):
            self._check_empty()
            return lambda: iter(())
        return super().__getattr__(attribute)


_KEYS = {"int", "float", "bool", "str", "none"}
"""The kinds of values that can be a key of a map."""


class EntryStandIn(StandIn):
    """Stands for a map of which only the entry under ``key`` is used."""

    def __init__(self, trace: Trace, entry: ValueStandIn, key: MapKey, width: int) -> None:
        super().__init__(trace, "map")
        self._entry = entry
        self._key = key
        self._width = width

    def get(self, key: Any) -> Any:
        self._check(key)
        return self._entry.value()

    def contains(self, key: Any) -> bool:
        self._check(key)
        return self._entry.current is not None

    def put(self, key: Any, value: Any) -> None:
        self._check(key)
        if value is None:
            raise self._trace.unsupported("puts None into a map")
        self._entry.update(value)

    def remove(self, key: Any) -> None:
        self._check(key)
        self._entry.clear()

    def _check(self, key: Any) -> None:
        found = MapKey.of(self._trace, key, self._width)
        if found is None or not found.isLike(self._key):
            raise OtherMapKey(found)

    def __getattr__(self, attribute: str) -> Any:
        raise OtherMapKey(None)
