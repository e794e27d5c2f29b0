"""Errors, warnings, life cycles, subtypes and the drawing, which the recorded cases do not
cover."""

from __future__ import annotations

import re
import warnings
from typing import Any, ClassVar, NamedTuple

import pytest

from flinkish import (
    ChangedAttributeWarning,
    Duration,
    MissingTimestampError,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    StreamRecord,
    UserFunctionError,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from flinkish.api.display.job_drawing import job_drawing
from flinkish.api.errors import FlinkishError, IllegalStateError, InvalidProgramError
from flinkish.cep import (
    CEP,
    AfterMatchSkipStrategy,
    EventComparator,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    PatternProcessFunction,
    PatternSelectFunction,
    RichIterativeCondition,
    RichPatternSelectFunction,
    SimpleCondition,
    UnboundedPatternWarning,
    WithinType,
)
from flinkish.testing import StreamTestHarness

LATE = OutputTag[tuple[str, str]]("late")
Element = tuple[str, str]


def of(kind: str) -> Any:
    return lambda element: element[1] == kind


def a_then_b() -> Pattern[Any, Any]:
    return Pattern.begin("a").where(of("a")).followedBy("b").where(of("b")).within(100)


def harness(pattern: Pattern[Any, Any], select: Any = lambda match: match) -> StreamTestHarness:
    return StreamTestHarness(
        lambda stream: CEP.pattern(stream.keyBy(lambda e: e[0]), pattern).select(select)
    )


def values(run: StreamTestHarness) -> list[Any]:
    return [record.value for record in run.getOutput() if isinstance(record, StreamRecord)]


# ---------------------------------------------------------------------- errors


def test_a_condition_that_raises_is_named_by_stage_and_element():
    pattern = a_then_b().next("ratio").where(lambda element: 1 / 0)
    run = harness(pattern)
    for number, kind in enumerate("abz"):
        run.processElement(("k", kind), number)
    with pytest.raises(UserFunctionError) as raised:
        run.processWatermark(10)
    message = str(raised.value)
    assert "CepOperator: the user function raised ZeroDivisionError" in message
    assert "in where(...) of the stage 'ratio', on the element ('k', 'z')" in message
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_condition_with_context_is_named_too():
    def fails(element, ctx):
        raise ValueError("no")

    pattern = Pattern.begin("first").where(fails).within(5)
    run = harness(pattern)
    run.processElement(("k", "a"), 1)
    with pytest.raises(UserFunctionError, match="of the stage 'first'"):
        run.processWatermark(10)


def test_a_select_function_that_raises_names_the_match():
    run = harness(a_then_b(), lambda match: match["c"])
    run.processElement(("k", "a"), 1)
    run.processElement(("k", "b"), 2)
    with pytest.raises(UserFunctionError, match=r"KeyError.*\('k', 'b'\)"):
        run.processWatermark(10)


def test_a_comparator_that_raises_is_named():
    run = StreamTestHarness(
        lambda stream: CEP.pattern(
            stream.keyBy(lambda e: e[0]), a_then_b(), lambda a, b: 1 // 0
        ).select(lambda match: match)
    )
    run.processElement(("k", "a"), 1)
    run.processElement(("k", "b"), 1)
    with pytest.raises(UserFunctionError, match="the comparator of events"):
        run.processWatermark(10)


def test_an_element_without_a_timestamp_is_an_error():
    with pytest.raises(MissingTimestampError, match="CepOperator"):
        harness(a_then_b()).processElement(("k", "a"))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Pattern.begin("a").where(SimpleCondition), "is a class"),
        (lambda: Pattern.begin("a").where(lambda: True), "cannot be called with 1 or 2"),
        (lambda: Pattern.begin("a").where(3), "is not a function"),
        (lambda: Pattern.begin("a").subtype("text"), "Pass a class"),
        (lambda: Pattern.begin(3), "neither the name of a stage nor a pattern"),
        (lambda: Pattern.begin("a").times(0), "times"),
        (lambda: Pattern.begin("a").times(3, 2), "from 3 to 2 times is no range"),
        (lambda: Pattern.begin("a").within("soon"), "within: windowTime"),
        (lambda: Pattern.begin(Pattern.begin("a")).where(of("a")), "accepts no events itself"),
        (lambda: Pattern.begin(Pattern.begin("a")).subtype(str), "accepts no events itself"),
        (lambda: Pattern.begin("a").notNext(Pattern.begin("b")), "a group cannot be negated"),
        (lambda: AfterMatchSkipStrategy.skipToNext().throwExceptionOnMiss(), "skips to no stage"),
        (lambda: Pattern.begin("a").oneOrMore().until(of("b")).until(of("c")), "already"),
        (lambda: CEP.pattern("stream", a_then_b()), "Pass the stream first"),
    ],
)
def test_what_cannot_be_is_refused_where_it_is_written(build, words):
    with pytest.raises(FlinkishError, match=re.escape(words)):
        build()


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (Pattern.begin("a").next("a"), "two stages of the name 'a'"),
        (Pattern.begin("a").next(Pattern.begin("a")), "two stages of the name 'a'"),
        (Pattern.begin("$endState$"), "stands for the end of the pattern"),
    ],
)
def test_names_are_unique(pattern, words):
    with pytest.raises(MalformedPatternError, match=re.escape(words)):
        harness(pattern)


