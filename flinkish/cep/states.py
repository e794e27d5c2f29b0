"""The states and transitions of an NFA, as data (Flink: ``State``, ``StateTransition``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from flinkish.cep.conditions import Condition, UserCondition, tests_in


class StateType(Enum):
    """What a state is (Flink: ``State.StateType``)."""

    START = "Start"
    FINAL = "Final"
    NORMAL = "Normal"
    PENDING = "Pending"
    """Final, if nothing happens until the time of the match is over."""
    STOP = "Stop"
    """Ends the partial matches that reach it."""


class Action(Enum):
    """What a transition does with the event (Flink: ``StateTransitionAction``)."""

    TAKE = "take"
    """Accept it and go on to the target."""
    IGNORE = "ignore"
    """Go on to the target without it."""
    PROCEED = "proceed"
    """Go to the target first, and let that decide."""


DELIMITER = ":"
"""Stands between the name of a stage and a number in the names of the states of one stage."""


@dataclass(frozen=True, eq=False)
class StateTransition:
    """An edge of the NFA. ``target`` is the name of a state."""

    action: Action
    target: str
    condition: Condition


@dataclass(frozen=True, eq=False)
class State:
    """A node of the NFA. ``name`` is unique in it."""

    name: str
    type: StateType
    transitions: tuple[StateTransition, ...]

    @property
    def isStart(self) -> bool:
        """Whether matches begin here."""
        return self.type is StateType.START

    @property
    def isFinal(self) -> bool:
        """Whether it completes a match."""
        return self.type is StateType.FINAL

    @property
    def isStop(self) -> bool:
        """Whether it ends partial matches."""
        return self.type is StateType.STOP

    @property
    def isPending(self) -> bool:
        """Whether it completes a match once the time is over."""
        return self.type is StateType.PENDING

    @property
    def stage(self) -> str:
        """The name under which a match holds its events."""
        return stage_of(self.name)


def stage_of(name: str) -> str:
    """The name of the stage that the state ``name`` is of. As in Flink that ends at a colon."""
    return name.split(DELIMITER)[0]


@dataclass(frozen=True, eq=False)
class CompiledPattern:
    """What the compiler makes of a pattern. Times are in ms.

    ``windowTime``: the longest time of a match, 0 if it has no limit. ``windowTimes``: by the name of a
    state, the longest time since the event before.
    """

    states: tuple[State, ...]
    windowTime: int
    windowTimes: dict[str, int]

    @cached_property
    def byName(self) -> dict[str, State]:
        """The states by name."""
        return {state.name: state for state in self.states}

    @property
    def start(self) -> State:
        """The state in which matches begin."""
        return next(state for state in self.states if state.isStart)

    @cached_property
    def conditions(self) -> tuple[UserCondition, ...]:
        """The user's conditions, each once."""
        found = {
            id(test): test
            for state in self.states
            for transition in state.transitions
            for test in tests_in(transition.condition)
        }
        return tuple(found.values())

    @property
    def isBounded(self) -> bool:
        """Whether partial matches end some time, or there are none."""
        if self.windowTime > 0 or self.windowTimes:
            return True
        waiting = (StateType.NORMAL, StateType.PENDING)
        return not any(state.type in waiting for state in self.states)

    def layout(self) -> str:
        """A text that is equal for NFAs with the same states and transitions, whatever their
        conditions."""
        return "; ".join(
            f"{state.name}({', '.join(_edges(state))})"
            for state in self.states
            if state.transitions
        )


def _edges(state: State) -> Iterator[str]:
    for transition in state.transitions:
        yield f"{transition.action.value} {transition.target}"
