"""The number of events that a stage accepts, and the events allowed between them (Flink:
``Quantifier``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from flinkish.api.errors import MalformedPatternError


class ConsumingStrategy(Enum):
    """The events allowed between two events of a match (Flink: the enum of this name)."""

    STRICT = "next"
    SKIP_TILL_NEXT = "followedBy"
    SKIP_TILL_ANY = "followedByAny"
    NOT_FOLLOW = "notFollowedBy"
    NOT_NEXT = "notNext"


class QuantifierProperty(Enum):
    """The properties of a quantifier (Flink: the enum of this name)."""

    SINGLE = "SINGLE"
    LOOPING = "LOOPING"
    TIMES = "TIMES"
    OPTIONAL = "OPTIONAL"
    GREEDY = "GREEDY"


NEGATIVE = (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)
"""The strategies of stages that accept no event."""


@dataclass
class Quantifier:
    """The quantifier of a stage.

    ``consumingStrategy`` applies between the previous stage and the first event of this stage,
    ``innerConsumingStrategy`` between the events of this stage.
    """

    consumingStrategy: ConsumingStrategy
    properties: set[QuantifierProperty] = field(default_factory=lambda: {QuantifierProperty.SINGLE})
    innerConsumingStrategy: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT

    def hasProperty(self, property: QuantifierProperty) -> bool:  # noqa: A002 - Flink's name
        """Whether the quantifier has ``property``."""
        return property in self.properties

    @property
    def isNegative(self) -> bool:
        """Whether the stage was appended by ``notNext`` or ``notFollowedBy``."""
        return self.consumingStrategy in NEGATIVE

    def between(self, method: str, stage: str, strategy: ConsumingStrategy) -> None:
        """Set the events that may come between those of the stage."""
        if self.hasProperty(QuantifierProperty.SINGLE):
            raise MalformedPatternError(
                f"{method}: {stage} accepts one event, so nothing lies between its events. Call"
                f" oneOrMore(), times(...) or timesOrMore(...) before {method}()."
            )
        if self.innerConsumingStrategy is not ConsumingStrategy.SKIP_TILL_NEXT:
            strict = self.innerConsumingStrategy is ConsumingStrategy.STRICT
            earlier = "consecutive" if strict else "allowCombinations"
            raise MalformedPatternError(
                f"{method}: {earlier}() was called on {stage} before. Call one of consecutive() and"
                " allowCombinations(), once."
            )
        self.innerConsumingStrategy = strategy

    def optional(self, stage: str) -> None:
        """Allow matches without the stage."""
        if self.hasProperty(QuantifierProperty.OPTIONAL):
            raise MalformedPatternError(f"optional: {stage} is optional already. Call it once.")
        if self.isNegative:
            raise MalformedPatternError(
                f"optional: {stage} accepts no event, so it cannot be optional. Leave out optional()."
            )
        self.properties.add(QuantifierProperty.OPTIONAL)

    def greedy(self, stage: str) -> None:
        """Let the stage accept as many events as it can."""
        if self.innerConsumingStrategy is ConsumingStrategy.SKIP_TILL_ANY:
            raise MalformedPatternError(
                f"greedy: {stage} allows combinations, of which none is the longest. Leave out"
                " allowCombinations() or greedy()."
            )
        if self.hasProperty(QuantifierProperty.SINGLE):
            raise MalformedPatternError(
                f"greedy: {stage} accepts one event, so there is nothing to prolong. Call oneOrMore(),"
                " times(...) or timesOrMore(...) before greedy()."
            )
        self.properties.add(QuantifierProperty.GREEDY)


@dataclass(frozen=True)
class Times:
    """The number of events that a stage accepts (Flink: ``Quantifier.Times``): from ``from_`` to
    ``to`` times, or more if the quantifier loops. ``windowTime``: the longest time (ms) from one
    event to the next."""

    from_: int
    to: int
    windowTime: int | None = None