def optional(name: str, pattern: Any = Pattern) -> Pattern[Any, Any]:
    stage = pattern.begin(name) if pattern is Pattern else pattern.followedBy(name)
    return stage.where(of(name)).optional()


def ends(pattern: Pattern[Any, Any]) -> Pattern[Any, Any]:
    return pattern.where(of("b")).followedBy("c").where(of("c")).within(100)


@pytest.mark.parametrize(
    "pattern",
    [
        ends(Pattern.begin(optional("a")).notNext("b")),
        ends(Pattern.begin(optional("a")).notFollowedBy("b")),
        ends(Pattern.begin(optional("a", optional("x"))).notNext("b")),
        ends(Pattern.begin(Pattern.begin(optional("a"))).notFollowedBy("b")),
        ends(Pattern.begin(optional("a")).times(2).notNext("b")),
        ends(optional("x").followedBy(optional("a")).notNext("b")),
        Pattern.begin(optional("a")).notFollowedBy("b").where(of("b")).within(100),
        Pattern.begin(ends(Pattern.begin(optional("a")).notNext("b"))).times(2),
    ],
)
def test_nothing_but_optional_stages_before_one_that_accepts_no_event_is_refused(pattern):
    with pytest.raises(
        MalformedPatternError, match="the stage 'b' accepts no event, and all stages before it"
    ):
        harness(pattern)


def test_a_group_of_optional_stages_may_follow_a_necessary_one():
    start = Pattern.begin("s").where(of("s"))
    run = harness(ends(start.followedBy(optional("a")).notNext("b")))
    group = ends(Pattern.begin(optional("a")).notNext("b"))
    inner = harness(start.followedBy(group).within(100))
    for each in (run, inner):
        for at, kind in enumerate("bsacsbc"):
            each.processElement(("k", kind), at)
        each.endInput()
        assert {"s": [("k", "s")], "a": [("k", "a")], "c": [("k", "c")]} in values(each)


@pytest.mark.parametrize("kind", list(WithinType))
def test_a_negative_length_is_no_limit_as_in_flink(kind):
    pattern = Pattern.begin("a").where(of("a")).oneOrMore(-1).next("b").where(of("b"))
    with pytest.warns(UnboundedPatternWarning):
        run = harness(pattern.within(Duration.ofMillis(-1), kind))
    for at, element in ((0, "a"), (10**6, "a"), (10**9, "b")):
        run.processElement(("k", element), at)
    run.endInput()
    assert [len(match["a"]) for match in values(run)] == [2, 1]


@pytest.mark.parametrize("length", [0, -1])
def test_what_ends_with_a_stage_that_accepts_no_event_waits_for_a_positive_time(length):
    def ending() -> Pattern[Any, Any]:
        return Pattern.begin("a").where(of("a")).notFollowedBy("b").where(of("b"))

    with pytest.raises(MalformedPatternError, match="Call within"):
        harness(ending().within(length, WithinType.PREVIOUS_AND_CURRENT))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda stream: stream.select(lambda: 1),
        lambda stream: stream.select(lambda match: 1, lambda match: 2),
        lambda stream: stream.select("tag", lambda match, at: 1, lambda match: 2),
        lambda stream: stream.process(lambda match: 1),
        lambda stream: stream.flatSelect(3),
    ],
)
def test_functions_of_matches_are_checked(attempt):
    with pytest.raises(InvalidProgramError):
        StreamTestHarness(lambda stream: attempt(CEP.pattern(stream, a_then_b())))


