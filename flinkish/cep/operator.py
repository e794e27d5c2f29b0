"""``CepOperator``: runs the NFA of each key over its events, in the order of their time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cmp_to_key, partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NoReturn, TypeAlias

from flinkish.api.errors import (
    IllegalArgumentError,
    IllegalStateError,
    MissingTimestampError,
    UserFunctionError,
    said_by,
    shown,
)
from flinkish.api.functions.adapt import results_of
from flinkish.api.functions.runtime_context import RuntimeContext
from flinkish.api.functions.state import StateDescriptor
from flinkish.api.output_tag import OutputTag
from flinkish.api.time.durations import to_long
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.cep.condition_columns import ConditionColumns
from flinkish.cep.description import CepDescription
from flinkish.cep.evaluation import Verdicts
from flinkish.cep.functions import MatchCall, PatternContext
from flinkish.cep.nfa import NFA, NFAState, Values
from flinkish.runtime.columns.tracing.column_function import column_function
from flinkish.runtime.operators.base import (
    OneInputOperator,
    OperatorContext,
    StreamingRuntimeContext,
)
from flinkish.runtime.operators.keyed import TimerOperator, keyed_elements
from flinkish.runtime.operators.output import TimestampedCollector
from flinkish.runtime.operators.timers import InternalTimerService
from flinkish.runtime.records.copies import handed_out
from flinkish.runtime.records.records import NO_TIMESTAMP, Records
from flinkish.runtime.records.user_code import is_interrupt
from flinkish.runtime.registry import register_operator
from flinkish.runtime.state.backend import StateTable, Timer

NFA_STATE, EVENT_QUEUE = "nfaStateName", "eventQueuesStateName"
"""The names of the states, as in Flink."""

TIMES_LEFT_OUT = "timesOfEventsLeftOut"
"""The state with the times of waiting events that change no match. Matches end at these times."""

Waiting: TypeAlias = tuple[Any, ...]
"""A timestamp and an event, with the verdicts of its conditions, if they are known."""


_timestamp = itemgetter(0)


class CepOperator(TimerOperator, OneInputOperator):
    """Matches a pattern (Flink: ``CepOperator``).

    In event time an element waits in the queue of its key until the watermark has reached it. A key has
    a timer at its first waiting element, and one at the time limit of each match that has begun. In
    processing time an element is matched at once; with a comparator it waits until the clock has passed
    its time.
    """

    keepsRecords = True

    def __init__(self, context: OperatorContext, description: CepDescription) -> None:
        super().__init__(context)
        self._description = description
        self._late_tag = description.lateDataOutputTag
        self._compare = compare = description.comparator
        if compare is not None:
            self._order = cmp_to_key(lambda one, two: compare(one[1], two[1]))  # type: ignore[index]
        self._event_time = not description.inProcessingTime
        calls = description.calls
        self._on_match, self._on_timeout = calls.onMatch, calls.onTimeout
        self._nfa = NFA(
            description.pattern,
            description.skipStrategy,
            self.name,
            self.clock.getCurrentProcessingTime,
            handlesTimeouts=self._on_timeout is not None,
        )
        self._collector = TimestampedCollector(self.output)
        self._context = MatchOutputContext(self, self.timers, self._event_time)

        self._verdicts = ConditionColumns(
            self._nfa, partial(column_function, traces=self.tracesFunctions)
        )

    def open(self) -> None:
        # Not as user states, which store and return copies
        self._state = self.backend.table(NFA_STATE)
        self._queue = self.backend.table(EVENT_QUEUE)
        self._times = self.backend.table(TIMES_LEFT_OUT)
        for function in self._description.userFunctions:
            self.openFunction(function)

    def runtimeContext(self) -> RuntimeContext:
        return CepRuntimeContext(self)

    # ------------------------------------------------------------------ elements

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        if self._event_time:
            self._enqueue_run(records)
        elif self._compare is not None:
            now = self.timers.currentProcessingTime()
            queued: dict[Any, list[Waiting]] = {}
            for key, value, _ in keyed_elements(records):
                queued.setdefault(key, []).append((now, value))
            self._enqueue(queued)
        else:
            self._process_at_once(records)
        self.output.flush()

    def _enqueue_run(self, records: Records) -> None:
        watermark = self.currentWatermark
        records, verdicts, left_out = self._verdicts.of(records, watermark)
        queued: dict[Any, list[Waiting]] = {}
        for (key, value, timestamp), verdict in zip(keyed_elements(records), verdicts):
            if timestamp > watermark:
                events = queued.get(key)
                if events is None:
                    events = queued[key] = []
                events.append(
                    (timestamp, value) if verdict is None else (timestamp, value, verdict)
                )
            elif timestamp == NO_TIMESTAMP:
                raise MissingTimestampError(self.name, value)
            elif self._late_tag is not None:
                self.output.collectSide(self._late_tag.getId(), value, timestamp)
            else:
                self.metrics.numLateRecordsDropped += 1
        self._enqueue(queued)
        if self._nfa.windowTime > 0:
            self._enqueue_times(left_out)

    def _enqueue_times(self, leftOut: Iterable[tuple[Any, int]]) -> None:
        """Keep the times at which a match may end, of events that are left out."""
        queued: dict[Any, list[int]] = {}
        for key, timestamp in leftOut:
            queued.setdefault(key, []).append(timestamp)
        watermark = self.currentWatermark
        # A match that begins after the watermark, and after 1970, ends by its own timer, and not
        # before this time
        soonest = watermark + self._nfa.windowTime if watermark >= 0 else watermark
        for key, times in queued.items():
            kept, waiting = self._times.get(key, None, []), self._queue.get(key, None, ())
            first, last = min(times), max(times)
            if kept or waiting or last > soonest or self._state.get(key, None) is not None:
                self._times.put(key, None, kept + times)
                if first < min(chain(kept, map(_timestamp, waiting)), default=MAX_TIMESTAMP + 1):
                    self.backend.currentKey = key
                    self._register(first)

    def _enqueue(self, queued: dict[Any, list[Waiting]]) -> None:
        """Append to the queues of the keys, and set a timer where a queue begins earlier than
        before."""
        queue = self._queue
        for key, events in queued.items():
            self.backend.currentKey = key
            first = min(map(_timestamp, events))
            waiting = queue.get(key, None)
            if waiting is None:
                queue.put(key, None, events)
                self._register(first)
                continue
            if first < min(map(_timestamp, waiting)):
                self._register(first)
            waiting.extend(events)
            queue.put(key, None, waiting)

    def _process_at_once(self, records: Records) -> None:
        now = self.timers.currentProcessingTime()
        for key, value, _ in keyed_elements(records):
            self.backend.currentKey = key
            state = self._nfa_state()
            self._advance(state, now)
            self._process(state, value, now)
            self._keep(state)

    # ------------------------------------------------------------------ time

    def onEventTime(self, timer: Timer) -> None:
        self.timer = timer
        watermark = self.timers.currentWatermark()
        state = self._nfa_state()
        self._process_queue(state, watermark)
        self._advance(state, watermark)
        if len(state.partial) == 1 and not len(state.completed):
            # No match has begun: as in Flink, the key starts afresh
            self._state.remove(self.backend.currentKey, None)
        else:
            self._keep(state)

    def onProcessingTime(self, timer: Timer) -> None:
        self.timer = timer
        state = self._nfa_state()
        self._process_queue(state, None)
        self._advance(state, self.timers.currentProcessingTime())
        self._keep(state)

    def _process_queue(self, state: NFAState, until: int | None) -> None:
        """Match the waiting elements up to ``until``; the comparator orders those that have the
        same time."""
        times: list[int] = self._due(self._times, until, None)
        waiting: list[Waiting] = self._due(self._queue, until, _timestamp)
        passed, reached = 0, None
        for timestamp, value, *verdict in (
            waiting if self._compare is None else self._sorted(waiting)
        ):
            if timestamp != reached:
                passed = self._pass(state, times, passed, timestamp)
                self._advance(state, timestamp)
                reached = timestamp
            self._process(state, value, timestamp, self._verdicts.known(verdict))
        self._pass(state, times, passed, None)

    def _due(
        self, table: StateTable, until: int | None, time: Callable[[Any], int] | None
    ) -> list[Any]:
        """Take what waits in ``table`` up to ``until``, in the order of ``time``."""
        key = self.backend.currentKey
        waiting: list[Any] = table.get(key, None, [])
        waiting.sort(key=time)
        due = len(waiting) if until is None else bisect_right(waiting, until, key=time)
        later = waiting[due:]
        if later:
            table.put(key, None, later)
            self._register(later[0] if time is None else time(later[0]))
        elif waiting:
            table.remove(key, None)
        return waiting[:due]

    def _pass(self, state: NFAState, times: list[int], passed: int, until: int | None) -> int:
        """Let matches end at those of ``times`` that lie before ``until``; ``passed`` is the number
        of times that are over. Returns the new number."""
        while (end := self._nfa.firstEnd(state)) is not None:
            following = bisect_left(times, end, passed)
            if following == len(times) or (until is not None and times[following] >= until):
                break
            self._advance(state, times[following])
            passed = following + 1
        return passed

    def _sorted(self, waiting: list[Waiting]) -> Iterator[Waiting]:
        """``waiting``, which is in the order of time, with the elements of one time ordered by the
        comparator."""
        for _, group in groupby(waiting, _timestamp):
            of_one_time = list(group)
            try:
                of_one_time.sort(key=self._order)
            except BaseException as error:
                if is_interrupt(error):
                    raise
                values = [each[1] for each in of_one_time]
                raise UserFunctionError(
                    self.name, shown(values), said_by(error), "the comparator of events"
                ) from error
            yield from of_one_time

    def _register(self, timestamp: int) -> None:
        if self._event_time:
            # The running callback handles all that the watermark has reached
            if timestamp > self.timers.currentWatermark():
                self.timers.registerEventTimeTimer(None, timestamp)
        else:
            self.timers.registerProcessingTimeTimer(None, timestamp + 1)

    # ------------------------------------------------------------------ matching

    def _nfa_state(self) -> NFAState:
        kept = self._state.get(self.backend.currentKey, None)
        return self._nfa.initialState() if kept is None else NFAState.restored(kept)

    def _keep(self, state: NFAState) -> None:
        if state.changed:
            self._state.put(self.backend.currentKey, None, state.kept())

    def _process(
        self, state: NFAState, value: Any, timestamp: int, verdicts: Verdicts | None = None
    ) -> None:
        matches = self._nfa.process(state, value, timestamp, verdicts)
        if state.started and self._nfa.windowTime > 0:
            self._register(to_long(timestamp + self._nfa.windowTime))
        for match in matches:
            self._emit(self._on_match, match, timestamp)

    def _advance(self, state: NFAState, timestamp: int) -> None:
        matches, timed_out = self._nfa.advanceTime(state, timestamp)
        for match in matches:
            self._emit(self._on_match, match, timestamp)
        for partial_match in timed_out:
            assert self._on_timeout is not None
            self._emit(self._on_timeout, *partial_match)

    def _emit(self, call: MatchCall, match: Values, timestamp: int) -> None:
        context, collector = self._context, self._collector
        context.time = timestamp
        collector.timestamp = timestamp if self._event_time else NO_TIMESTAMP
        # Copies, as later matches contain some of the events too
        match = {stage: list(handed_out(events)) for stage, events in match.items()}
        with self.userCodeOf(lambda: match):
            returned = call(match, context, collector)
            if returned is not None:
                for result in results_of(returned, tuples=True, wrote=True):
                    collector.collect(result)


class CepRuntimeContext(StreamingRuntimeContext):
    """The runtime context of conditions and functions of matches, without state (Flink: the class
    of this name)."""

    def _state(self, stateProperties: StateDescriptor[Any]) -> NoReturn:
        raise IllegalStateError(
            f"{self._operator.name}: conditions and functions of matches have no keyed state, in Flink"
            " too. Keep what is needed in the pattern, or call keyBy(...).process(...) on the result."
        )


@dataclass(eq=False, slots=True)
class MatchOutputContext(PatternContext):
    """The context of PatternProcessFunctions; ``time`` is the time of the match."""

    _operator: CepOperator
    _timers: InternalTimerService
    _event_time: bool
    time: int = NO_TIMESTAMP

    def timestamp(self) -> int:
        return self.time

    def currentProcessingTime(self) -> int:
        return self._timers.currentProcessingTime()

    def output(self, outputTag: OutputTag[Any], value: Any) -> None:
        if not isinstance(outputTag, OutputTag):
            raise IllegalArgumentError(
                f"{self._operator.name}: ctx.output needs an OutputTag, not {shown(outputTag)}. Write"
                " ctx.output(tag, value)."
            )
        time = self.time if self._event_time else NO_TIMESTAMP
        self._operator.output.collectSide(outputTag.getId(), value, time)


register_operator(CepDescription, CepOperator)
