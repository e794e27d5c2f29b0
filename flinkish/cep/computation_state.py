"""``ComputationState``: the position of a partial match in the NFA, and its version number."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.cep.after_match import EventId

Version: TypeAlias = tuple[int, ...]
"""A Dewey number: one digit for each event of the match, to distinguish branches (Flink:
``DeweyNumber``)."""

NodeId: TypeAlias = tuple[EventId, str]
"""An event in the shared buffer, accepted by the stage of that name."""

LAST: EventId = (MAX_TIMESTAMP, 2**31 - 1)
"""Orders states without an event after all others."""

NO_TIME = -1
"""The times of a match that has no event, as in Flink."""


class ComputationState(NamedTuple):
    """A partial match (Flink: the class of this name). It is stored as a plain tuple.

    ``state`` is the name of the state that the match waits in, ``node`` the event that it accepted
    last. ``started`` is its first event; ``startTimestamp`` and ``previousTimestamp`` are the
    timestamps of its first and last event, in ms.
    """

    state: str
    node: NodeId | None
    version: Version
    started: EventId | None = None
    startTimestamp: int = NO_TIME
    previousTimestamp: int = NO_TIME

    @property
    def order(self) -> EventId:
        """The key by which partial matches are sorted."""
        return self.started or LAST


def increased(version: Version, by: int) -> Version:
    """``version`` with its last digit raised.

    >>> increased((1, 0), 2)
    (1, 2)
    """
    return (*version[:-1], version[-1] + by)


def compatible(version: Version, edge: Version) -> bool:
    """Whether a match with ``version`` may have come along an edge with the version ``edge``: that
    must be a prefix of ``version``, or equal to it except for a last digit that is not higher.

    >>> compatible((1, 0, 2), (1, 0))
    True
    >>> compatible((1, 0), (1, 1))
    False
    """
    length, other = len(version), len(edge)
    if length > other:
        return version[:other] == edge
    return length == other and version[:-1] == edge[:-1] and version[-1] >= edge[-1]
