"""``SharedBuffer``: the events of all partial matches of a key, each kept once.

A node is an event in a stage. It points to the nodes of the events before it along edges with
version numbers: a match knows its last node and its version, and finds its events along the edges
that are compatible with that version. Nodes, edges and events are reference-counted, and removed
with the last reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from flinkish.api.errors import IllegalStateError
from flinkish.cep.after_match import EventId
from flinkish.cep.computation_state import NodeId, Version, compatible

Edge: TypeAlias = list[Any]
"""``[locks, target, version]``."""
LOCKS, TARGET, VERSION = 0, 1, 2

Node: TypeAlias = list[Any]
"""``[locks, edges]``."""
EDGES = 1

VALUE = 1
"""An event is ``[locks, value]``."""

Match: TypeAlias = dict[str, list[EventId]]
"""The events of a match by stage."""


@dataclass(eq=False, slots=True)
class SharedBuffer:
    """The shared buffer of one key (Flink: ``SharedBuffer`` and its accessor)."""

    _nodes: dict[NodeId, Node] = field(default_factory=dict)
    _events: dict[EventId, list[Any]] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=dict)
    """The number of events of a timestamp."""

    def contents(self) -> tuple[dict[Any, Any], ...]:
        """What ``__init__`` takes, to store it."""
        return self._nodes, self._events, self._counts

    # ------------------------------------------------------------------ events

    def registerEvent(self, value: Any, timestamp: int) -> EventId:
        """Add an event, locked once, until ``releaseEvent``."""
        number = self._counts.get(timestamp, 0)
        self._counts[timestamp] = number + 1
        event = timestamp, number
        self._events[event] = [1, value]
        return event

    def releaseEvent(self, event: EventId) -> None:
        """Unlock an event, and remove it if no lock is left."""
        entry = self._events.get(event)
        if entry is not None and _release(entry):
            del self._events[event]

    def advanceTime(self, timestamp: int) -> None:
        """Forget how many events there were before ``timestamp``."""
        if self._counts:
            for earlier in [time for time in self._counts if time < timestamp]:
                del self._counts[earlier]

    # ------------------------------------------------------------------ nodes

    def put(self, stage: str, event: EventId, previous: NodeId | None, version: Version) -> NodeId:
        """Add ``event`` to ``stage``, after the node ``previous``."""
        if previous is not None:
            self.lockNode(previous, version)
        name = event, stage
        node = self._nodes.get(name)
        if node is None:
            node = self._nodes[name] = [0, []]
            self._events[event][LOCKS] += 1
        node[EDGES].append([0, previous, version])
        return name

    def lockNode(self, name: NodeId, version: Version) -> None:
        """Lock a node and the edges that a match with ``version`` may take."""
        node = self._nodes.get(name)
        if node is None:
            return
        node[LOCKS] += 1
        for edge in node[EDGES]:
            if compatible(version, edge[VERSION]):
                edge[LOCKS] += 1

    def isLocked(self, name: NodeId, version: Version) -> bool:
        """Whether a node and its edges remain if a match with ``version`` locks and releases
        them."""
        node = self._nodes.get(name)
        return (
            node is not None
            and node[LOCKS] > 0
            and all(edge[LOCKS] > 0 for edge in node[EDGES] if compatible(version, edge[VERSION]))
        )

    def releaseNode(self, name: NodeId, version: Version) -> None:
        """Undo ``lockNode``, and remove whatever has no lock any more, back to the first event."""
        open_ends = [(name, version)]
        while open_ends:
            name, version = open_ends.pop()
            node = self._nodes.get(name)
            if node is None:
                return  # as in Flink, which leaves the other ends alone too
            kept = []
            for edge in node[EDGES]:
                if compatible(version, edge[VERSION]) and _release(edge):
                    if edge[TARGET] is not None:
                        open_ends.append((edge[TARGET], edge[VERSION]))
                else:
                    kept.append(edge)
            node[EDGES] = kept
            if _release(node):
                del self._nodes[name]
                self.releaseEvent(name[0])

    # ------------------------------------------------------------------ matches

    def extract(self, name: NodeId, version: Version) -> list[Match]:
        """The events of a match with ``version`` up to a node, by stage; this is one match, unless
        the version numbers allow several paths."""
        found: list[Match] = []
        if name not in self._nodes:
            return found
        # (node, version, the nodes after it from the last to the first)
        open_ends: list[tuple[NodeId | None, Version, tuple[Any, ...]]] = [(name, version, ())]
        while open_ends:
            current, reached, path = open_ends.pop()
            if current is None:
                match: Match = {}
                while path:
                    (event, stage), path = path
                    match.setdefault(stage, []).append(event)
                found.append(match)
                continue
            further = current, path
            for _, target, passed in self._nodes[current][EDGES]:
                if compatible(reached, passed):
                    open_ends.append((target, passed, further))
        return found

    def extractOne(self, name: NodeId | None, version: Version) -> Match:
        """The match at a node, empty if there is no node."""
        found = [] if name is None else self.extract(name, version)
        if len(found) > 1:
            raise IllegalStateError(
                f"the partial match at {name} has {len(found)} ways back, where only one can be right. The"
                " state of the pattern is of another version of it: begin anew."
            )
        return found[0] if found else {}

    def values(self, match: Match) -> dict[str, list[Any]]:
        """The elements of a match by stage."""
        events = self._events
        return {
            stage: [events[event][VALUE] for event in accepted] for stage, accepted in match.items()
        }


def _release(entry: list[Any]) -> bool:
    """Remove a lock, and return whether none is left."""
    if entry[LOCKS] > 0:
        entry[LOCKS] -= 1
    return bool(entry[LOCKS] == 0)
