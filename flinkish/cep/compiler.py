"""Compiles a pattern to the states and transitions of an NFA (Flink: ``NFACompiler``).

The pattern is walked from its last stage to its first, so that each state knows the one that
follows. A stage becomes one state or several: a looping stage has a state that takes events
repeatedly, a stage with ``times`` one state for each time, an optional stage a second state that
has no way past the stage. Stages that accept no event become conditions: of a *stop* state, which
ends the partial match, or at the end of the pattern of a *pending* state, which completes the match
once the time is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flinkish.api.errors import MalformedPatternError
from flinkish.cep.conditions import ALWAYS, And, Condition, negated
from flinkish.cep.pattern import GroupPattern, Pattern, WithinType
from flinkish.cep.quantifier import ConsumingStrategy, QuantifierProperty
from flinkish.cep.states import (
    DELIMITER,
    Action,
    CompiledPattern,
    State,
    StateTransition,
    StateType,
    stage_of,
)

END = "$endState$"
"""The name of the final state, which no stage can have."""

AnyPattern = Pattern[Any, Any]


def compile_pattern(pattern: AnyPattern) -> CompiledPattern:
    """The NFA of ``pattern``. Raises MalformedPatternError if the pattern has none."""
    check_names(pattern)
    check_skip_strategy(pattern)
    compiled = _Compiler(pattern).compiled()
    reached = [compiled.start]
    """The states that can be reached without an event."""
    for state in reached:
        if state.type is StateType.STOP:
            raise MalformedPatternError(
                f"the stage {state.stage!r} accepts no event, and all stages before it are optional, which"
                " Flink does not support. Make one of the stages in the group necessary, or use two"
                " patterns, one with the group and one without."
            )
        targets = [
            compiled.byName[t.target] for t in state.transitions if t.action is Action.PROCEED
        ]
        reached += [target for target in targets if target not in reached]
    return compiled


def check_names(pattern: AnyPattern) -> None:
    """Raises MalformedPatternError if two stages have the same name."""
    used = {END}
    for name in _names_in(pattern):
        if name in used:
            raise MalformedPatternError(
                f"the pattern has two stages of the name {name!r}, so a match could not tell their events"
                " apart. Give each stage a different name."
                if name != END
                else f"the name {END!r} stands for the end of the pattern. Give the stage another."
            )
        used.add(name)


def _names_in(pattern: AnyPattern | None) -> list[str]:
    names: list[str] = []
    while pattern is not None:
        if isinstance(pattern, GroupPattern):
            names.extend(_names_in(pattern.getRawPattern()))
        else:
            names.append(pattern.getName())
        pattern = pattern.getPrevious()
    return names


def check_skip_strategy(pattern: AnyPattern) -> None:
    """Raises MalformedPatternError if the skip strategy names a stage that does not exist."""
    name = pattern.getAfterMatchSkipStrategy().getPatternName()
    if name is None:
        return
    stages: list[str] = []
    stage: AnyPattern | None = pattern
    while stage is not None:
        stages.append(stage.getName())
        stage = stage.getPrevious()
    if name not in stages:
        kind = pattern.getAfterMatchSkipStrategy().kind.value
        raise MalformedPatternError(
            f"{kind}: the pattern has no stage {name!r} outside of its groups; it has"
            f" {', '.join(map(repr, reversed(stages)))}. Name one of these."
        )


@dataclass
class _Edge:
    """A transition whose condition may still be narrowed."""

    action: Action
    target: _Draft
    condition: Condition


@dataclass(eq=False)
class _Draft:
    """A state under construction."""

    name: str
    type: StateType
    transitions: list[_Edge] = field(default_factory=list)

    def add(self, action: Action, target: _Draft, condition: Condition) -> None:
        self.transitions.append(_Edge(action, target, condition))

    def state(self) -> State:
        """The finished state, once all states exist."""
        edges = (StateTransition(e.action, e.target.name, e.condition) for e in self.transitions)
        return State(self.name, self.type, tuple(edges))


class _Compiler:
    """Compiles one pattern. ``_current`` is the stage that the walk has reached, ``_following`` the
    stage visited before it, ``_group`` the group that contains the stage."""

    def __init__(self, pattern: AnyPattern) -> None:
        self._last = self._current = pattern
        self._following: AnyPattern | None = None
        self._group: GroupPattern[Any, Any] | None = None
        self._states: list[_Draft] = []
        self._names: set[str] = set()
        self._stop_states: dict[str, _Draft] = {}
        self._window_time: int | None = None
        self._window_times: dict[str, int] = {}
        self._first_of_loop: dict[int, bool] = {}
        self._copies: dict[str, _Draft] = {}

    def compiled(self) -> CompiledPattern:
        end = self._state(END, StateType.FINAL)
        self._window_time = _millis(self._last, WithinType.FIRST_AND_LAST)
        start = self._convert(self._middle_states(end))
        start.type = StateType.START
        self._check_window_times()
        states = tuple(draft.state() for draft in self._states)
        return CompiledPattern(states, self._window_time or 0, dict(self._window_times))

    def _check_window_times(self) -> None:
        window = self._window_time
        if window is not None and any(time > window for time in self._window_times.values()):
            raise MalformedPatternError(
                f"within: a stage may come {max(self._window_times.values())} ms after the one before, but"
                f" the whole match may take {window} ms only. Shorten the first, or lengthen the second."
            )
        last = self._last
        ends_with_not = _strategy(last) is ConsumingStrategy.NOT_FOLLOW
        # As in Flink, a negative time of the whole match passes here, although it is not a limit
        if ends_with_not and self._window_times.get(last.getName(), 0) <= 0 and not window:
            raise MalformedPatternError(
                f"notFollowedBy: the pattern ends with {last.getName()!r}, which nobody can wait for without"
                " a time. Call within(Duration) on it, or append a stage."
            )

    # ------------------------------------------------------------------ the walk

    def _middle_states(self, sink: _Draft) -> _Draft:
        """Create the states of all stages but the first, and return the first of these states."""
        while (previous := self._current.getPrevious()) is not None:
            sink = self._middle_state(sink)
            self._following, self._current = self._current, previous
            window = _millis(previous, WithinType.FIRST_AND_LAST)
            if window is not None and (self._window_time is None or window < self._window_time):
                self._window_time = window
        return sink

    def _middle_state(self, sink: _Draft) -> _Draft:
        strategy = _strategy(self._current)
        if strategy is ConsumingStrategy.NOT_FOLLOW:
            step = _millis(self._current, WithinType.PREVIOUS_AND_CURRENT)
            waits = step is not None or (self._window_time or 0) > 0
            if sink.type is not StateType.FINAL or not waits:
                return sink  # earlier states get a transition to the stop state
            pending = self._stage_state(StateType.PENDING)
            condition = self._take_condition(self._current)
            pending.add(
                Action.PROCEED, self._stop_state(condition, self._current.getName()), condition
            )
            pending.add(Action.IGNORE, pending, negated(condition))
            return pending
        if strategy is ConsumingStrategy.NOT_NEXT:
            unwanted = self._stage_state(StateType.NORMAL)
            condition = self._take_condition(self._current)
            stop = self._stop_state(condition, self._current.getName())
            # Proceeding to the end would complete the match before the next event is seen
            action = Action.IGNORE if sink.type is StateType.FINAL else Action.PROCEED
            unwanted.add(action, sink, negated(condition))
            unwanted.add(Action.PROCEED, stop, condition)
            return unwanted
        return self._convert(sink)

    def _convert(self, sink: _Draft) -> _Draft:
        """Create the states of the current stage, which accepts events, and return the first."""
        quantifier = self._current.getQuantifier()
        if quantifier.hasProperty(QuantifierProperty.LOOPING):
            self._set_first_of_loop(False)
            looping = self._looping(self._without_transitive_nots(sink))
            self._set_first_of_loop(True)
            first = self._times(looping, sink)
        elif quantifier.hasProperty(QuantifierProperty.TIMES):
            first = self._times(sink, sink)
        else:
            first = self._single(
                sink,
                sink,
                self._take_condition(self._current),
                self._ignore_condition(),
                self._is_optional,
            )
        self._add_stop_states(first)
        return first

    # ------------------------------------------------------------------ states

    def _state(self, name: str, kind: StateType) -> _Draft:
        unique, number = name, 0
        while unique in self._names:
            unique = f"{name}{DELIMITER}{number}"
            number += 1
        self._names.add(unique)
        state = _Draft(unique, kind)
        self._states.append(state)
        return state

    def _stage_state(self, kind: StateType = StateType.NORMAL) -> _Draft:
        """A state of the current stage, with its time since the event before."""
        current = self._current
        state = self._state(current.getName(), kind)
        times = current.getTimes()
        if times is None:
            window = _millis(current, WithinType.PREVIOUS_AND_CURRENT)
        else:
            window = times.windowTime if DELIMITER in state.name else None
        if window is not None:
            self._window_times[state.name] = window
        return state

    def _stop_state(self, condition: Condition, name: str) -> _Draft:
        if name not in self._stop_states:
            stop = self._stop_states[name] = self._state(name, StateType.STOP)
            stop.add(Action.TAKE, stop, condition)
        return self._stop_states[name]

    def _copy(self, state: _Draft) -> _Draft:
        copy = self._state(stage_of(state.name), state.type)
        for transition in state.transitions:
            target = copy if transition.target is state else transition.target
            copy.add(transition.action, target, transition.condition)
        return copy

    def _times(self, sink: _Draft, proceed: _Draft) -> _Draft:
        """One state for each time that the stage may accept an event."""
        times = self._current.getTimes()
        assert times is not None
        self._set_first_of_loop(False)
        until, take, ignore = self._conditions_of_loop()
        if self._is_greedy and times.from_ != times.to:
            if until is not None:
                self._copies[sink.name] = self._copy(sink)
            _add_to_conditions(sink, negated(take))
        first = sink
        for number in range(times.to - 1):
            beyond = number < times.to - times.from_
            first = self._single(first, proceed if beyond else None, take, ignore, beyond)
            self._add_stop_state_to_loop(first)
        self._set_first_of_loop(True)
        return self._single(first, proceed, take, self._ignore_condition(), self._is_optional)

    def _conditions_of_loop(self) -> tuple[Condition | None, Condition, Condition | None]:
        """The until condition of a stage that repeats, and when it takes and ignores events."""
        until = self._current.getUntilCondition()
        take = _until(self._take_condition(self._current), until, takes=True)
        assert take is not None
        return until, take, _until(self._ignore_condition(inner=True), until, takes=False)

    def _single(
        self,
        sink: _Draft,
        proceed: _Draft | None,
        take: Condition,
        ignore: Condition | None,
        optional: bool,
    ) -> _Draft:
        """A state that takes one event, or the states of a group. ``proceed``: the state after it,
        if it is ``optional``."""
        current = self._current
        if isinstance(current, GroupPattern):
            first = self._inside(current, sink)
            if optional and proceed is not None:
                first.add(Action.PROCEED, proceed, self._always)
            return first
        single = self._stage_state()
        after = self._without_transitive_nots(sink)
        single.add(Action.TAKE, after, take)
        if optional:
            assert proceed is not None
            self._add_proceed(single, proceed)
        if ignore is not None:
            if optional or self._heads_optional_group:
                # A second state without a way past the stage, so that a match branches there only
                # once
                self._add_stop_states(self._waiting(single, after, take, ignore))
            else:
                single.add(Action.IGNORE, single, ignore)
        return single

    def _add_proceed(self, state: _Draft, target: _Draft) -> None:
        """Let matches go on from ``state``, those of a greedy stage as its until condition says."""
        always, until = self._always, self._current.getUntilCondition()
        if not self._is_greedy or until is None:
            state.add(Action.PROCEED, target, always)
            return
        if target.name not in self._copies:
            raise MalformedPatternError(
                f"until: {self._current.getName()!r} is greedy, optional and follows a stage that accepts"
                " no event, where Flink's NFA is not complete. Leave out greedy()."
            )
        state.add(Action.PROCEED, self._copies[target.name], And(always, until))
        state.add(Action.PROCEED, target, And(always, negated(until)))

    def _waiting(self, state: _Draft, target: _Draft, take: Condition, ignore: Condition) -> _Draft:
        """A state that matches of ``state`` wait in until an event takes them to ``target``."""
        waiting = self._state(self._current.getName(), StateType.NORMAL)
        waiting.add(Action.TAKE, target, take)
        waiting.add(Action.IGNORE, waiting, ignore)
        state.add(Action.IGNORE, waiting, ignore)
        return waiting

    def _looping(self, sink: _Draft) -> _Draft:
        """A state that takes any number of events."""
        current = self._current
        if isinstance(current, GroupPattern):
            return self._looping_group(current, sink)
        until, take, ignore = self._conditions_of_loop()
        looping = self._stage_state()
        if self._is_greedy and until is not None:
            self._copies[sink.name] = self._copy(sink)
        self._add_proceed(looping, sink)
        if self._is_greedy:
            _add_to_conditions(sink, negated(self._take_condition(current)))
        looping.add(Action.TAKE, looping, take)
        self._add_stop_state_to_loop(looping)
        if ignore is not None:
            self._add_stop_state_to_loop(self._waiting(looping, looping, take, ignore))
        return looping

    # ------------------------------------------------------------------ groups

    def _looping_group(self, group: GroupPattern[Any, Any], sink: _Draft) -> _Draft:
        always = self._always
        again = self._stage_state()
        first = self._inside(group, again)
        first.add(Action.PROCEED, sink, always)
        again.add(Action.PROCEED, first, always)
        return first

    def _inside(self, group: GroupPattern[Any, Any], sink: _Draft) -> _Draft:
        """Create the states of the stages in ``group``, and return the first."""
        outside = self._current, self._following, self._group
        self._group, self._current = group, group.getRawPattern()
        first = self._convert(self._middle_states(sink))
        self._current, self._following, self._group = outside
        return first

    def _set_first_of_loop(self, first: bool) -> None:
        if isinstance(self._current, GroupPattern):
            self._first_of_loop[id(self._current)] = first

    @property
    def _group_is_first_of_loop(self) -> bool:
        return self._first_of_loop.get(id(self._group), True)

    @property
    def _heads_optional_group(self) -> bool:
        if self._group is None or self._current.getPrevious() is not None:
            return False
        return self._group_is_first_of_loop and _has(self._group, QuantifierProperty.OPTIONAL)

    # ------------------------------------------------------------------ stages that accept no event

    def _not_conditions(self) -> list[tuple[Condition, str]]:
        """The conditions that must not hold before the current stage, with the names of their stages:
        negated stages right before it, and those before optional stages."""
        found: list[tuple[Condition, str]] = []
        previous = self._current.getPrevious()
        while previous is not None:
            unwanted = _strategy(previous) is ConsumingStrategy.NOT_FOLLOW
            if not unwanted and not _has(previous, QuantifierProperty.OPTIONAL):
                break
            if unwanted:
                found.append((self._take_condition(previous), previous.getName()))
            previous = previous.getPrevious()
        return found

    def _add_stop_states(self, state: _Draft) -> None:
        for condition, name in self._not_conditions():
            state.add(Action.PROCEED, self._stop_state(condition, name), condition)

    def _add_stop_state_to_loop(self, state: _Draft) -> None:
        following = self._following
        if following is not None and _strategy(following) is ConsumingStrategy.NOT_FOLLOW:
            condition = self._take_condition(following)
            state.add(Action.PROCEED, self._stop_state(condition, following.getName()), condition)

    def _without_transitive_nots(self, sink: _Draft) -> _Draft:
        """``sink``, or a copy of it for matches that went through an optional stage: events that
        are forbidden before that stage are allowed after it."""
        conditions = self._not_conditions()
        if not conditions or not self._is_optional:
            return sink
        names = {name for _, name in conditions}
        copy = self._state(sink.name, sink.type)
        for transition in sink.transitions:
            target = transition.target
            if transition.action is not Action.PROCEED:
                target = copy if target is sink else target
            elif target.type is not StateType.STOP:
                target = self._without_transitive_nots(target)
            elif target.name in names:
                continue
            copy.add(transition.action, target, transition.condition)
        return copy

    # ------------------------------------------------------------------ conditions

    @property
    def _is_optional(self) -> bool:
        return _has(self._current, QuantifierProperty.OPTIONAL)

    @property
    def _is_greedy(self) -> bool:
        return _has(self._current, QuantifierProperty.GREEDY)

    @property
    def _always(self) -> Condition:
        return self._until_of_group(ALWAYS, takes=True) or ALWAYS

    def _take_condition(self, pattern: AnyPattern) -> Condition:
        condition = self._until_of_group(pattern.getCondition(), takes=True)
        assert condition is not None
        return condition

    def _ignore_condition(self, inner: bool = False) -> Condition | None:
        """The condition for ignoring events before the first of the current stage, or between those of the
        stage (``inner``); None to ignore none."""
        quantifier = self._current.getQuantifier()
        if self._group is not None and self._current.getPrevious() is None:
            quantifier = self._group.getQuantifier()
            inner = inner or not self._group_is_first_of_loop
        strategy = quantifier.innerConsumingStrategy if inner else quantifier.consumingStrategy
        condition: Condition | None = None
        if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
            condition = negated(self._current.getCondition())
        elif strategy is ConsumingStrategy.SKIP_TILL_ANY:
            condition = ALWAYS
        return self._until_of_group(condition, takes=False)

    def _until_of_group(self, condition: Condition | None, takes: bool) -> Condition | None:
        until = None if self._group is None else self._group.getUntilCondition()
        return _until(condition, until, takes)


def _until(condition: Condition | None, until: Condition | None, takes: bool) -> Condition | None:
    """``condition`` as long as ``until`` does not hold. ``takes``: the transition takes events, so
    ``until`` applies even without a condition."""
    if until is None:
        return condition
    if condition is not None:
        return And(negated(until), condition)
    return negated(until) if takes else None


def _add_to_conditions(state: _Draft, condition: Condition) -> None:
    for transition in state.transitions:
        transition.condition = And(transition.condition, condition)


def _strategy(pattern: AnyPattern) -> ConsumingStrategy:
    return pattern.getQuantifier().consumingStrategy


def _has(pattern: AnyPattern, property_: QuantifierProperty) -> bool:
    return pattern.getQuantifier().hasProperty(property_)


def _millis(pattern: AnyPattern, kind: WithinType) -> int | None:
    window = pattern.getWindowSize(kind)
    return None if window is None else window.milliseconds
