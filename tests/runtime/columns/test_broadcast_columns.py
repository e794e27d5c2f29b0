"""Functions that read broadcast state do over columns what they do element by element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    OutputTag,
    Row,
    ValueStateDescriptor,
)
from flinkish.api.errors import FlinkishError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.two_input import BroadcastProcessDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns import map_like, phase_columns
from flinkish.runtime.columns.tracing.column_runs import ColumnScope
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.registry import create_operator
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.runtime.columns.keyed_elements import (
    any_elements,
    keyed_records,
    random_elements,
    runs_over_columns,
)
from tests.runtime.windowing.operators import Recorder

RULES = MapStateDescriptor[Any, Any]("rules")
OTHERS = MapStateDescriptor[Any, Any]("others")
SIDE = OutputTag[Any]("side")


class Broadcast:
    """Puts what is broadcast into a state, or takes it away."""

    def processBroadcastElement(self, value, ctx, out):
        descriptor, key, content = value
        state = ctx.getBroadcastState(descriptor)
        if content is None:
            state.remove(key)
        elif key is None:
            state.clear()
        else:
            state.put(key, content)


class OfElements(Broadcast, BroadcastProcessFunction[Any, Any, Any]):
    """A function without keys."""


class OfKeys(Broadcast, KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """A function with keys. It shows its state when a timer fires."""

    def open(self, openContext):
        self.state = self.getRuntimeContext().getState(ValueStateDescriptor("state"))
        self.waiting = self.getRuntimeContext().getListState(ListStateDescriptor("waiting"))

    def onTimer(self, timestamp, ctx, out):
        allowed = ctx.getBroadcastState(RULES)
        waiting = [each for each in self.waiting.get() or () if allowed.contains(each.name)]
        self.waiting.clear()
        out.collect((ctx.getCurrentKey(), timestamp, self.state.value(), waiting))


class Contains(OfElements):
    def processElement(self, value, ctx, out):
        rules = ctx.getBroadcastState(RULES)
        if rules.contains("a") and rules.contains(value.name):
            times = ctx.timestamp(), ctx.currentWatermark(), ctx.currentProcessingTime()
            out.collect((*times, rules.get("a")))


class Joins(OfElements):
    """Looks the rule of an element up."""

    def processElement(self, value, ctx, out):
        rule = ctx.getBroadcastState(RULES).get(value.name)
        if rule is None:
            ctx.output(SIDE, value.name)
        else:
            out.collect((value.name, value.value, rule))


class Counted(OfElements):
    """Looks numbers up, of which some are equal to others of another type."""

    def processElement(self, value, ctx, out):
        rules = ctx.getBroadcastState(RULES)
        if rules.contains(value.real) or rules.contains(value.mark) or rules.contains(value.at):
            out.collect((value.real, value.mark, value.at, rules.get(value.value)))


class First(OfElements):
    """Yields the first rule that an element meets."""

    def processElement(self, value, ctx, out):
        for name, least in ctx.getBroadcastState(RULES).immutableEntries():
            if value.at >= least:
                yield name, least
                return


class Changes(OfElements):
    """Changes what it gets, which is a copy."""

    def processElement(self, value, ctx, out):
        rule = ctx.getBroadcastState(RULES).get("a")
        if rule is not None:
            rule["n"] += value.at
            out.collect(rule)


class Waits(OfKeys):
    """Keeps what comes before the first rule."""

    def processElement(self, value, ctx, out):
        rules = ctx.getBroadcastState(RULES)
        if not rules.contains("a"):
            self.waiting.add(value)
            ctx.timerService().registerEventTimeTimer(MAX_TIMESTAMP)
        elif rules.contains(value.name):
            out.collect((ctx.getCurrentKey(), value.name))


class Weighs(OfKeys):
    """A sum of each key, by two states."""

    def processElement(self, value, ctx, out):
        weight = ctx.getBroadcastState(RULES).get("a") or 0
        limit = ctx.getBroadcastState(OTHERS).get(ctx.getCurrentKey())
        total = (self.state.value() or 0) + weight * value.at
        self.state.update(total)
        ctx.timerService().registerEventTimeTimer(value.at + 50)
        if limit is not None and total > limit:
            out.collect((ctx.getCurrentKey(), total, limit, ctx.currentWatermark()))


class Matches(OfKeys):
    """Rules that are objects with methods, or records."""

    def processElement(self, value, ctx, out):
        count = self.state.value() or 0
        for entry in ctx.getBroadcastState(RULES).immutableEntries():
            rule = entry.getValue()
            if rule.matches(value):
                count += 1
                break
        self.state.update(count)
        out.collect(count)


@dataclass(frozen=True)
class Between:
    lowest: int
    highest: int

    def matches(self, value):
        return self.lowest <= value.at < self.highest


class Above:
    def __init__(self, lowest: int) -> None:
        self.lowest = lowest

    def matches(self, value):
        return value.at > self.lowest


NUMBERS = st.integers(0, 90)
BY_FUNCTION: dict[type[Any], st.SearchStrategy[Any]] = {
    Contains: NUMBERS,
    Joins: st.one_of(
        NUMBERS,
        NUMBERS.map(lambda n: Row(least=n, name="of a row")),
        NUMBERS.map(lambda n: (n, n / 2)),
    ),
    Counted: st.one_of(NUMBERS, st.booleans(), st.sampled_from(["x", 0.5, -0.0])),
    First: NUMBERS,
    Changes: NUMBERS.map(lambda n: {"n": n}),
    Waits: NUMBERS,
    Weighs: NUMBERS,
    Matches: st.one_of(NUMBERS.map(Above), NUMBERS.map(lambda n: Between(n, n + 20))),
}
FUNCTIONS = list(BY_FUNCTION)


class Driver:
    """The single operator, with functions over columns or without."""

    def __init__(self, function: Any, columns: bool) -> None:
        self.output: list[Any] = []
        self.aside: list[Any] = []
        self.backend = PagedKeyedStateBackend("it")
        output = Output()
        output.connect(Recorder("main", self.output))
        output.connect(Recorder("side", self.aside), SIDE.id)
        context = OperatorContext(
            *("it", "It", self.backend, ProcessingTimeService(), output, TaskInfo("It")),
            tracesFunctions=columns,
        )
        keyed = isinstance(function, KeyedBroadcastProcessFunction)
        description = BroadcastProcessDescription(
            keyed=keyed, function=function, descriptors=(RULES, OTHERS)
        )
        self.scope = ColumnScope()
        with self.scope.entered():
            self.operator: Any = create_operator(context, description)
        self.operator.open()
        self.backend.load(DictPageStore(), None)
        self.operator.restore(None)

    @property
    def runs(self) -> int:
        """The number of runs processed over columns."""
        return sum(runs.taken for runs in self.scope.runs)

    def elements(self, elements: list[tuple[Any, ...]]) -> None:
        self.operator.processRecords1(keyed_records(elements))

    def broadcast(self, *change: Any) -> None:
        self.operator.processRecords2(Records([change], timestamps_of([0])))

    def run(self, steps: list[Any]) -> str:
        """What is emitted, and what is raised, as text, which tells 1 from True."""
        for step in steps:
            try:
                if isinstance(step, int):
                    for number in (0, 1):
                        self.operator.processInputWatermark(number, step)
                elif isinstance(step, tuple):
                    self.broadcast(*step)
                else:
                    self.elements(step)
            except FlinkishError as error:
                return f"{self.output} {self.aside} {error}"
        for number in (0, 1):
            self.operator.processInputWatermark(number, MAX_TIMESTAMP)
        return f"{self.output} {self.aside}"


same = partial(runs_over_columns, Driver)


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)
    monkeypatch.setattr(map_like, "SHORTEST_COLUMNS", 1)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[type[Any], list[Any]]:
    function = draw(st.sampled_from(FUNCTIONS))
    change = st.tuples(
        st.sampled_from([RULES, RULES, OTHERS]),
        st.sampled_from(["a", "b", "", "k", None, 1, 0, True, -0.0, 0.0, 2**62, 1 / 3]),
        st.one_of(BY_FUNCTION[function], st.none()),
    )
    limit = st.tuples(st.just(OTHERS), st.sampled_from("kl"), NUMBERS)
    step = st.one_of(any_elements("kl", 12), change, change, limit)
    steps = draw(st.lists(step, max_size=8))
    marks = sorted(draw(st.lists(st.integers(0, 150), max_size=2)))
    for mark in marks:
        steps.insert(len(steps) * mark // 151, mark)
    at = iter(marks)
    return function, [next(at) if isinstance(step, int) else step for step in steps]


@given(jobs())
@example((Joins, [(RULES, "a", 1), [("k", 1, 1, 0.5, True, "a")], (RULES, "b", "text")]))
def test_a_function_over_columns_is_as_element_by_element(job):
    function, steps = job
    same(function, steps)


RUNS = [random_elements(Random(seed), 40, "kl") for seed in range(4)]


@pytest.mark.parametrize(
    ("function", "one", "other"),
    [
        (Contains, 1, 2),
        (Joins, 1, 2),
        (Joins, Row(least=1, name="x"), Row(least=2, name="y")),
        (First, 50, 0),
        (Counted, True, False),
        (Changes, {"n": 1}, {"n": 2}),
        (Waits, 1, 2),
        (Weighs, 3, 5),
        (Matches, Above(80), Between(20, 60)),
    ],
)
def test_runs_between_changes_are_taken(function, one, other):
    steps = [RUNS[0], (RULES, "a", one), RUNS[1], (RULES, "x", other), RUNS[2], RUNS[3], 200]
    steps += [(RULES, "a", None), RUNS[0], (OTHERS, "k", 7), RUNS[1], (RULES, None, 0), RUNS[2]]
    assert same(function, steps) == 7


@pytest.mark.parametrize("content", ["text", None, (1, 2), 2.0])
def test_a_function_that_was_not_taken_may_be_with_another_content(content):
    """Values of one type can be looked up."""
    mixed = [(RULES, "x", 1), (RULES, "y", content or [1]), RUNS[0], RUNS[1]]
    assert same(Joins, mixed) == 0
    assert same(Joins, [*mixed, (RULES, "y", 2), RUNS[0], RUNS[1]]) == 2


class Puts(OfElements):
    def processElement(self, value, ctx, out):
        ctx.getBroadcastState(RULES).put(value.name, 1)


class Unknown(OfElements):
    def processElement(self, value, ctx, out):
        out.collect(ctx.getBroadcastState(UNKNOWN).get(value.name))


class Many(OfElements):
    """As many results as rules, which is another number for each element."""

    def processElement(self, value, ctx, out):
        for _, least in ctx.getBroadcastState(RULES).immutableEntries():
            if value.at >= least:
                out.collect(least)


UNKNOWN = MapStateDescriptor[Any, Any]("unknown")


@pytest.mark.parametrize("function", [Puts, Unknown, Many])
def test_runs_that_are_not_taken(function):
    assert same(function, [*((RULES, n, n) for n in range(8)), RUNS[0]]) == 0


def test_a_content_that_changes_before_each_run_is_given_up():
    steps = [step for n in range(100) for step in ((RULES, "a", n), RUNS[n % 4][:3])]
    runs = same(Contains, steps)
    assert 50 < runs < 70
    assert same(Contains, [*steps, *(RUNS[0] for _ in range(10))]) > runs
