"""``NFA``: matches the events of a key against a compiled pattern, as the SASE paper describes it.

Each partial match waits in a state. An event turns each into any number of others: one for each
transition that accepts the event or ignores it. Their version numbers determine which events in the
shared buffer belong to which match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from flinkish.api.errors import IllegalStateError, MalformedPatternError
from flinkish.api.time.durations import to_long
from flinkish.cep.after_match import AfterMatchSkipStrategy, EventId
from flinkish.cep.computation_state import ComputationState, MatchQueue, increased
from flinkish.cep.conditions import InstanceOf, UserCondition, parts_of
from flinkish.cep.evaluation import Evaluation, Evaluator, Event, MatchContext, Verdicts
from flinkish.cep.shared_buffer import Match, SharedBuffer
from flinkish.cep.states import Action, CompiledPattern, State, StateType

Values = dict[str, list[Any]]
"""The elements of a match by stage."""

TimedOut = tuple[Values, int]
"""A partial match that took too long, and the time in ms at which it did."""


@dataclass(eq=False, slots=True)
class NFAState:
    """The state of a key in the NFA, with its shared buffer (Flink: the class of this name)."""

    partial: MatchQueue
    completed: MatchQueue
    buffer: SharedBuffer
    started: bool = False
    """Whether a match has begun since the state was restored."""
    changed: bool = False

    def kept(self) -> tuple[Any, ...]:
        """The state as plain values."""
        partial, completed = map(tuple, self.partial), map(tuple, self.completed)
        return list(partial), list(completed), *self.buffer.contents()

    @staticmethod
    def restored(kept: tuple[Any, ...]) -> NFAState:
        partial, completed, *contents = kept
        make = ComputationState._make
        return NFAState(
            MatchQueue(list(map(make, partial))),
            MatchQueue(list(map(make, completed))),
            SharedBuffer(*contents),
        )


FAR = 2**62
"""Beyond it, the time since a match began may not fit into 64 bits."""

MOST_VISITS = 100
"""How often each state of a pattern may be visited on average for one event before this counts as
an endless cycle."""


class _Edge(NamedTuple):
    """A transition; ``stage`` is the stage of the state that it leaves."""

    action: Action
    stage: str
    target: State
    holds: Evaluation


class NFA:
    """Runs a compiled pattern (Flink: ``NFA``). It is stateless: the methods work on the
    state of a key.

    ``clock`` gives the processing time to conditions; ``handlesTimeouts``: whether the matches that
    took too long are needed.
    """

    def __init__(
        self,
        compiled: CompiledPattern,
        strategy: AfterMatchSkipStrategy,
        operator: str,
        clock: Callable[[], int],
        handlesTimeouts: bool,
    ) -> None:
        self.windowTime = compiled.windowTime
        self._compiled = compiled
        self._states = compiled.byName
        self._strategy = strategy
        self._clock = clock
        self._handles_timeouts = handlesTimeouts
        self.conditions = compiled.conditions
        """The user's conditions, in the order of verdicts."""
        self._most_visits = MOST_VISITS * len(compiled.states)
        evaluator = Evaluator(operator, self.conditions)
        self._edges = {
            state.name: [
                _Edge(
                    edge.action,
                    state.stage,
                    self._states[edge.target],
                    evaluator.evaluation(edge.condition),
                )
                for edge in state.transitions
            ]
            for state in compiled.states
        }

        self._alike = frozenset(filter(self._asks_the_event_alone, self._states))

    def _asks_the_event_alone(self, name: str) -> bool:
        """Whether all matches in a state can take the same transitions for an event."""
        open_ends, seen = [name], {name}
        while open_ends:
            for edge in self._states[open_ends.pop()].transitions:
                parts = parts_of(edge.condition)
                if any(isinstance(part, UserCondition) and part.iterative for part in parts):
                    return False
                if edge.action is Action.PROCEED and edge.target not in seen:
                    seen.add(edge.target)
                    open_ends.append(edge.target)
        return True

    def initialState(self) -> NFAState:
        """The state of a key without events."""
        first = ComputationState(self._compiled.start.name, None, (1,))
        return NFAState(MatchQueue([first]), MatchQueue(), SharedBuffer())

    # ------------------------------------------------------------------ events

    @cached_property
    def leavesOut(self) -> bool:
        """Whether inert events may be left out, as only their times can matter: the transitions of a
        match depend on nothing but the event and the time limit of the whole match."""
        states = self._compiled.states
        times = self._compiled.windowTimes or any(
            state.type is StateType.PENDING for state in states
        )
        types = any(
            isinstance(part, InstanceOf)
            for state in states
            for edge in state.transitions
            for part in parts_of(edge.condition)
        )
        return len(self._alike) == len(self._states) and not times and not types

    def isInert(self, verdicts: Verdicts) -> bool:
        """Whether an event with these verdicts leaves every match unchanged: it begins no match,
        and all others ignore it."""
        # All conditions have verdicts, so neither the event nor the match is read
        context = MatchContext(
            Event(None, 0, list(verdicts)), _NOWHERE, SharedBuffer(), self._clock
        )
        for state in self._compiled.states:
            if state.type in (StateType.FINAL, StateType.STOP):
                continue
            edges = self._open_edges(state.name, context)
            if state.type is StateType.START:
                if edges:
                    return False
            elif [(edge.action, edge.target) for edge in edges] != [(Action.IGNORE, state)]:
                return False
        return True

    def process(
        self, state: NFAState, value: Any, timestamp: int, verdicts: Verdicts | None = None
    ) -> list[Values]:
        """The matches that the next event completes. ``verdicts``: the known results of the
        conditions."""
        asked = repeat(None, len(self.conditions)) if verdicts is None else verdicts
        event = Event(value, timestamp, list(asked))
        buffer, matches = state.buffer, state.partial.heap
        step = _Step(buffer, event)
        known: dict[str, list[_Edge]] = {}
        # None as long as the event has left all matches unchanged
        partial: MatchQueue | None = None
        potential = MatchQueue()
        for number, match in enumerate(matches):
            context = MatchContext(event, match, buffer, self._clock)
            edges = known.get(match.state)
            if edges is None:
                edges = self._open_edges(match.state, context)
                if match.state in self._alike:
                    known[match.state] = edges
            if self._stays(match, edges, buffer):
                if partial is not None:
                    partial.add(match)
                continue
            if partial is None:
                partial = MatchQueue(matches[:number])
            self._move(state, match, edges, context, step, partial, potential)
        if partial is None:
            return []
        found = self._completed(state, potential, partial)
        state.partial = partial
        step.close()
        return found

    def _move(
        self,
        state: NFAState,
        match: ComputationState,
        edges: list[_Edge],
        context: MatchContext,
        step: _Step,
        partial: MatchQueue,
        potential: MatchQueue,
    ) -> None:
        """Add the followers of ``match`` to the ``partial`` matches, or to the ``potential`` ones,
        which may be complete."""
        state.changed = True
        began = self._states[match.state].type is StateType.START
        discarded = False
        retained = []
        for follower in self._followers(match, edges, context, step):
            if began and follower.startTimestamp > 0:
                state.started = True
            reached = self._states[follower.state]
            if reached.type is StateType.FINAL:
                potential.add(follower)
            elif reached.type is StateType.STOP:
                discarded = True
                self._release(state.buffer, follower)
            else:
                retained.append(follower)
        for follower in retained:
            if discarded:
                self._release(state.buffer, follower)
            else:
                partial.add(follower)

    def _nothing_ends(self, state: NFAState, timestamp: int) -> bool:
        """Whether no match ends at ``timestamp``, because the one that began first does not."""
        if self._compiled.windowTimes or timestamp > FAR:
            return False
        earliest = state.partial.peek()
        return earliest is None or self._deadline(earliest, timestamp) is None

    def advanceTime(self, state: NFAState, timestamp: int) -> tuple[list[Values], list[TimedOut]]:
        """The matches that end because no event before ``timestamp`` will follow: those that are
        complete by that, and those that took too long."""
        if self._nothing_ends(state, timestamp):
            state.buffer.advanceTime(timestamp)
            return [], []
        partial, potential = MatchQueue(), MatchQueue()
        timed_out: list[TimedOut] = []
        for match in state.partial:
            deadline = self._deadline(match, timestamp)
            if deadline is None:
                partial.add(match)
                continue
            state.changed = True
            if self._states[match.state].type is StateType.PENDING:
                potential.add(match)
                continue
            if self._handles_timeouts:
                events = state.buffer.extractOne(match.node, match.version)
                timed_out.append((state.buffer.values(events), deadline))
            self._release(state.buffer, match)
        found = self._completed(state, potential, partial)
        state.partial = partial
        state.buffer.advanceTime(timestamp)
        return found, timed_out

    def firstEnd(self, state: NFAState) -> int | None:
        """The time at which the match that began first has taken the time limit of a whole match,
        which there must be; None if no match has begun."""
        earliest = state.partial.peek()
        if earliest is None or earliest.started is None:
            return None
        return earliest.startTimestamp + self.windowTime

    def _deadline(self, match: ComputationState, timestamp: int) -> int | None:
        """The time limit of ``match``, if ``timestamp`` has reached it."""
        if self._states[match.state].type is StateType.START:
            return None
        step = self._compiled.windowTimes.get(match.state, 0)
        # Java's arithmetic: at the end of the input, the difference to a negative time wraps around
        if step > 0 and to_long(timestamp - match.previousTimestamp) >= step:
            return match.previousTimestamp + step
        whole = self.windowTime
        if whole > 0 and to_long(timestamp - match.startTimestamp) >= whole:
            return match.startTimestamp + whole
        return None

    # ------------------------------------------------------------------ completed matches

    def _completed(
        self, state: NFAState, potential: MatchQueue, partial: MatchQueue
    ) -> list[Values]:
        """The complete matches; the skip strategy drops others after each. With a skip strategy,
        matches wait for those that began earlier."""
        found: list[Values] = []
        completed, buffer, skips = state.completed, state.buffer, self._strategy.isSkipStrategy()
        for match in potential:
            completed.add(match)
        while (first := completed.peek()) is not None:
            if skips:
                earliest = partial.peek()
                if earliest is not None and first.order > earliest.order:
                    break
            state.changed = True
            completed.poll()
            ways = [] if first.node is None else buffer.extract(first.node, first.version)
            if not ways:
                raise IllegalStateError(
                    f"the match that began at {first.startTimestamp} has lost its events. The state of the"
                    " pattern is of another version of it: begin anew."
                )
            if skips:
                self._prune(buffer, partial, ways)
                self._prune(buffer, completed, ways)
            found.append(buffer.values(ways[0]))
            self._release(buffer, first)
        return found

    def _prune(self, buffer: SharedBuffer, queue: MatchQueue, ways: list[Match]) -> None:
        strategy = self._strategy
        found = [until for way in ways if (until := strategy.pruneUntil(way)) is not None]
        if not found:
            return
        until = min(found) if strategy.keepsEarliest else max(found)

        def dropped(match: ComputationState) -> bool:
            return match.started is not None and strategy.shouldPrune(match.started, until)

        for match in queue:
            if dropped(match):
                self._release(buffer, match)
        queue.removeIf(dropped)

    # ------------------------------------------------------------------ transitions

    def _followers(
        self, match: ComputationState, edges: list[_Edge], context: MatchContext, step: _Step
    ) -> list[ComputationState]:
        """The partial matches that follow from ``match`` along ``edges``."""
        buffer, event = step.buffer, step.event
        current = self._states[match.state]
        takes = sum(edge.action is Action.TAKE for edge in edges)
        ignores = sum(edge.action is Action.IGNORE and edge.target is not current for edge in edges)
        takes_left = takes_to_skip = max(0, takes - 1)
        ignores_left = ignores
        version, node = match.version, match.node
        begins = current.type is StateType.START
        followers: list[ComputationState] = []
        for edge in edges:
            if edge.action is Action.TAKE:
                taken = increased(version, takes_left)
                takes_left -= 1
                name = buffer.put(edge.stage, step.eventId(), node, taken)
                started = event.timestamp if begins else match.startTimestamp
                follower = ComputationState(
                    edge.target.name,
                    name,
                    (*taken, 0),
                    step.eventId() if begins else match.started,
                    started,
                    event.timestamp,
                )
                self._add(buffer, followers, follower)
                # The end can be reached without another event: the match is complete as well
                for final in self._open_edges(edge.target.name, context, toFinal=True):
                    complete = follower._replace(state=final.target.name)
                    self._add(buffer, followers, complete)
            elif not begins:
                if edge.target is current:
                    follower = match._replace(version=increased(version, _branches(ignores, takes)))
                else:
                    passed = increased(version, takes_to_skip + ignores_left)
                    ignores_left -= 1
                    follower = match._replace(state=edge.target.name, version=(*passed, 0))
                self._add(buffer, followers, follower)
        if begins:
            again = increased(version, _branches(ignores, takes))
            followers.append(ComputationState(match.state, None, again))
        if node is not None:
            buffer.releaseNode(node, version)
        return followers

    @staticmethod
    def _stays(match: ComputationState, edges: list[_Edge], buffer: SharedBuffer) -> bool:
        """Whether ``edges`` leave ``match`` unchanged: it does not begin, or the event is
        ignored."""
        if match.node is None:
            return not edges
        if len(edges) != 1 or edges[0].action is not Action.IGNORE:
            return False
        return edges[0].target.name == match.state and buffer.isLocked(match.node, match.version)

    def _open_edges(self, name: str, context: MatchContext, toFinal: bool = False) -> list[_Edge]:
        """The transitions that accept the event or ignore it, of the state and of the states that
        can be reached from it without an event; ``toFinal``: that to the final state instead."""
        found: list[_Edge] = []
        open_ends = [name]
        visits = 0
        while open_ends:
            visits += 1
            if visits > self._most_visits:
                raise MalformedPatternError(
                    f"the state {name!r} of the pattern leads back to itself without an event, as in a looping"
                    " group whose stages are all optional; in Flink the job would hang. Make one stage of the"
                    " group necessary, and the group optional instead."
                )
            for edge in self._edges[open_ends.pop()]:
                is_proceed = edge.action is Action.PROCEED
                if toFinal and not is_proceed:
                    continue
                if edge.holds is None or edge.holds(context):
                    if not is_proceed:
                        found.append(edge)
                    elif toFinal and edge.target.type is StateType.FINAL:
                        return [edge]
                    else:
                        open_ends.append(edge.target.name)
        return found

    @staticmethod
    def _add(
        buffer: SharedBuffer, followers: list[ComputationState], follower: ComputationState
    ) -> None:
        followers.append(follower)
        if follower.node is not None:
            buffer.lockNode(follower.node, follower.version)

    @staticmethod
    def _release(buffer: SharedBuffer, match: ComputationState) -> None:
        if match.node is not None:
            buffer.releaseNode(match.node, match.version)


@dataclass(eq=False, slots=True)
class _Step:
    """An event while it is processed: it enters the buffer when the first transition accepts it."""

    buffer: SharedBuffer
    event: Event
    _id: EventId | None = None

    def eventId(self) -> EventId:
        """The event's id in the buffer."""
        if self._id is None:
            self._id = self.buffer.registerEvent(self.event.value, self.event.timestamp)
        return self._id

    def close(self) -> None:
        """Release the event, so that only the partial matches that accepted it keep it."""
        if self._id is not None:
            self.buffer.releaseEvent(self._id)


_NOWHERE = ComputationState("", None, (1,))
"""A match for conditions on the event alone."""


def _branches(ignores: int, takes: int) -> int:
    """By how much to increase the version of a match that stays in its state."""
    return ignores + max(1, takes) if ignores or takes else 0