def test_a_loop_that_needs_no_event_ends_with_an_error():
    inner = Pattern.begin("a").where(of("a")).optional()
    run = harness(Pattern.begin("s").where(of("s")).next(inner).oneOrMore().within(10))
    run.processElement(("k", "s"), 1)
    run.processElement(("k", "x"), 2)
    with pytest.raises(MalformedPatternError, match="leads back to itself"):
        run.processWatermark(10)


# ---------------------------------------------------------------------- warnings


def test_a_pattern_without_a_time_limit_warns():
    unbounded = Pattern.begin("a").where(of("a")).followedBy("b").where(of("b"))
    with pytest.warns(UnboundedPatternWarning, match=r"begin\('a'\) followedBy\('b'\)"):
        harness(unbounded)


@pytest.mark.parametrize("pattern", [a_then_b(), Pattern.begin("a").where(of("a"))])
def test_a_pattern_whose_state_is_bounded_does_not(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        harness(pattern)


def test_functions_with_a_runtime_context_run_without_a_warning():
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(1)
    elements = env.fromCollection([("k", "a"), ("k", "b"), ("k", "a")])
    result = CEP.pattern(elements, a_then_b()).inProcessingTime().process(Counted())
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChangedAttributeWarning)
        assert list(result.executeAndCollect()) == ["a, b"]


class Counted(PatternProcessFunction[Any, str]):
    def open(self, openContext):
        self.getRuntimeContext().getMetricGroup().counter("matches")

    def processMatch(self, match, ctx, out):
        yield ", ".join(match)


# ---------------------------------------------------------------------- what conditions see


class Animal(NamedTuple):
    name: str


class Cat(NamedTuple):
    name: str
    lives: int


def test_a_subtype_is_asked_before_the_conditions_behind_it():
    pattern = Pattern.begin("cat").subtype(Cat).where(lambda cat: cat.lives > 5).within(10)
    run = StreamTestHarness(
        lambda stream: CEP.pattern(stream, pattern).select(lambda match: match["cat"][0].name)
    )
    for number, animal in enumerate((Animal("Rex"), Cat("Tom", 9), Cat("Ada", 1))):
        run.processElement(animal, number)
    run.processWatermark(10)
    assert values(run) == ["Tom"]


class AfterFirst(RichIterativeCondition[Element]):
    """Counts how often it is opened and closed."""

    calls: ClassVar[list[str]] = []

    def open(self, openContext):
        self.calls.append("open")

    def close(self):
        self.calls.append("close")

    def filter(self, value, ctx):
        assert ctx.timestamp() == 7
        assert ctx.currentProcessingTime() == 0
        assert list(ctx.getEventsForPattern("none")) == []
        return [element[1] for element in ctx.getEventsForPattern("a")] == ["a"]


def test_a_rich_condition_is_opened_once_and_asked_with_its_context():
    AfterFirst.calls.clear()
    condition = AfterFirst()
    pattern = Pattern.begin("a").where(of("a")).followedBy("b").where(condition).within(100)
    run = harness(pattern)
    run.processElement(("k", "a"), 5)
    run.processElement(("k", "b"), 7)
    run.processWatermark(10)
    assert values(run) == [{"a": [("k", "a")], "b": [("k", "b")]}]
    run.close()
    assert AfterFirst.calls == ["open", "close"]


def test_a_simple_condition_is_asked_once_for_an_event():
    asked = []

    def accepts(element):
        asked.append(element)
        return element[1] == "b"

    pattern = Pattern.begin("a").where(of("a")).followedBy("b").where(accepts).within(100)
    run = harness(pattern)
    for number, kind in enumerate("aaab"):
        run.processElement(("k", kind), number)
    run.processWatermark(10)
    assert len(values(run)) == 3
    assert len(asked) == 3, "once for each event while a match waits, whatever number of them"


class WithState(RichPatternSelectFunction[Element, str]):
    def open(self, openContext):
        self.getRuntimeContext().getState(ValueStateDescriptor("seen"))

    def select(self, pattern):
        return ""


def test_functions_of_matches_have_no_state_as_in_flink():
    with pytest.raises(IllegalStateError, match="have no keyed state"):
        harness(a_then_b(), WithState())


class First(PatternSelectFunction[Element, str]):
    def select(self, pattern):
        return pattern["a"][0][1]


def test_function_classes_and_simple_conditions():
    condition = SimpleCondition.of(of("a"))
    run = harness(Pattern.begin("a").where(condition).within(3), First())
    run.processElement(("k", "a"), 1)
    run.processWatermark(1)
    assert values(run) == ["a"]


