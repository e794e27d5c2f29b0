"""The strategies for continuing after a match (Flink: the package ``aftermatch``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from flinkish.api.arguments import text
from flinkish.api.errors import IllegalStateError, InvalidProgramError

EventId: TypeAlias = tuple[int, int]
"""The timestamp of an event in ms, and its number among the events of its key with that timestamp."""


class SkipKind(Enum):
    """The strategies of Flink."""

    NO_SKIP = "noSkip"
    SKIP_TO_NEXT = "skipToNext"
    SKIP_PAST_LAST_EVENT = "skipPastLastEvent"
    SKIP_TO_FIRST = "skipToFirst"
    SKIP_TO_LAST = "skipToLast"


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """Says which partial matches are dropped when a match is found (Flink:
    ``AfterMatchSkipStrategy``).

    >>> AfterMatchSkipStrategy.skipToFirst("start").getPatternName()
    'start'
    """

    kind: SkipKind
    patternName: str | None = None
    throwsOnMiss: bool = False

    @staticmethod
    def noSkip() -> AfterMatchSkipStrategy:
        """Every possible match is emitted."""
        return AfterMatchSkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def skipToNext() -> AfterMatchSkipStrategy:
        """Drop the partial matches that started with the same event as the match."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_NEXT)

    @staticmethod
    def skipPastLastEvent() -> AfterMatchSkipStrategy:
        """Drop the partial matches that started before the match ended."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_PAST_LAST_EVENT)

    @staticmethod
    def skipToFirst(patternName: str) -> AfterMatchSkipStrategy:
        """Drop the partial matches that started before the first event of the stage
        ``patternName``."""
        name = text("skipToFirst: patternName", patternName)
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_FIRST, name)

    @staticmethod
    def skipToLast(patternName: str) -> AfterMatchSkipStrategy:
        """Drop the partial matches that started before the last event of the stage
        ``patternName``."""
        name = text("skipToLast: patternName", patternName)
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_LAST, name)

    def throwExceptionOnMiss(self) -> AfterMatchSkipStrategy:
        """The strategy that fails the job if the match has no event of the stage, or if that event is
        the one that the match began with. Only for ``skipToFirst`` and ``skipToLast``."""
        if self.patternName is None:
            raise InvalidProgramError(
                f"throwExceptionOnMiss: {self.kind.value} skips to no stage that could be missed. Call it"
                " on skipToFirst(...) or skipToLast(...)."
            )
        return AfterMatchSkipStrategy(self.kind, self.patternName, throwsOnMiss=True)

    def isSkipStrategy(self) -> bool:
        """Whether anything is dropped."""
        return self.kind is not SkipKind.NO_SKIP

    def getPatternName(self) -> str | None:
        """The stage that ``skipToFirst`` or ``skipToLast`` names."""
        return self.patternName

    @property
    def keepsEarliest(self) -> bool:
        """Whether the earliest of several results of ``pruneUntil`` counts, rather than the
        latest."""
        return self.kind is SkipKind.SKIP_TO_NEXT

    def shouldPrune(self, started: EventId, until: EventId) -> bool:
        """Whether to drop a partial match that began with the event ``started``, given the result of
        ``pruneUntil``."""
        return started < until if self.patternName is not None else started <= until

    def pruneUntil(self, match: Mapping[str, Sequence[EventId]]) -> EventId | None:
        """The event up to which partial matches are dropped after ``match``; None if none are."""
        if self.kind is SkipKind.SKIP_TO_NEXT:
            return min(events[0] for events in match.values())
        if self.kind is SkipKind.SKIP_PAST_LAST_EVENT:
            return max(events[-1] for events in match.values())
        assert self.patternName is not None
        events = match.get(self.patternName)
        if not events:
            if self.throwsOnMiss:
                raise IllegalStateError(
                    f"{self.kind.value}: the match has no event of the stage {self.patternName!r} to skip"
                    f" to; it has {', '.join(match)}. Skip to a stage that is not optional, or leave"
                    " throwExceptionOnMiss() out."
                )
            return None
        until = events[0] if self.kind is SkipKind.SKIP_TO_FIRST else events[-1]
        if self.throwsOnMiss and until == min(min(events) for events in match.values()):
            raise IllegalStateError(
                f"{self.kind.value}: the event of the stage {self.patternName!r} is the first of the match,"
                " so matching would begin with it again. Skip to a later stage, or leave"
                " throwExceptionOnMiss() out."
            )
        return until
