"""Keyed process functions over columns do what they do element by element: to states, timers and results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flinkish import (
    Duration,
    KeyedProcessFunction,
    OutputTag,
    Row,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.api.errors import UserFunctionError
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.api.plan.operators import KeyedProcessDescription
from flinkish.api.time.elements import MAX_TIMESTAMP
from flinkish.runtime.columns import phase_columns
from flinkish.runtime.columns.keyed_process import KeyedColumnProcess
from flinkish.runtime.columns.tracing.phase_fold import PhaseFold
from flinkish.runtime.operators.base import OperatorContext
from flinkish.runtime.operators.output import Output
from flinkish.runtime.records.records import NO_TIMESTAMP
from flinkish.runtime.state.page_store import DictPageStore
from flinkish.runtime.state.paged_backend import PagedKeyedStateBackend
from flinkish.runtime.time.clock import ProcessingTimeService
from tests.benchmarks.jobs import Totals
from tests.runtime.columns.keyed_elements import (
    any_elements,
    keyed_records,
    random_elements,
    runs_over_columns,
)
from tests.runtime.properties import part_of_examples
from tests.runtime.windowing.operators import Recorder

pytestmark = pytest.mark.slow("thousands of calls, with and without columns")

LIMIT = 3
SIDE = OutputTag[Any]("side")


class WithState(KeyedProcessFunction[Any, Any, Any]):
    """Has a state, and shows it when a timer fires."""

    default: Any = None

    def open(self, openContext):
        context = self.getRuntimeContext()
        self.state = context.getState(ValueStateDescriptor("state", default=self.default))
        self.other = context.getState(ValueStateDescriptor("other"))
        self.factor = 2

    def onTimer(self, timestamp, ctx, out):
        out.collect((ctx.getCurrentKey(), timestamp, self.state.value(), self.other.value()))


class Folds(WithState):
    """A field of each kind, and timers by the element."""

    def processElement(self, value, ctx, out):
        state = self.state.value()
        if state is None:
            self.state.update((value.at, value.at, value.value, 1, value.name, value.real))
            ctx.timerService().registerEventTimeTimer(MAX_TIMESTAMP)
        else:
            first, lowest, total, count, name, _ = state
            lowest = min(lowest, value.at)
            self.state.update(
                (first, lowest, total + value.value, count + 1, max(name, value.name), value.real)
            )
        ctx.timerService().registerEventTimeTimer(value.at - value.at % 10 + 10)


class Distinct(WithState):
    """The first element of each key."""

    default = False

    def processElement(self, value, ctx, out):
        if not self.state.value():
            self.state.update(True)
            out.collect(value)


class Counts(WithState):
    """A result for each element, by what the state is then."""

    def processElement(self, value, ctx, out):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        out.collect((ctx.getCurrentKey(), count, ctx.timestamp()))


class Alerts(WithState):
    """Results and timers where a threshold is reached."""

    def processElement(self, value, ctx, out):
        total = self.state.value()
        total = value.value if total is None else total + value.value
        self.state.update(total)
        if total % LIMIT == 0:
            out.collect((value.name, total, total // LIMIT))
            if total > 5 * self.factor:
                out.collect((ctx.getCurrentKey(), -total, value.at))
                ctx.timerService().registerEventTimeTimer(value.at + total)


class Two(WithState):
    """Two states, of which one is not always updated."""

    def processElement(self, value, ctx, out):
        state = self.state.value()
        if state is None:
            self.state.update(Row(highest=value.real, last=value.name))
            self.other.update(0)
            return
        self.state.update(Row(highest=max(state.highest, value.real), last=value.name))
        if value.mark:
            self.other.update(self.other.value() + value.value)
        out.collect((state.last, self.other.value(), state.highest < value.real))


class Late(WithState):
    """Emits elements behind the watermark."""

    def processElement(self, value, ctx, out):
        if ctx.timestamp() <= ctx.timerService().currentWatermark():
            out.collect(("late", value))
        else:
            ctx.timerService().registerEventTimeTimer(ctx.timestamp())
            out.collect(("timely", value))


class Waits(WithState):
    """A timer that each element moves, and that some delete."""

    def processElement(self, value, ctx, out):
        timers = ctx.timerService()
        waiting = self.state.value()
        if waiting is not None:
            timers.deleteEventTimeTimer(waiting)
        if value.value % 4 == 0:
            timers.registerEventTimeTimer(value.at)
            timers.deleteEventTimeTimer(value.at - value.value)
        self.state.update(value.at + 30)
        timers.registerEventTimeTimer(value.at + 30)


class ByClock(WithState):
    """Timers of both time domains, and both clocks."""

    def processElement(self, value, ctx, out):
        timers = ctx.timerService()
        now = timers.currentProcessingTime()
        due = now - now % 7 + value.value
        if value.mark:
            timers.registerProcessingTimeTimer(due)
        elif value.name == "x":
            timers.deleteProcessingTimeTimer(due)
            timers.registerProcessingTimeTimer(due + 1)
        else:
            timers.registerEventTimeTimer(due)
        out.collect((now, max(now, timers.currentWatermark())))


class Divides(WithState):
    """Raises at times."""

    def processElement(self, value, ctx, out):
        state = self.state.value()
        self.state.update(value.value if state is None else state + value.value)
        if state is not None:
            out.collect(value.value // state)


class Sums(WithState):
    """Floats, in the order of the elements."""

    def processElement(self, value, ctx, out):
        state = self.state.value()
        total = value.real if state is None else state + value.real
        self.state.update(total)
        out.collect(total)


class Tallies(WithState):
    """A dict as state, which is changed in place; and results that go on to change."""

    def processElement(self, value, ctx, out):
        tally = self.state.value() or {"count": 0, "of": {"last": ""}}
        tally["count"] += 1
        tally["of"] = {"last": value.name}
        self.state.update(tally)
        out.collect(tally)
        tally["count"] = -tally["count"]
        tally.update(of={"last": str(ctx.getCurrentKey())})
        out.collect(tally)


class Extremes(WithState):
    """A list as state, which is changed in place, also in parts."""

    def processElement(self, value, ctx, out):
        found = self.state.value() or [0, value.real, [value.name, False]]
        found[0] += 1
        found[1] = max(found[1], value.real)
        found[-1][1] = found[2][1] or value.mark
        self.state.update(found)
        count, highest, last = found
        out.collect((count, highest, len(found), *last))
        found[0] = found[2][0] = 99


class Rises(WithState):
    """The element before, and the highest text so far."""

    def processElement(self, value, ctx, out):
        before = self.state.value()
        if before is None:
            self.state.update((value.value, value.name, value.mark))
            return
        self.state.update((value.value, max(before[1], value.name), before[2] or value.mark))
        if value.value > before[0]:
            out.collect((before, value.value - before[0]))


class Returns(WithState):
    """Returns its results, one of them after what it wrote."""

    def processElement(self, value, ctx, out):
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        out.collect((value.name, 0))
        return [(value.name, count)] if count > 2 else []


class Yields(WithState):
    """Yields the highest of what its element has, among others."""

    def processElement(self, value, ctx, out):
        total = (self.state.value() or 0) + value.value
        self.state.update(total)
        for number in (value.at, max([total, value.at], key=lambda each: -each)):
            yield value.name, number


class Clears(WithState):
    def processElement(self, value, ctx, out):
        if value.mark:
            self.state.clear()
        else:
            self.state.update(value.value)


class MayStayEmpty(WithState):
    def processElement(self, value, ctx, out):
        if self.state.value() is None and value.mark:
            self.state.update(value.value)


class OnlyLater(WithState):
    def processElement(self, value, ctx, out):
        if self.state.value() is not None:
            self.other.update(1)
        self.state.update(1)


class ChangesType(WithState):
    def processElement(self, value, ctx, out):
        state = self.state.value()
        self.state.update(value.value if state is None else state + value.real)


class SideOutput(WithState):
    def processElement(self, value, ctx, out):
        state = (self.state.value() or 0) + 1
        self.state.update(state)
        if value.mark:
            ctx.output(SIDE, (value.name, state))
        else:
            out.collect(state)


FOLLOWED = [
    *(Totals, Folds, Distinct, Counts, Alerts, Two, Late, Divides, Sums, Tallies, Extremes, Rises),
    *(Returns, Yields, Waits, ByClock),
]

SWITCHING = [SideOutput, Clears, MayStayEmpty, OnlyLater, ChangesType]
"""Their keys change the specialization often, so that some runs are left to the function."""


class Driver:
    """The single operator, with functions over columns or without."""

    def __init__(self, function: Any, columns: bool) -> None:
        self.output: list[Any] = []
        self.aside: list[Any] = []
        self.backend = PagedKeyedStateBackend("it")
        self.store, self.directory = DictPageStore(), None
        output = Output()
        output.connect(Recorder("main", self.output))
        output.connect(Recorder("side", self.aside), SIDE.id)
        info = TaskInfo("It")
        self.clock = ProcessingTimeService()
        context = OperatorContext(
            "it", "It", self.backend, self.clock, output, info, tracesFunctions=columns
        )
        call = getattr(function, "processElement", function)
        named = function if call is not function else None
        self.operator = KeyedColumnProcess(context, KeyedProcessDescription(named, call))
        self.operator.open()
        self.backend.load(self.store, None)
        self.operator.restore(None)

    @property
    def runs(self) -> int:
        """The number of runs processed as columns."""
        return 0 if self.operator.path is None else self.operator.path.fold.runs.taken

    def restart(self) -> None:
        snapshot = self.operator.snapshot()
        self.directory = self.backend.flush()
        self.backend.load(self.store, self.directory)
        self.operator.restore(snapshot)

    def elements(self, elements: list[tuple[Any, ...]], times: list[int] | None = None) -> None:
        self.operator.processRecords(keyed_records(elements, times))

    def run(self, steps: list[Any]) -> str:
        """Return the output, and the states afterwards; as text, which tells 1 from True, and 0.0 from -0.0."""
        for step in steps:
            if step == "restart":
                self.restart()
            elif isinstance(step, int):
                if step > self.operator.currentWatermark:
                    self.operator.processWatermark(step)
                self.advanceClock(self.clock.getCurrentProcessingTime() + step)
            else:
                try:
                    self.elements(step)
                except UserFunctionError as error:
                    return f"{self.output} {self.aside} {error}"
        self.restart()
        states = [sorted(self.backend.table(name).entries()) for name in ("state", "other")]
        self.operator.processWatermark(MAX_TIMESTAMP)
        self.advanceClock(MAX_TIMESTAMP)
        return f"{self.output} {self.aside} {states}"

    def advanceClock(self, now: int) -> None:
        self.clock.advanceTo(now)
        self.operator.advanceProcessingTime(now)


same = partial(runs_over_columns, Driver)


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 1)


def elements(most: int) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    return any_elements("abcd", most)


STEPS = st.lists(
    st.one_of(elements(30), elements(30), st.integers(0, 120), st.just("restart")), max_size=8
)


def some(count: int, keys: str = "abcdef") -> list[tuple[Any, ...]]:
    return random_elements(Random(count), count, keys)


@pytest.mark.takes_columns("PhaseFold")
@pytest.mark.parametrize("function", [*FOLLOWED, *SWITCHING])
@part_of_examples(2)
@given(steps=STEPS)
@example(steps=[some(100), 30, some(101), "restart", some(102), 60])
def test_runs_do_what_their_elements_do(function: Callable[[], Any], steps: list[Any]) -> None:
    same(function, steps)


@pytest.mark.parametrize("function", FOLLOWED)
def test_functions_are_followed(function: Callable[[], Any]) -> None:
    assert same(function, [some(100), 30, some(101), "restart", some(102), 60]) == 3
    assert PhaseFold(function().processElement).reason is None


@pytest.mark.parametrize("function", SWITCHING)
def test_functions_whose_states_come_and_go_are_followed(function: Callable[[], Any]) -> None:
    assert same(function, [some(40), 30, some(41)]) > 0
    assert PhaseFold(function().processElement).reason is None


# ---------------------------------------------------------------------- functions drawn at random

FIELDS = {
    "int": [
        ("value.value", "{s} + value.value"),
        ("value.at", "min({s}, value.at)"),
        ("value.value * 2", "max(value.value * 2, {s})"),
        ("1", "{s} + 1"),
        ("0", "{s} + 1 if value.mark else {s}"),
        ("value.value", "value.value"),
        ("value.at", "{s}"),
        ("ctx.timestamp()", "value.at if value.value > 3 else {s}"),
        ("value.at - value.value", "{s} - value.at + value.value"),
    ],
    "float": [
        ("value.real", "{s} + value.real"),
        ("value.real", "max({s}, value.real)"),
        ("value.real", "value.real if value.mark else {s}"),
    ],
    "str": [
        ("value.name", "min({s}, value.name)"),
        ("ctx.getCurrentKey()", "value.name"),
        ('"none"', "value.name if value.value % 2 == 0 else {s}"),
    ],
    "bool": [("value.mark", "{s} or value.mark"), ("True", "{s} and value.value > 0")],
}
NUMBERS_OF_ELEMENT = ["value.value", "value.at", "ctx.timestamp()", "LIMIT", "-2"]
TIMERS = [
    "registerEventTimeTimer({0})",
    "deleteEventTimeTimer({0})",
    "registerProcessingTimeTimer(ctx.timerService().currentProcessingTime() + {0} % 9)",
    "deleteProcessingTimeTimer(ctx.timerService().currentProcessingTime() + {0} % 9)",
]


def random_function(random: Random) -> str:
    """The source of a ``processElement`` that keeps, emits and registers what it can."""
    fields = [random.choice([*FIELDS, "int"]) for _ in range(random.randint(1, 3))]
    forms = [random.choice(FIELDS[kind]) for kind in fields]
    single = len(forms) == 1 and random.random() < 0.5
    parts = ["state"] if single else [f"state[{number}]" for number in range(len(forms))]
    made = [first for first, _ in forms]
    later = [then.format(s=part) for (_, then), part in zip(forms, parts)]
    known = [p for p, kind in zip(parts, fields) if kind == "int"]

    def kept(values: list[str]) -> str:
        return values[0] if single else f"({', '.join(values)},)"

    def number(stateful: bool) -> str:
        one, other = (
            random.choice(NUMBERS_OF_ELEMENT + (known * 2 if stateful else [])) for _ in range(2)
        )
        return f"{one} {random.choice(['+', '-', '*', '//', '%'])} {other}"

    def effect(stateful: bool) -> list[str]:
        shown = ["value.name", number(stateful), *(known[:1] if stateful else ["0"][: len(known)])]
        lines = [f"out.collect(({', '.join(shown)}))"]
        if random.random() < 0.4:
            wait = f"value.at + abs({number(stateful)}) % 50"
            for timer in random.choices(TIMERS, (4, 1, 1, 1), k=random.choice([1, 1, 2])):
                lines.append(f"ctx.timerService().{timer.format(wait)}")
        if random.random() < 0.5:
            condition = f"{number(stateful)} {random.choice(['<', '>=', '=='])} {number(stateful)}"
            return [f"if {condition}:", *(f"    {line}" for line in lines)]
        return lines

    update = f"self.state.update({kept(later)})"
    if random.random() < 0.3:
        update = f"if value.value != 2: {update}"
    body = [
        "state = self.state.value()",
        "if state is None:",
        f"    self.state.update({kept(made)})",
        *(f"    {line}" for line in effect(False)),
        "else:",
        *(f"    {line}" for line in (effect(True) if random.random() < 0.7 else [])),
        f"    {update}",
    ]
    return "\n".join(["def processElement(self, value, ctx, out):", *(f"    {b}" for b in body)])


def compiled(source: str) -> Callable[[], Any]:
    names: dict[str, Any] = {"__name__": __name__, "LIMIT": LIMIT}
    exec(source, names)  # of our own making
    return type("Drawn", (WithState,), {"processElement": names["processElement"]})


def random_steps(random: Random) -> list[Any]:
    wide = random.random() < 0.2
    steps: list[Any] = []
    watermark = 0
    for _ in range(random.randint(1, 5)):
        run = some(random.randint(1, 60), "abcde"[: random.randint(1, 5)])
        numbers = [-(2**63), 2**62, 0, -1] if wide else range(-20, 20)
        steps.append(
            [
                (k, at, random.choice(numbers), random.choice([real, -0.0, 0.5, -real]), mark, name)
                for k, at, _, real, mark, name in run
            ]
        )
        watermark += random.randint(0, 40)
        steps.append(random.choice(["restart", watermark]))
    return steps


def check_random_functions(count: int, seed: int) -> None:
    """``count`` random functions do with a run what they do with its elements, and most of them at once."""
    random = Random(seed)
    runs = 0
    for _ in range(count):
        source = random_function(random)
        steps = random_steps(random)
        try:
            runs += same(compiled(source), steps) > 0
        except AssertionError as error:
            raise AssertionError(f"{source}\n{steps}") from error
    assert runs > count / 2


def test_random_functions_do_what_they_do_with_each_element() -> None:
    check_random_functions(75, 7)


@pytest.mark.slow("thousands of functions, each on a few runs")
@pytest.mark.thorough("thousands of functions")
def test_thousands_of_random_functions() -> None:
    check_random_functions(6_000, 11)


# ---------------------------------------------------------------------- what is not followed


class Shares(WithState):
    """Stores an object in two parts of the state: changing one changes the other, also after the
    state is read again."""

    def processElement(self, value, ctx, out):
        both = self.state.value()
        if both is None:
            part = [0]
            both = (part, part)
        both[0][0] += 1
        self.state.update(both)
        out.collect(both[1][0])


class Averages(WithState):
    def processElement(self, value, ctx, out):
        state = self.state.value()
        self.state.update(value.value if state is None else (state + value.value) // 2)


class MixedResults(WithState):
    def processElement(self, value, ctx, out):
        out.collect(value.value)
        if value.mark:
            out.collect((value.name, value.value))


class MadeTag(WithState):
    def processElement(self, value, ctx, out):
        ctx.output(OutputTag("made"), value.value)


class AtFloat(WithState):
    def processElement(self, value, ctx, out):
        ctx.timerService().registerEventTimeTimer(value.at / 2)


class ReturnsNoList(WithState):
    def processElement(self, value, ctx, out):
        if value.value == 10**6:  # never
            return value.value
        return [value.value]


class AsksForRuntime(WithState):
    def processElement(self, value, ctx, out):
        out.collect(self.getRuntimeContext().getIndexOfThisSubtask())


class KeepsRuntime(WithState):
    def open(self, openContext):
        super().open(openContext)
        self.context = self.getRuntimeContext()

    def processElement(self, value, ctx, out):
        out.collect(self.context.getIndexOfThisSubtask())


class Expires(WithState):
    def open(self, openContext):
        super().open(openContext)
        descriptor = ValueStateDescriptor("expires")
        descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofMillis(4)).build())
        self.expires = self.getRuntimeContext().getState(descriptor)

    def processElement(self, value, ctx, out):
        self.expires.update(value.value)


class MutableDefault(WithState):
    default: Any = ([],)

    def processElement(self, value, ctx, out):
        kept: Any = self.state.value()
        self.state.update((kept[0], value.value))


class Emits(WithState):
    def processElement(self, value, ctx, out):
        out.collect(None)


UNSUPPORTED = {
    Shares: "hands over a list twice, which can change (line",
    Averages: "field 0 of its result is no sum, count, minimum, maximum, first or last",
    MixedResults: "emits values of different shapes",
    MadeTag: "calls OutputTag (line",
    AtFloat: "has a timer at a time that is not an integer (line",
    ReturnsNoList: "returns a value that is not a list of results",
    AsksForRuntime: "calls self.getRuntimeContext (line",
    KeepsRuntime: "uses its runtime context (line",
    Expires: "uses a state whose values expire, or which reduces",
    MutableDefault: "uses a state whose default value can change (line",
    Emits: "emits None (line",
}


@pytest.mark.parametrize("function", UNSUPPORTED)
def test_others_are_called_for_each_element(function: Any) -> None:
    steps = [some(40), 30, some(41)]
    quick = Driver(function(), columns=True)
    assert quick.run(steps) == Driver(function(), columns=False).run(steps)
    assert quick.runs == 0
    path = quick.operator.path
    assert path is not None
    reasons = [path.fold.reason, path.fold._reason]
    assert next(filter(None, reasons)).startswith(UNSUPPORTED[function])


def test_states_of_another_kind_are_left_to_the_function() -> None:
    driver = Driver(Counts(), columns=True)
    driver.backend.currentKey = "a"
    driver.operator._function.state.update(2.5)
    driver.elements(some(20, "a"))
    assert driver.runs == 0
    assert driver.operator._function.state.value() == 22.5


def test_sums_beyond_64_bits_are_left_to_the_function() -> None:
    large = [("a", 1, 2**62, 0.5, True, "x")] * 4
    assert same(Alerts, [some(5, "a"), large, some(5, "a")]) == 1


def test_elements_without_a_timestamp_are_left_to_a_function_that_asks_for_it() -> None:
    driver = Driver(Counts(), columns=True)
    driver.elements(some(5), [NO_TIMESTAMP] * 5)
    assert driver.runs == 0
    assert [record[1][2] for record in driver.output] == [None] * 5
    driver = Driver(Distinct(), columns=True)
    driver.elements(some(5), [NO_TIMESTAMP] * 5)
    assert driver.runs == 1


def test_nulls_are_left_to_a_function_that_asks_for_none() -> None:
    driver = Driver(Rises(), columns=True)
    driver.elements([*some(5), ("a", 1, 2, 0.5, None, "x")])
    assert driver.runs == 0


def test_a_changed_attribute_is_seen() -> None:
    driver, each = Driver(Alerts(), columns=True), Driver(Alerts(), columns=False)
    for it in (driver, each):
        it.elements(some(50))
        it.operator._function.factor = -5
        it.elements(some(51))
    assert driver.runs == 2
    assert repr(driver.output) == repr(each.output)


def test_plain_functions_too() -> None:
    def shown(value: Any, ctx: Any, out: Any) -> None:
        out.collect((ctx.getCurrentKey(), value.value))

    assert same(lambda: shown, [some(20), some(21)]) == 2


def test_few_elements_are_processed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phase_columns, "LEAST_ELEMENTS", 21)
    assert same(Counts, [some(20), some(21)]) == 1