class Backwards(EventComparator[Element]):
    def compare(self, a, b):
        return (a[1] < b[1]) - (a[1] > b[1])


def test_a_comparator_orders_events_of_one_time():
    pattern = Pattern.begin("b").where(of("b")).next("a").where(of("a")).within(5)
    run = StreamTestHarness(
        lambda stream: CEP.pattern(stream, pattern, Backwards()).select(lambda match: len(match))
    )
    run.processElement(("k", "a"), 1)
    run.processElement(("k", "b"), 1)
    run.processWatermark(1)
    assert values(run) == [2]


# ---------------------------------------------------------------------- state


def test_the_state_of_a_key_goes_with_its_last_partial_match():
    run = harness(a_then_b())
    for number in range(50):
        run.processElement(("k", "a"), number)
        run.processElement(("other", "x"), number)
    run.processWatermark(60)
    assert run.numKeyedStateEntries() == 1
    run.processWatermark(200)
    assert run.numKeyedStateEntries() == 0
    assert run.numEventTimeTimers() == 0


def test_late_elements_are_counted():
    run = harness(a_then_b())
    run.processWatermark(10)
    run.processElement(("k", "a"), 10)
    assert run.numLateRecordsDropped() == 1


def test_another_pattern_does_not_take_over_the_state():
    snapshot = harness(a_then_b()).snapshot()
    other = a_then_b().next("c").where(of("c")).within(100)
    build = lambda stream: CEP.pattern(stream.keyBy(lambda e: e[0]), other).select(lambda m: m)  # noqa: E731
    with pytest.raises(FlinkishError):
        StreamTestHarness.restore(build, snapshot)


@pytest.mark.parametrize("mode", list(RuntimeExecutionMode)[:2])
def test_local_jobs_in_both_modes(mode):
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setRuntimeMode(mode)
    strategy = WatermarkStrategy.forBoundedOutOfOrderness(Duration.ofMillis(50))
    stream = env.fromCollection(
        [("k", "a", 1), ("k", "b", 30), ("l", "a", 5), ("k", "a", 20), ("l", "b", 200)]
    ).assignTimestampsAndWatermarks(strategy.withTimestampAssigner(lambda e, at: e[2]))
    timed_out = OutputTag("timedOut")
    matches = CEP.pattern(stream.keyBy(lambda e: e[0]), a_then_b()).select(
        timed_out, lambda match, at: (at, *match), lambda match: match["a"][0][2]
    )
    found, late = matches.collectAsync(), matches.getSideOutput(timed_out).collectAsync()
    env.execute()
    assert list(found) == [1, 20]
    assert list(late) == [(105, "a")]


# ---------------------------------------------------------------------- the drawing


def test_explain_draws_the_nfa():
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    pattern = (
        Pattern.begin("a", AfterMatchSkipStrategy.skipToLast("c"))
        .where(of("a"))
        .notFollowedBy("b")
        .where(of("b"))
        .followedBy("c")
        .where(after_a)
        .within(100)
    )
    CEP.pattern(env.fromElements(("k", "a")).keyBy(lambda e: e[0]), pattern).select(
        lambda match: match
    ).print()
    drawing = [
        line.partition("CepOperator: ")[2]
        for line in env.explain().splitlines()
        if "CepOperator: " in line
    ]
    assert drawing[-7:] == [
        "pattern within 100 ms, skipToLast('c') after a match",
        "a (start)",
        "  take -> c if a.where",
        "c",
        "  take -> match if c.where after_a",
        "  ignore -> itself if not c.where after_a",
        "  proceed -> stop if b.where",
    ]


def test_the_page_shows_the_nfa_of_a_vertex():
    env = StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    elements = env.fromCollection([("k", "a")]).keyBy(lambda e: e[0])
    matches = CEP.pattern(elements, a_then_b()).inProcessingTime()
    matches.select(lambda match: match).print()
    client = env.executeAsync()
    client.getJobExecutionResult()
    drawing = job_drawing(client.getJobDetails())
    assert "<title>CepOperator\npattern within 100 ms, noSkip after a match\na (start)" in drawing


def after_a(element, ctx):
    return element[1] == "c"


def test_a_class_of_conditions_must_take_the_context():
    class Wrong(IterativeCondition[Element]):
        def filter(self, value):  # type: ignore[override]
            return True

    with pytest.raises(InvalidProgramError, match="derive the class from SimpleCondition"):
        Pattern.begin("a").where(Wrong())
