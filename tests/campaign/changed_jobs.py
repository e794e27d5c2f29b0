"""Jobs, and what may be changed in them before the next run: the two sides of the table in docs/changes.md.

A job is built of *pieces*: the columns of its elements, key, windows, trigger, evictor, function, and so on. A change
puts another piece in the place of one. ``Switched`` pieces change at an element, inside a run: the results of the two
runs must be those of one that was never interrupted, in which the pieces change at the element of the cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import flinkish as fl
from tests.campaign.changed_states import FUNCTIONS, Largest, Mean

STEP = 10
"""The time between two elements, in ms."""

MS = fl.Time.milliseconds


# ---------------------------------------------------------------------- elements

COLUMNS: dict[str, Callable[[fl.Row], fl.Row]] = {
    "three columns": lambda e: fl.Row(key=e.n % 3, value=e.n * 7 % 10, at=e.n * 10),
    "four columns": lambda e: fl.Row(key=e.n % 3, value=e.n * 7 % 10, at=e.n * 10, note=e.n % 2),
    "other order": lambda e: fl.Row(at=e.n * 10, value=e.n * 7 % 10, key=e.n % 3),
    "floats": lambda e: fl.Row(key=e.n % 3, value=e.n * 7 % 10 + 0.0, at=e.n * 10),
}

KEYS: dict[str, Any] = {
    "key": lambda e: e.key,
    "another key": lambda e: e.at // 10 % 4,
    "text key": lambda e: str(e.key),
}


# ---------------------------------------------------------------------- functions


def plus(a: fl.Row, b: fl.Row) -> fl.Row:
    return fl.Row(key=b.key, value=a.value + b.value, at=b.at)


def larger(a: fl.Row, b: fl.Row) -> fl.Row:
    return fl.Row(key=b.key, value=max(a.value, b.value), at=b.at)


def smaller(a: fl.Row, b: fl.Row) -> fl.Row:
    return fl.Row(key=b.key, value=min(a.value, b.value), at=b.at)


class DoubledMean(Mean):
    """Another function with accumulators of the same shape."""

    def add(self, value, accumulator):
        return accumulator[0] + 2 * value.value, accumulator[1] + 1


def listed(key: Any, window: Any, elements: Iterable[fl.Row]) -> list[fl.Row]:
    return [fl.Row(key=key, value=sum(e.value for e in elements), at=0)]


class Listed(fl.ProcessWindowFunction):
    def process(self, key, context, elements):
        yield fl.Row(key=key, value=sum(e.value for e in elements), at=0)


def of_result(key: Any, context: Any, elements: Iterable[fl.Row]) -> list[fl.Row]:
    (element,) = elements
    return [fl.Row(key=key, value=element.value, at=0)]


class Cleared(fl.ProcessWindowFunction):
    """Has to be notified of windows that are removed."""

    def process(self, key, context, elements):
        yield from of_result(key, context, elements)

    def clear(self, context):
        assert context.window().maxTimestamp() > 0


@dataclass(frozen=True)
class Fold:
    """A call on a keyed or a windowed stream. ``by``: the reduce or the ``add`` in it, if it can
    switch."""

    name: str
    keeps: str
    call: Callable[[Any], Any]
    by: Any = None


FOLDS = {
    fold.name: fold
    for fold in (
        Fold("reduce(+)", "value", lambda s: s.reduce(plus), plus),
        Fold("reduce(max)", "value", lambda s: s.reduce(larger), larger),
        Fold("reduce(+, process)", "value", lambda s: s.reduce(plus, of_result), plus),
        Fold("reduce(+, clear)", "value", lambda s: s.reduce(plus, Cleared()), plus),
        Fold("sum", "value", lambda s: s.sum("value"), plus),
        Fold("max", "value", lambda s: s.max("value"), larger),
        Fold("min", "value", lambda s: s.min("value"), smaller),
        Fold("minBy", "value", lambda s: s.minBy("value"), smaller),
        Fold("maxBy", "value", lambda s: s.maxBy("value"), larger),
        Fold("aggregate(mean)", "pair", lambda s: s.aggregate(Mean()), Mean()),
        Fold("aggregate(2x mean)", "pair", lambda s: s.aggregate(DoubledMean()), DoubledMean()),
        Fold("aggregate(largest)", "list", lambda s: s.aggregate(Largest()), Largest()),
        Fold("apply", "elements", lambda s: s.apply(listed)),
        Fold("process", "elements", lambda s: s.process(Listed())),
    )
}


class SwitchedAggregate(Mean):
    def __init__(self, before: Mean, after: Mean, at: int) -> None:
        self.before, self.after, self.at = before, after, at

    def add(self, value, accumulator):
        return (self.after if value.at >= self.at else self.before).add(value, accumulator)


def whole(fold: Fold, elements: list[fl.Row]) -> Any:
    """Return the result of a fold over all elements of a window."""
    if isinstance(fold.by, Mean):
        return fold.by.getResult(
            reduce(lambda a, e: fold.by.add(e, a), elements, fold.by.createAccumulator())
        )
    return reduce(fold.by or plus, elements)


def switched_at_once(before: Fold, after: Fold, at: int) -> Callable[[Any], Any]:
    """The same where a window keeps its elements: all of them by ``after`` if it fires after the cut."""

    def function(key: Any, window: Any, elements: Iterable[fl.Row]) -> list[fl.Row]:
        kept = list(elements)
        is_new = kept[-1].at >= at or at - STEP - 1 < window.maxTimestamp() < 1 << 60
        result = whole(after if is_new else before, kept)
        return [
            fl.Row(
                key=result.key if (after if is_new else before).by else key,
                value=result.value,
                at=0,
            )
        ]

    return lambda s: s.apply(function)


def switched_fold(before: Fold, after: Fold, at: int) -> Callable[[Any], Any]:
    """``before`` for elements before ``at``, then ``after``."""
    if before.by is None or after.by is None:
        return after.call
    if isinstance(before.by, Mean):
        return lambda s: s.aggregate(SwitchedAggregate(before.by, after.by, at))
    return lambda s: s.reduce(lambda a, b: (after.by if b.at >= at else before.by)(a, b))


# ---------------------------------------------------------------------- windows

WINDOWS: dict[str, Any] = {
    "tumbling": lambda: fl.TumblingEventTimeWindows.of(MS(200)),
    "larger tumbling": lambda: fl.TumblingEventTimeWindows.of(MS(400)),
    "sliding": lambda: fl.SlidingEventTimeWindows.of(MS(400), MS(100)),
    "longer sliding": lambda: fl.SlidingEventTimeWindows.of(MS(600), MS(100)),
    "session": lambda: fl.EventTimeSessionWindows.withGap(MS(100)),
    "dynamic session": lambda: fl.EventTimeSessionWindows.withDynamicGap(lambda e: 100 + e.value),
    "longer session": lambda: fl.EventTimeSessionWindows.withGap(MS(150)),
    "global": lambda: fl.GlobalWindows.create(),
    "processing time": lambda: fl.TumblingProcessingTimeWindows.of(MS(200)),
    "larger processing time": lambda: fl.TumblingProcessingTimeWindows.of(MS(400)),
    "processing time session": lambda: fl.ProcessingTimeSessionWindows.withGap(MS(100)),
}

LARGER = {
    "tumbling": "larger tumbling",
    "sliding": "longer sliding",
    "session": "longer session",
    "processing time": "larger processing time",
}
KIND = {
    "tumbling": "session",
    "sliding": "session",
    "session": "tumbling",
    "global": "tumbling",
    "processing time": "processing time session",
    "processing time session": "processing time",
}
CLOCK = {
    "tumbling": "processing time",
    "processing time": "tumbling",
    "session": "processing time session",
}


class SwitchedWindows(fl.WindowAssigner):
    def __init__(self, before: Any, after: Any, at: int) -> None:
        self.before, self.after, self.at = before, after, at

    def assignWindows(self, element, timestamp, context):
        chosen = self.after if timestamp >= self.at else self.before
        return chosen.assignWindows(element, timestamp, context)

    def getDefaultTrigger(self):
        return self.after.getDefaultTrigger()

    def isEventTime(self):
        return self.after.isEventTime()


class SwitchedMergingWindows(SwitchedWindows, fl.MergingWindowAssigner):
    def mergeWindows(self, windows, callback):
        self.after.mergeWindows(windows, callback)


def switched_windows(before: str, after: str, at: int) -> Any:
    assigner = WINDOWS[after]()
    if before == after:
        return assigner
    kind = (
        SwitchedMergingWindows
        if isinstance(assigner, fl.MergingWindowAssigner)
        else SwitchedWindows
    )
    return kind(WINDOWS[before](), assigner, at)


TRIGGERS: dict[str, Any] = {
    "count 2": lambda: fl.CountTrigger.of(2),
    "count 3": lambda: fl.CountTrigger.of(3),
    "purging count 2": lambda: fl.PurgingTrigger.of(fl.CountTrigger.of(2)),
    "purging count 3": lambda: fl.PurgingTrigger.of(fl.CountTrigger.of(3)),
}


class SwitchedCount(fl.CountTrigger):
    """Counts up to another number from an element on."""

    def __init__(self, before: int, after: int, at: int) -> None:
        super().__init__(before)
        self._both, self._at = (fl.CountTrigger.of(before), fl.CountTrigger.of(after)), at

    def onElement(self, element, timestamp, window, ctx):
        return self._both[timestamp >= self._at].onElement(element, timestamp, window, ctx)


def switched_trigger(before: str, after: str, at: int) -> Any:
    if before == after:
        return TRIGGERS[after]()
    trigger = SwitchedCount(int(before[-1]), int(after[-1]), at)
    return fl.PurgingTrigger.of(trigger) if after.startswith("purging") else trigger


EVICTORS: dict[str, Any] = {
    "last 2": lambda: fl.CountEvictor.of(2),
    "last 3": lambda: fl.CountEvictor.of(3),
}


# ---------------------------------------------------------------------- two streams

BOUNDS = {
    "join within 100": (-100, 100),
    "join within 300": (-300, 300),
    "join within 50": (-50, 50),
}


def interval(before: str, after: str, at: int) -> Callable[[Any], Any]:
    """An interval join of the even elements with the odd ones; one that switches keeps by the wider bounds, and lets
    pass by those of the later element."""

    def pair(a: fl.Row, b: fl.Row) -> fl.Row:
        return fl.Row(key=a.at, value=b.at, at=max(a.at, b.at))

    def call(keyed: Any) -> Any:
        even = keyed.filter(lambda e: e.at % 20 == 0).keyBy(lambda e: e.key)
        odd = keyed.filter(lambda e: e.at % 20 == 10).keyBy(lambda e: e.key)
        lower, upper = max(BOUNDS[before], BOUNDS[after], key=lambda bounds: bounds[1])
        joined = even.intervalJoin(odd).between(MS(lower), MS(upper))
        return joined.process(lambda a, b, context, out: out.collect(pair(a, b)))

    if before == after:
        return call

    def switching(keyed: Any) -> Any:
        def passes(row: fl.Row) -> bool:
            earlier, later = sorted((row.key, row.value))
            if later < at:
                return later - earlier <= BOUNDS[before][1]
            held = earlier + BOUNDS[before][1] > at - 11 or earlier >= at
            return held and later - earlier <= BOUNDS[after][1]

        return call(keyed).filter(passes)

    return switching


def window_join(kind: str) -> Callable[[Any], Any]:
    def call(keyed: Any) -> Any:
        even, odd = keyed.filter(lambda e: e.at % 20 == 0), keyed.filter(lambda e: e.at % 20 == 10)
        if kind == "window join":
            sides = even.join(odd).where(lambda e: e.key).equalTo(lambda e: e.key)
            joined = sides.window(WINDOWS["tumbling"]())
            return joined.apply(lambda a, b: fl.Row(key=a.at, value=b.at, at=0))
        sides = even.coGroup(odd).where(lambda e: e.key).equalTo(lambda e: e.key)
        return sides.window(WINDOWS["tumbling"]()).apply(
            lambda one, two: [fl.Row(key=a.at, value=b.at, at=0) for a in one for b in two]
        )

    return call


# ---------------------------------------------------------------------- jobs and changes


@dataclass(frozen=True)
class Pieces:
    """The parts of a job. ``function``: of ``FOLDS``, or, where there are no windows, of ``FUNCTIONS``, a join, or a
    fold that runs on."""

    function: str
    windows: str = ""
    trigger: str = ""
    evictor: str = ""
    columns: str = "three columns"
    key: str = "key"
    lateness: int = 0
    tracing: bool = True
    parallelism: int = 2

    @property
    def name(self) -> str:
        words = [self.windows, self.trigger, self.evictor, self.function]
        return ", ".join(word for word in words if word)

    @property
    def byClock(self) -> bool:
        return "processing time" in self.windows

    def build(self, numbers: Any, before: Pieces | None = None, at: int = 0) -> Any:
        """The job over rows with a number ``n``; with ``before``, one that switches at the time ``at``."""
        old = before or self
        makes, made = COLUMNS[self.columns], COLUMNS[old.columns]
        if old.columns == self.columns:
            elements = numbers.map(makes)
        else:
            elements = numbers.map(lambda e: (makes if e.n * STEP >= at else made)(e))
        keys, key = KEYS[self.key], KEYS[old.key]
        if old.key == self.key:
            keyed = elements.keyBy(
                keys, fl.Types.STRING() if self.key == "text key" else fl.Types.LONG()
            )
        else:
            keyed = elements.keyBy(lambda e: (keys if e.at >= at else key)(e))
        if self.function in FUNCTIONS:
            return FUNCTIONS[self.function](keyed).uid("kept")
        if self.function in BOUNDS:
            joined = interval(
                old.function if old.function in BOUNDS else self.function, self.function, at
            )
            return joined(keyed).uid("kept") if old == self else joined(keyed)
        if self.function in ("window join", "coGroup"):
            return window_join(self.function)(keyed).uid("kept")
        if self.windows:
            keyed = keyed.window(switched_windows(old.windows, self.windows, at))
            if self.trigger:
                keyed = keyed.trigger(
                    switched_trigger(old.trigger or self.trigger, self.trigger, at)
                )
            if self.evictor:
                keyed = keyed.evictor(EVICTORS[self.evictor]())
            if self.lateness:
                keyed = keyed.allowedLateness(MS(self.lateness))
        fold = FOLDS[self.function]
        if old.function == self.function:
            return fold.call(keyed).uid("kept")
        switch = switched_at_once if self.evictor else switched_fold
        return switch(FOLDS[old.function], fold, at)(keyed)


def jobs() -> list[Pieces]:
    """The jobs before the change."""
    windowed = [
        Pieces(function, windows)
        for windows in ("tumbling", "sliding", "session")
        for function in ("reduce(+)", "sum", "aggregate(mean)", "apply")
    ]
    return [
        *(Pieces(function) for function in ("reduce(+)", "sum", "max")),
        *windowed,
        Pieces("maxBy", "tumbling"),
        Pieces("reduce(+, process)", "tumbling"),
        Pieces("process", "session"),
        Pieces("reduce(+)", "tumbling", "count 2"),
        Pieces("aggregate(mean)", "sliding", "count 2"),
        Pieces("apply", "session", "count 2"),
        Pieces("apply", "tumbling", evictor="last 2"),
        Pieces("reduce(+)", "session", evictor="last 2"),
        Pieces("reduce(+)", "global", "purging count 2"),
        Pieces("aggregate(mean)", "global", "count 2"),
        Pieces("apply", "global", "purging count 2", "last 2"),
        Pieces("reduce(+)", "processing time"),
        Pieces("apply", "processing time"),
        Pieces("aggregate(mean)", "processing time session"),
        *(
            Pieces(function)
            for function in (
                "ValueState",
                "ValueState of a class",
                "ValueState with TTL",
                "ValueState, timers",
                "ListState",
                "MapState",
                "ReducingState",
                "AggregatingState",
                "two inputs",
                "rich map",
                "broadcast state",
                "join within 100",
                "window join",
            )
        ),
    ]


Change = Callable[[Pieces], "Pieces | None"]
"""A job with one of its pieces changed, None where it has none such."""


def _piece(name: str, others: dict[str, str]) -> Change:
    def change(job: Pieces) -> Pieces | None:
        other = others.get(getattr(job, name))
        return None if other is None else replace(job, **{name: other})

    return change


def _function(others: dict[str, str]) -> Change:
    return _piece("function", others)


def _other_state(others: dict[str, str]) -> Change:
    def change(job: Pieces) -> Pieces | None:
        rolling = job.function in FOLDS and not job.windows
        other = "ValueState" if rolling else others.get(job.function)
        return None if other is None else replace(job, function=other)

    return change


def _key(other: str) -> Change:
    def change(job: Pieces) -> Pieces | None:
        return None if job.function in _KEYED_INSIDE else replace(job, key=other)

    return change


_KEYED_INSIDE = (*BOUNDS, "window join", "coGroup", "two inputs", "broadcast state")

BEFORE: dict[str, Change] = {
    "a column fewer": lambda job: replace(job, columns="four columns"),
    "evictor removed": lambda job: replace(job, evictor="last 2") if job.evictor else None,
    "less lateness": lambda job: replace(job, lateness=300),
    "tracing on": lambda job: replace(job, tracing=False),
}
"""The job before the change, where it is not one of ``jobs`` itself."""

CHANGES: dict[str, Change] = {
    "nothing": lambda job: job,
    "a column more": lambda job: replace(job, columns="four columns"),
    "a column fewer": lambda job: replace(job, columns="three columns"),
    "columns reordered": lambda job: replace(job, columns="other order"),
    "floats": lambda job: replace(job, columns="floats"),
    "like function": _function(
        {
            "reduce(+)": "reduce(max)",
            "sum": "max",
            "max": "reduce(+)",
            "maxBy": "sum",
            "reduce(+, process)": "reduce(max)",
            "aggregate(mean)": "aggregate(2x mean)",
            "apply": "process",
            "process": "apply",
            "join within 100": "join within 300",
            "window join": "coGroup",
            "ValueState with TTL": "ValueState with longer TTL",
            "ValueState": "two inputs",
            "two inputs": "ValueState",
            "rich map": "ValueState",
        }
    ),
    "clear added": lambda job: (
        replace(job, function="reduce(+, clear)")
        if job.windows and job.function == "reduce(+)"
        else None
    ),
    "narrower": _function({"join within 100": "join within 50"}),
    "function renamed": _function({"ValueState": "ValueState, another class"}),
    "class moved": _function({"ValueState of a class": "ValueState of a class that moved"}),
    "class renamed": _function({"ValueState of a class": "ValueState of a class of another name"}),
    "other state": _other_state(
        {
            "reduce(+)": "aggregate(mean)",
            "sum": "apply",
            "maxBy": "process",
            "reduce(+, process)": "apply",
            "aggregate(mean)": "aggregate(largest)",
            "apply": "reduce(+)",
            "process": "aggregate(mean)",
            "ValueState": "ListState",
            "ValueState of a class": "MapState",
            "ValueState with TTL": "ListState",
            "ValueState, timers": "rich map",
            "ListState": "ValueState",
            "MapState": "ListState",
            "ReducingState": "ValueState",
            "AggregatingState": "AggregatingState of a list",
            "two inputs": "ListState",
            "rich map": "ValueState of text",
            "broadcast state": "rich map",
            "join within 100": "ValueState",
            "window join": "join within 100",
        }
    ),
    "time to live": _function(
        {"ValueState": "ValueState with TTL", "ValueState with TTL": "ValueState"}
    ),
    "other size": _piece("windows", LARGER),
    "like windows": _piece(
        "windows",
        {"tumbling": "sliding", "sliding": "tumbling", "session": "dynamic session"},
    ),
    "other windows": _piece("windows", KIND),
    "other clock": _piece("windows", CLOCK),
    "trigger added": lambda job: (
        replace(job, trigger="count 2") if job.windows and not job.trigger else None
    ),
    "trigger changed": _piece(
        "trigger", {"count 2": "count 3", "purging count 2": "purging count 3"}
    ),
    "trigger removed": lambda job: (
        replace(job, trigger="") if job.trigger and job.windows != "global" else None
    ),
    "evictor added": lambda job: (
        replace(job, evictor="last 2") if job.windows and not job.evictor else None
    ),
    "evictor removed": lambda job: replace(job, evictor="") if job.evictor else None,
    "more lateness": lambda job: replace(job, lateness=300) if job.windows else None,
    "less lateness": lambda job: job if job.windows else None,
    "another key": _key("another key"),
    "text key": _key("text key"),
    "parallelism": lambda job: replace(job, parallelism=3),
    "tracing off": lambda job: replace(job, tracing=False),
    "tracing on": lambda job: job,
}
"""The columns of the table: what is changed in a job between two runs."""


def cell(job: Pieces, change: str) -> tuple[Pieces, Pieces] | None:
    """The job before and after a change, None if it has no such piece."""
    after = CHANGES[change](job)
    before = BEFORE.get(change, lambda job: job)(job)
    return None if after is None or before is None else (before, after)
