"""The states and transitions of an NFA, as data (Flink: ``State``, ``StateTransition``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from flinkish.cep.conditions import Condition, UserCondition, parts_of


class StateType(Enum):
    """The kind of a state (Flink: ``State.StateType``)."""

    START = "Start"
    FINAL = "Final"
    NORMAL = "Normal"
    PENDING = "Pending"
    """Completes the match if nothing happens until its time is over."""
    STOP = "Stop"
    """Ends the partial matches that reach it."""


class Action(Enum):
    """The action of a transition on an event (Flink: ``StateTransitionAction``)."""

    TAKE = "take"
    """Accept it and go on to the target."""
    IGNORE = "ignore"
    """Go on to the target without accepting it."""
    PROCEED = "proceed"
    """Go to the target, which decides about the event."""


DELIMITER = ":"
"""Separates the name of a stage from a number in the names of its states."""


@dataclass(frozen=True, eq=False)
class StateTransition:
    """An edge of the NFA. ``target`` is the name of a state."""

    action: Action
    target: str
    condition: Condition


@dataclass(frozen=True, eq=False)
class State:
    """A node of the NFA. ``name`` is unique in the NFA."""

    name: str
    type: StateType
    transitions: tuple[StateTransition, ...]

    @property
    def stage(self) -> str:
        """The name under which a match has the events of this state."""
        return stage_of(self.name)


def stage_of(name: str) -> str:
    """The name of the stage to which the state ``name`` belongs. As in Flink it ends at a colon."""
    return name.split(DELIMITER)[0]


@dataclass(frozen=True, eq=False)
class CompiledPattern:
    """A compiled pattern. Times are in ms.

    ``windowTime``: the longest time of a match. ``windowTimes``: by the name of a state, the longest
    time since the event before. Without a limit they are 0 or negative.
    """

    states: tuple[State, ...]
    windowTime: int
    windowTimes: dict[str, int]

    @cached_property
    def byName(self) -> dict[str, State]:
        return {state.name: state for state in self.states}

    @property
    def start(self) -> State:
        """The state in which matches begin."""
        return next(state for state in self.states if state.type is StateType.START)

    @cached_property
    def conditions(self) -> tuple[UserCondition, ...]:
        """The user's conditions, each once."""
        found = {
            id(part): part
            for state in self.states
            for transition in state.transitions
            for part in parts_of(transition.condition)
            if isinstance(part, UserCondition)
        }
        return tuple(found.values())

    @property
    def isBounded(self) -> bool:
        """Whether every partial match ends at some time, or there are none."""
        if self.windowTime > 0 or any(time > 0 for time in self.windowTimes.values()):
            return True
        waiting = (StateType.NORMAL, StateType.PENDING)
        return not any(state.type in waiting for state in self.states)

    def layout(self) -> str:
        """A text that is equal for NFAs with the same states and transitions, whatever their
        conditions."""
        edges = {
            state.name: ", ".join(
                f"{edge.action.value} {edge.target}" for edge in state.transitions
            )
            for state in self.states
            if state.transitions
        }
        return "; ".join(f"{name}({of_state})" for name, of_state in edges.items())
