"""Functions with two inputs over columns do what they do element by element: to states, timers and results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from examples.nexmark.queries import LocalItems, WinningBids
from flinkish import (
    Duration,
    KeyedCoProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    Row,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.api.errors import IllegalArgumentError, UserFunctionError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.two_input import CoProcessDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns import phase_columns
from flinkish.runtime.columns.keyed_process import KeyedColumnCoProcess
from flinkish.runtime.columns.tracing.column_runs import ColumnRuns
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.columns.keyed_elements import (
    any_elements,
    keyed_records,
    random_elements,
    runs_over_columns,
)
from tests.runtime.properties import part_of_examples
from tests.runtime.windowing.operators import Recorder

SIDE = OutputTag[Any]("side")
OTHER = OutputTag[Any]("other")


ENTRIES = ("ones", "twos", "counts")
"""Maps for the entries of which functions do what others do with ``one``, ``two`` and ``count``."""


class WithStates(KeyedCoProcessFunction[Any, Any, Any, Any]):
    """Has states, and shows them when a timer fires."""

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.one = context.getState(ValueStateDescriptor("one"))
        self.two = context.getState(ValueStateDescriptor("two"))
        self.count = context.getState(ValueStateDescriptor("count", default=0))
        self.waiting = context.getListState(ListStateDescriptor("waiting"))
        self.known = context.getMapState(MapStateDescriptor("known"))
        self.ones, self.twos, self.counts = (
            context.getMapState(MapStateDescriptor(name)) for name in ENTRIES
        )

    def onTimer(self, timestamp, ctx, out):
        states = self.one.value(), self.two.value(), self.count.value()
        out.collect((ctx.getCurrentKey(), timestamp, *states, tuple(self.waiting.get())))
        if timestamp % 3 == 0:
            self.one.clear()
            self.waiting.clear()


class Enriches(WithStates):
    """The last of one side is joined to each of the other; what comes before it waits in a list."""

    def processElement1(self, value, ctx, out):
        self.one.update((value.name, value.value))
        for waiting in self.waiting.get():
            out.collect((value.name, value.value, waiting))
        self.waiting.clear()

    def processElement2(self, value, ctx, out):
        one = self.one.value()
        if one is None:
            self.waiting.add(value.value)
            ctx.timerService().registerEventTimeTimer(value.at + 10)
        else:
            out.collect((*one, value.value))


class Best(WithStates):
    """The best of one side within the bounds of the other."""

    def processElement1(self, value, ctx, out):
        self.one.update((value.at, value.at + 30))
        ctx.timerService().registerEventTimeTimer(time=value.at + 30)

    def processElement2(self, value, ctx, out):
        bounds = self.one.value()
        rank = (value.value, -value.at)
        if bounds is not None and bounds[0] <= value.at <= bounds[1]:
            best = self.two.value()
            if best is None or rank > best:
                self.two.update(rank)


class Switches(WithStates):
    """One side turns the other on and off."""

    def processElement1(self, value, ctx, out):
        if value.mark:
            self.one.update(value.name)
        else:
            self.one.clear()

    def processElement2(self, value, ctx, out):
        if self.one.value() is not None:
            self.count.update(self.count.value() + 1)
            out.collect((ctx.getCurrentKey(), self.one.value(), self.count.value()))


class MeetsBoth(WithStates):
    """A result when a key has been seen on both sides, which then begins anew."""

    def processElement1(self, value, ctx, out):
        self.meet(self.one, self.two, value, ctx, out)

    def processElement2(self, value, ctx, out):
        self.meet(self.two, self.one, value, ctx, out)

    def meet(self, own, other, value, ctx, out):
        met = other.value()
        if met is None:
            own.update(Row(value=value.value, name=value.name))
            ctx.timerService().registerEventTimeTimer(value.at + 5)
        else:
            out.collect((value.name, met.name, met.value - value.value))
            other.clear()


class Threshold(WithStates):
    """A state that begins when a sum has reached something, and what is counted since."""

    def processElement1(self, value, ctx, out):
        self.count.update(self.count.value() + abs(value.value))
        if self.count.value() > 12 and self.one.value() is None:
            self.one.update(value.at)
            out.collect(("reached", value.at, value.name))

    def processElement2(self, value, ctx, out):
        since = self.one.value()
        if since is not None and value.at >= since:
            total = self.two.value()
            self.two.update(value.real if total is None else total + value.real)


class Divides(WithStates):
    """Raises at times."""

    def processElement1(self, value, ctx, out):
        self.count.update(value.value)

    def processElement2(self, value, ctx, out):
        if self.count.value() != 7:
            out.collect(value.value // self.count.value())


class Sides(WithStates):
    """Cannot be vectorised for keys that have something on the other side."""

    def processElement1(self, value, ctx, out):
        self.known.put(value.name, value.value)

    def processElement2(self, value, ctx, out):
        if self.known.isEmpty():
            self.count.update(self.count.value() + 1)
            out.collect((value.name, self.count.value()))
        else:
            ctx.output(SIDE, value.name)
            out.collect((value.name, -(self.known.get(value.name) or 0)))


class Yields(WithStates):
    """A generator, and timers by the state."""

    def processElement1(self, value, ctx, out):
        self.one.update((value.at, value.name))
        yield value.name, 0

    def processElement2(self, value, ctx, out):
        if self.known.contains(value.name) or self.known.get(value.value) is not None:
            return
        one = self.one.value()
        if one is not None:
            ctx.timerService().registerEventTimeTimer(max(one[0], value.at))
            yield value.name, one[0]


class Profiles(WithStates):
    """Dicts as states and results; what is not written back does not last."""

    def processElement1(self, value, ctx, out):
        profile = self.one.value()
        if profile is None:
            profile = {"first": value.at, "name": value.name, "seen": 1}
            self.one.update(profile)
            profile["seen"] = 100
        else:
            profile["seen"] += 1
            profile["name"] = max(profile["name"], value.name)
            self.one.update(profile)

    def processElement2(self, value, ctx, out):
        profile = self.one.value()
        if profile is not None:
            found = {**profile, "of": {"at": value.at}}
            out.collect(found)
            profile["seen"] = found["seen"] = -1
            again: Any = self.one.value()
            out.collect({**again, "of": {"at": profile["seen"]}})


class Baskets(WithStates):
    """Lists as states, of two lengths; what is not written back does not last."""

    def processElement1(self, value, ctx, out):
        basket = self.one.value()
        if basket is None:
            self.one.update([value.name, 1])
            return
        basket[1] += 1
        if value.mark:
            basket = [max(basket[0], value.name), *basket[1:]]
        self.one.update(basket)
        basket[0] = "changed later"
        out.collect((len(basket), basket[1]))

    def processElement2(self, value, ctx, out):
        basket = self.one.value()
        if basket is not None:
            if value.mark and len(basket) == 2:
                self.one.update([*basket, value.at])
            elif not value.mark:
                out.collect(tuple(basket[:2]))


class Alerts(WithStates):
    """Side outputs that depend on states, of other shapes than the results."""

    def processElement1(self, value, ctx, out):
        seen = self.count.value() + 1
        self.count.update(seen)
        if value.mark:
            ctx.output(SIDE, f"{value.name} was marked")
        if seen % 3 == 0:
            out.collect((value.name, seen))
            ctx.output(SIDE, f"{ctx.getCurrentKey()} has {seen}")
        self.one.update(value.value)

    def processElement2(self, value, ctx, out):
        one = self.one.value()
        if one is None:
            ctx.output(SIDE, "unknown")
        elif one < value.value:
            ctx.output(OTHER, (one, value.value))
            self.one.clear()
        else:
            out.collect((value.name, one))


class Buffers(WithStates):
    """Buffers elements in a list until a timer, or until the other side takes them."""

    def processElement1(self, value, ctx, out):
        self.waiting.add((value.name, value.real) if value.mark else ("", 0.0))
        self.waiting.add((value.name, -value.real))
        ctx.timerService().registerEventTimeTimer(value.at + 21)

    def processElement2(self, value, ctx, out):
        if value.value == 3:
            self.waiting.clear()
        elif value.mark:
            self.count.update(self.count.value() + 1)


class Visits(WithStates):
    """Keeps a map that one input fills and the other reads or clears."""

    def processElement1(self, value, ctx, out):
        self.known.put(value.name, (value.at, value.name))
        if value.mark:
            self.known.put(str(ctx.getCurrentKey()), (value.value, ""))
            self.waiting.add(value)

    def processElement2(self, value, ctx, out):
        if value.mark:
            self.known.clear()
        elif self.known.contains(value.name):
            out.collect((value.name, self.known.get(value.name)))


class Opens(WithStates):
    """A timer for the first entry of a map, which the other side empties."""

    def processElement1(self, value, ctx, out):
        if self.known.isEmpty():
            ctx.timerService().registerEventTimeTimer(value.at + 50)
        self.known.put(value.name, value.at)

    def processElement2(self, value, ctx, out):
        if value.mark:
            self.known.clear()
        out.collect((value.name, self.known.isEmpty()))


class ByName(WithStates):
    """Counts and the highest number by name, with timers, as long as the key is open."""

    def processElement1(self, value, ctx, out):
        if value.mark:
            self.one.update(value.at)
        else:
            self.one.clear()

    def processElement2(self, value, ctx, out):
        since = self.one.value()
        if since is None:
            return
        count = (self.counts.get(value.name) or 0) + 1
        self.counts.put(value.name, count)
        before = self.known.get(value.name)
        number = value.value if before is None else max(before[0], value.value)
        self.known.put(value.name, (number, since))
        if count % 2:
            out.collect((value.name, count, before is None))
        ctx.timerService().registerEventTimeTimer(value.at + count)


class Pairs(WithStates):
    """What one side puts the other takes out, under a key of two parts."""

    def processElement1(self, value, ctx, out):
        self.known.put((value.name, value.value % 3), {"at": value.at, "real": value.real})

    def processElement2(self, value, ctx, out):
        key = value.name, value.value % 3
        found = self.known.get(key)
        if found is not None:
            self.known.remove(key)
            out.collect((found["at"], found["real"], value.name))
        elif value.mark:
            self.known.put(key, {"at": -1, "real": value.real})


class Unseen(WithStates):
    """The first element of each number, and under a constant key the last name."""

    def processElement1(self, value, ctx, out):
        if not self.known.contains(value.value):
            self.known.put(value.value, True)
            out.collect(value)

    def processElement2(self, value, ctx, out):
        last = self.ones.get("last")
        self.ones.put("last", value.name)
        out.collect((last or "", value.name))


class Overflows(WithStates):
    """A side output beside elements for which the function has to be called."""

    def processElement1(self, value, ctx, out):
        if value.mark:
            self.waiting.add(value.value)

    def processElement2(self, value, ctx, out):
        for waiting in self.waiting.get():
            out.collect((value.name, waiting))
        if value.value > 7:
            ctx.output(SIDE, value.name)


FOLLOWED = [
    Alerts,
    Profiles,
    Baskets,
    Enriches,
    Best,
    Switches,
    MeetsBoth,
    Threshold,
    Divides,
    Sides,
    Yields,
    Buffers,
    Visits,
    Opens,
    ByName,
    Pairs,
    Unseen,
]


class Driver:
    """The single operator, with functions over columns or without."""

    def __init__(self, function: Any, columns: bool) -> None:
        self.output: list[Any] = []
        self.aside: list[Any] = []
        self.others: list[Any] = []
        self.runs = 0
        self.backend = PagedKeyedStateBackend("it")
        self.store = DictPageStore()
        output = Output()
        output.connect(Recorder("main", self.output))
        output.connect(Recorder("side", self.aside), SIDE.id)
        output.connect(Recorder("other", self.others), OTHER.id)
        context = OperatorContext(
            "it",
            "It",
            self.backend,
            ProcessingTimeService(),
            output,
            TaskInfo("It"),
            tracesFunctions=columns,
        )
        self.operator = KeyedColumnCoProcess(context, CoProcessDescription(function))
        self.operator.open()
        self.backend.load(self.store, None)
        self.operator.restore(None)
        self.watermark = -1

    def restart(self) -> None:
        snapshot = self.operator.snapshot()
        directory = self.backend.flush()
        self.backend.load(self.store, directory)
        self.operator.restore(snapshot)

    def elements(self, side: int, elements: list[tuple[Any, ...]]) -> None:
        self.operator.inputs[side].processRecords(keyed_records(elements))

    def advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            for one in self.operator.inputs:
                one.processWatermark(watermark)

    def run(self, steps: list[Any]) -> str:
        """Return the output, and the states afterwards, in their order; as text, which tells 1 from True."""
        for step in steps:
            if step == "restart":
                self.restart()
            elif isinstance(step, int):
                self.advance(step)
            else:
                try:
                    self.elements(*step)
                    self.runs = sum(path.fold.runs.taken for path in self.operator.paths if path)
                except UserFunctionError as error:
                    return f"{self.output} {self.aside} {self.others} {error}"
        tables = [
            list(self.backend.table(name).entries()) for name in ("one", "two", "count", "waiting")
        ]
        found = [self.backend.mapTable(name) for name in ("known", *ENTRIES)]
        maps = [[(*place, list(table.items(*place))) for place in table.maps()] for table in found]
        self.restart()
        self.advance(MAX_TIMESTAMP)
        return f"{self.output} {self.aside} {self.others} {tables} {maps}"


same = partial(runs_over_columns, Driver)


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)


def elements(most: int) -> st.SearchStrategy[tuple[int, list[tuple[Any, ...]]]]:
    return st.tuples(st.integers(0, 1), any_elements("abcdefgh", most))


STEPS = st.lists(
    st.one_of(elements(30), elements(30), st.integers(0, 120), st.just("restart")), max_size=8
)


def some(count: int, keys: str = "abcdefgh", seed: int = 0) -> list[tuple[Any, ...]]:
    return random_elements(Random(count * 1000 + seed), count, keys)


@pytest.mark.takes_columns("PhaseFold")
@pytest.mark.parametrize("function", [*FOLLOWED, Overflows])
@part_of_examples(2)
@given(steps=STEPS)
@example(steps=[(0, some(8)), (1, some(100)), 30, (0, some(9)), "restart", (1, some(102))])
def test_runs_do_what_their_elements_do(function: Callable[[], Any], steps: list[Any]) -> None:
    same(function, steps)


@pytest.mark.parametrize("function", FOLLOWED)
def test_functions_are_followed(function: Callable[[], Any]) -> None:
    steps: list[Any] = [(0, some(8)), (1, some(100)), 30, (0, some(9)), "restart", (1, some(102))]
    assert same(function, steps) >= 1
    explained = function()
    reasons = [
        PhaseFold(call).reason for call in (explained.processElement1, explained.processElement2)
    ]
    assert None in reasons


def test_what_is_added_to_lists_and_maps_stays_in_columns() -> None:
    steps: list[Any] = [(0, some(60)), (0, some(90)), 35, (0, some(80)), "restart", (0, some(70))]
    for function in (Buffers, Visits, Opens):
        assert same(function, steps) == 4


def test_entries_of_maps_stay_in_columns() -> None:
    steps: list[Any] = [(0, some(60)), (1, some(90)), 35, (1, some(80)), "restart", (0, some(70))]
    for function in (ByName, Pairs, Unseen):
        assert same(function, steps) == 4


def test_none_is_put_into_maps_by_calls() -> None:
    class PutsAny(OneSide):
        def processElement1(self, value, ctx, out):
            before = self.known.get(value.name)
            self.known.put(value.name, value.value)
            out.collect(before or 0)

    elements = [*some(9), ("a", 1, None, 0.5, True, "x"), ("a", 1, 3, 0.5, True, "x")]
    assert same(PutsAny, [(0, some(20)), (0, elements), (0, some(30))]) == 2


def test_a_key_computed_with_an_attribute_changes_with_it() -> None:
    class Scaled(OneSide):
        scale = 3

        def processElement1(self, value, ctx, out):
            key = value.value // self.scale
            self.known.put(key, (self.known.get(key) or 0) + 1)

    drivers = [Driver(Scaled(), columns) for columns in (True, False)]
    for driver in drivers:
        driver.elements(0, some(40))
        driver.operator._function.scale = 5
    outcomes = [driver.run([(0, some(50))]) for driver in drivers]
    assert outcomes[0] == outcomes[1]
    assert drivers[0].runs == 2


def test_big_maps_are_checked_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flinkish.runtime.state.paged_tables.MOST_SMALL", 4)
    monkeypatch.setattr(ColumnRuns, "due", lambda *_: True)
    steps: list[Any] = []
    for seed in range(4):
        steps += [(0, some(60, "ab", seed)), "restart"]
    assert same(Unseen, steps) == 4


def test_none_is_not_added_to_a_list() -> None:
    class AddsAny(OneSide):
        def processElement1(self, value, ctx, out):
            self.waiting.add(value.value)

    elements = [*some(9), ("a", 1, None, 0.5, True, "x"), *some(5)]
    for columns in (True, False):
        with pytest.raises(IllegalArgumentError, match="cannot hold None"):
            Driver(AddsAny(), columns).run([(0, elements)])


@pytest.mark.parametrize("function", [LocalItems, WinningBids])
def test_the_functions_of_nexmark_are_followed(function: Callable[[], Any]) -> None:
    made = function()
    assert PhaseFold(made.processElement1).reason is None
    assert PhaseFold(made.processElement2).reason is None


class OneSide(WithStates):
    def processElement2(self, value, ctx, out):
        out.collect(value.value)


class ReadsWhatItAdds(OneSide):
    def processElement1(self, value, ctx, out):
        self.waiting.add(value.value)
        out.collect(len(list(self.waiting.get())))


class AddsAndClears(OneSide):
    def processElement1(self, value, ctx, out):
        self.known.put(value.name, value.value)
        self.known.clear()


@dataclass(frozen=True, eq=False)
class OnlyItself:
    number: int


class UnderObjects(OneSide):
    def processElement1(self, value, ctx, out):
        key = OnlyItself(value.value)
        self.known.put(key, 1)
        self.known.put(key, 2)

    def onTimer(self, timestamp, ctx, out):
        pass


class UnderFloats(OneSide):
    def processElement1(self, value, ctx, out):
        self.known.put(value.real, value.value)


class Again(OneSide):
    def processElement1(self, value, ctx, out):
        self.one.clear()
        self.one.update(value.value)


class Undone(OneSide):
    def processElement1(self, value, ctx, out):
        self.one.update(value.value)
        if value.mark:
            self.one.clear()


class Expires(OneSide):
    def open(self, openContext):
        super().open(openContext)
        descriptor = ValueStateDescriptor("expires")
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofMillis(4)).build())
        self.expires = self.getRuntimeContext().getState(descriptor)

    def processElement1(self, value, ctx, out):
        self.expires.update(value.value)


class TwoEntries(OneSide):
    def processElement1(self, value, ctx, out):
        self.known.put(value.value, self.known.get(value.name))


class ByEntryAndKey(OneSide):
    def processElement1(self, value, ctx, out):
        if not self.known.contains(value.name):
            self.known.put(value.name, 1)
            self.count.update(self.count.value() + 1)


class AsksForAny(OneSide):
    def processElement1(self, value, ctx, out):
        out.collect(self.known.contains((value, value.name)) or self.waiting.addAll([]))


UNSUPPORTED = {
    ReadsWhatItAdds: "reads a list or map state that is not empty (line",
    AddsAndClears: "adds to a state and clears it again (line",
    UnderObjects: "asks a map for something that may not be its key (line",
    UnderFloats: "puts something into a map under a float, which may be NaN (line",
    Again: "clears a state and updates it again (line",
    Undone: "updates a state and clears it again (line",
    Expires: "uses a state whose values expire, or which reduces",
    TwoEntries: "reads a list or map state that is not empty (line",
    ByEntryAndKey: "reads a list or map state that is not empty (line",
    AsksForAny: "uses addAll of its list (line",
}


@pytest.mark.parametrize("function", UNSUPPORTED)
def test_others_are_called_for_each_element(function: Any) -> None:
    steps: list[Any] = [(0, some(40)), 30, (0, some(41))]
    quick = Driver(function(), columns=True)
    assert quick.run(steps) == Driver(function(), columns=False).run(steps)
    path = quick.operator.paths[0]
    assert path is not None
    assert path.fold.runs.elements > 0
    reason = path.fold._reason
    assert reason is not None
    assert reason.startswith(UNSUPPORTED[function])


def test_few_elements_are_processed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 21)
    assert same(Switches, [(0, some(20)), (1, some(21))]) == 1


def test_a_function_whose_calls_could_write_what_columns_read_is_called() -> None:
    class Counting(Enriches):
        seen = 0

        def processElement2(self, value, ctx, out):
            if self.one.value() is None:
                self.seen = self.seen + 1
                self.waiting.add(self.seen)
            else:
                out.collect((self.seen, value.value))

    steps: list[Any] = [(0, some(12, "abcd")), (1, some(60)), (0, some(9)), (1, some(50))]
    quick = Driver(Counting(), columns=True)
    assert quick.run(steps) == Driver(Counting(), columns=False).run(steps)
    path = quick.operator.paths[1]
    assert path is not None
    assert path.fold.runs.taken == 0
    assert str(path.fold.reason).startswith("writes the attribute self.seen (line")


# ---------------------------------------------------------------------- functions drawn at random

NUMBERS = ["value.value", "value.at", "3", "-1"]
COLLECTED = [
    "self.waiting.add(value.value)",
    "self.waiting.add(value.at)",
    "self.waiting.add((value.name, value.real))",
    "self.waiting.clear()",
    "self.known.put(value.name, value.value)",
    "self.known.put(value.at, value)",
    "self.known.clear()",
    "out.collect(len(list(self.waiting.get())))",
    "out.collect(self.known.contains(value.name))",
    "if self.known.isEmpty(): out.collect(value.name)",
]
HELD = {"one": ["one[0]"], "two": ["two"], "count": ["count"]}
"""The numbers in a state that has a value."""


MAP_KEYS = ["value.name", "value.value % 3", "(value.mark, value.name)", "ctx.getCurrentKey()", "7"]


class Drawing:
    """Draws the source of a method that does what it can with three states, or with one entry of
    three maps."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.key = random.choice(MAP_KEYS) if random.random() < 0.5 else None

    def method(self, name: str) -> str:
        lines = [f"def {name}(self, value, ctx, out):"]
        if self.key is None:
            lines += [f"    {state} = self.{state}.value()" for state in HELD]
        else:
            lines += [f"    key = {self.key}"]
            lines += [f"    {state} = self.{state}s.get(key)" for state in HELD]
            lines += ["    if not self.counts.contains(key): count = 0"]
        return "\n".join([*lines, *self.indented(self.block(3, {"count"}))])

    def updated(self, state: str, value: str) -> str:
        return (
            f"self.{state}.update({value})"
            if self.key is None
            else f"self.{state}s.put(key, {value})"
        )

    def indented(self, lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def number(self, present: set[str]) -> str:
        held = [number for state in sorted(present) for number in HELD[state]]
        return self.random.choice(NUMBERS + held * 2)

    def computed(self, present: set[str]) -> str:
        sign = self.random.choice(["+", "-", "*", "//"])
        return f"{self.number(present)} {sign} {self.number(present)}"

    def block(self, depth: int, present: set[str]) -> list[str]:
        kind = self.random.choice(["state", "state", "condition", "act"]) if depth else "act"
        unknown = [state for state in HELD if state not in present]
        if kind == "state" and unknown:
            state = self.random.choice(unknown)
            absent, there = (self.block(depth - 1, known) for known in (present, present | {state}))
            return [
                *(f"if {state} is None:", *self.indented(absent)),
                *("else:", *self.indented(there)),
            ]
        if kind != "act":
            sign = self.random.choice(["<", ">=", "==", ">"])
            condition = f"{self.number(present)} {sign} {self.number(present)}"
            lines = [f"if {condition}:", *self.indented(self.block(depth - 1, present))]
            if self.random.random() < 0.5:
                lines += ["else:", *self.indented(self.block(depth - 1, present))]
            return lines
        return [self.act(present) for _ in range(self.random.randint(1, 2))]

    def act(self, present: set[str]) -> str:
        what, number = self.random.random(), self.computed(present)
        if what < 0.25:
            return f"out.collect((value.name, {number}))"
        if what < 0.35:
            return f"ctx.timerService().registerEventTimeTimer(value.at + abs({number}) % 40)"
        if what < 0.45:
            state = self.random.choice([*HELD])
            return f"self.{state}.clear()" if self.key is None else f"self.{state}s.remove(key)"
        if what < (0.5 if self.key is None else 0.46):
            return self.random.choice(COLLECTED)
        if what < 0.65:
            name = "max(one[1], value.name)" if "one" in present else "value.name"
            return self.updated("one", f"({number}, {name})")
        if what < 0.8:
            total = f"min(two, {number})" if "two" in present else number
            return self.updated("two", total)
        return self.updated("count", f"count + {self.random.choice(NUMBERS)}")


def drawn(random: Random) -> tuple[str, Callable[[], Any]]:
    """The source of a function, and its class."""
    names: dict[str, Any] = {"__name__": __name__}
    methods = ("processElement1", "processElement2")
    source = "\n".join(Drawing(random).method(method) for method in methods)
    exec(source, names)  # of our own making
    return source, type("Drawn", (WithStates,), {name: names[name] for name in methods})


def check_random_functions(count: int, seed: int) -> None:
    """``count`` random functions do with a run what they do with its elements, and many of them at once."""
    random = Random(seed)
    runs, by_entry = 0, 0
    for number in range(count):
        source, function = drawn(random)
        steps: list[Any] = []
        for step in range(random.randint(2, 7)):
            steps.append((random.randint(0, 1), some(random.randint(1, 60), seed=number + step)))
            if random.random() < 0.4:
                steps.append(random.choice(["restart", random.randint(0, 120)]))
        try:
            taken = same(function, steps) > 0
        except AssertionError as error:
            raise AssertionError(f"{source}\n{steps}") from error
        runs += taken
        by_entry += taken and source.count("key = ") == 2
    assert runs > count / 2
    assert by_entry > count / 12


@pytest.mark.slow("each example traces a function")
def test_random_functions_do_what_they_do_with_each_element() -> None:
    check_random_functions(75, 7)


@pytest.mark.slow("thousands of functions, each on a few runs")
@pytest.mark.thorough("thousands of functions")
def test_thousands_of_random_functions() -> None:
    check_random_functions(4_000, 11)
