"""Uids say what a function is, and state follows its function when a job is changed."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import IncompatibleCheckpointError
from flinkish.graph.identities import Fingerprint, function_name
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.stream_graph import StreamGraph


class Keeping(fl.KeyedProcessFunction):
    def __init__(self, setting=None):
        self.setting = setting

    def processElement(self, value, ctx, out):
        out.collect(value)


class Counter(Keeping):
    pass


class Sum(Keeping):
    pass


class Latest(Keeping):
    pass


def largest(a, b):
    return max(a, b)


def graph_of(build, earlier=None):
    env = fl.StreamExecutionEnvironment()
    build(env.fromData(("a", 1)))
    if earlier is None:
        return StreamGraph.of(env._sinks)
    return StreamGraph.of(env._sinks, earlier.identities())


def uids_by_name(graph):
    return {node.name: node.uid for node in graph if node.isStateful}


def key(element):
    return element[0]


def processing(*named):
    """Process functions side by side on one keyed stream; each is (name of the operator, function)."""

    def build(stream):
        keyed = stream.keyBy(key)
        for name, function in named:
            keyed.process(function).name(name).print()

    return build


FUNCTIONS = {"counter": Counter, "sum": Sum, "latest": Latest, "keeping": Keeping}


@given(data=st.data())
def test_states_follow_named_functions_wherever_they_are_defined(data):
    """Graphs of one to four stateful operators, side by side or one after another; in another order of
    definitions, and with new operators before them and between."""
    names = data.draw(st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=1, unique=True))
    after = {name: data.draw(st.sampled_from([None, *names[:i]])) for i, name in enumerate(names)}
    order = data.draw(st.permutations(names))
    new = (
        data.draw(st.lists(st.sampled_from(sorted(set(FUNCTIONS) - set(names))), unique=True))
        if (len(names) < len(FUNCTIONS))
        else []
    )

    def build(order):
        def in_job(stream):
            made = {}

            def stream_of(name):
                if name not in made:
                    before = after.get(name)
                    source = stream if before is None else stream_of(before)
                    made[name] = source.map(lambda e: e).keyBy(key).process(FUNCTIONS[name]())
                    made[name].name(name).print()
                return made[name]

            for name in order:
                stream_of(name)

        return in_job

    before_change = graph_of(build(names))
    mixed = data.draw(st.permutations([*order, *new]))
    uids = uids_by_name(before_change)
    for earlier in (None, before_change):
        changed = uids_by_name(graph_of(build(mixed), earlier))
        assert {name: changed[name] for name in names} == uids
        assert len(set(changed.values())) == len(mixed)


@given(settings=st.lists(st.integers(0, 4), min_size=2, max_size=4, unique=True), data=st.data())
def test_instances_of_one_class_are_told_apart_by_their_settings(settings, data):
    def build(settings):
        return processing(*((f"n{setting}", Counter(setting)) for setting in settings))

    earlier = graph_of(build(settings))
    new = data.draw(st.sampled_from([[], [9]]))
    changed = graph_of(build(data.draw(st.permutations([*settings, *new]))), earlier)
    found = uids_by_name(changed)
    assert {name: found[name] for name in uids_by_name(earlier)} == uids_by_name(earlier)


def one(value, ctx, out):
    out.collect(value)


PLUS = lambda value, ctx, out: out.collect(value + 1)  # noqa: E731
MINUS = lambda value, ctx, out: out.collect(value - 1)  # noqa: E731
TIMES = lambda value, ctx, out: out.collect(value * 2)  # noqa: E731
OVER = lambda value, ctx, out: out.collect(value / 2)  # noqa: E731


def test_the_only_lambda_goes_on_with_other_code():
    earlier = graph_of(processing(("only", PLUS)))
    assert uids_by_name(graph_of(processing(("only", MINUS)), earlier)) == uids_by_name(earlier)


def test_of_two_lambdas_one_of_which_was_changed_the_other_says_which():
    earlier = graph_of(processing(("plus", PLUS), ("times", TIMES)))
    was = uids_by_name(earlier)
    now = uids_by_name(graph_of(processing(("times", TIMES), ("changed", MINUS)), earlier))
    assert now == {"times": was["times"], "changed": was["plus"]}


@pytest.mark.parametrize(
    "changed",
    [
        (("minus", MINUS), ("over", OVER)),
        (("plus", PLUS), ("minus", MINUS), ("over", OVER)),
        (("plus", PLUS), ("times", TIMES), ("times again", TIMES)),
    ],
    ids=["both changed", "one changed and one new", "the same twice"],
)
def test_what_cannot_be_told_apart_is_refused_and_both_are_named(changed):
    earlier = graph_of(processing(("plus", PLUS), ("times", TIMES)))
    with pytest.raises(IncompatibleCheckpointError) as raised:
        graph_of(processing(*changed), earlier)
    message = str(raised.value)
    assert f"uid({uids_by_name(earlier)['times']!r})" in message
    assert "<lambda>" in message


def test_the_advice_is_heard():
    earlier = graph_of(processing(("plus", PLUS), ("times", TIMES)))
    was = uids_by_name(earlier)

    def build(stream):
        keyed = stream.keyBy(key)
        keyed.process(OVER).uid(was["times"]).name("over").print()
        keyed.process(MINUS).uid(was["plus"]).name("minus").print()

    assert uids_by_name(graph_of(build, earlier)) == {"over": was["times"], "minus": was["plus"]}


def test_equal_operators_behind_other_functions_are_told_apart_by_those():
    def build(order, parse):
        def in_job(stream):
            parsed = stream.map(parse)
            for name in order:
                chosen = parsed.filter({"odd": is_odd, "even": is_even}[name])
                chosen.keyBy(key).sum(1).name(name).print()

        return in_job

    earlier = graph_of(build(["odd", "even"], lambda e: e))
    changed = graph_of(build(["even", "odd"], lambda e: (e[0], e[1])), earlier)
    assert uids_by_name(changed) == uids_by_name(earlier)


def is_odd(element):
    return element[1] % 2 == 1


def is_even(element):
    return element[1] % 2 == 0


def test_equal_operators_by_other_keys_are_told_apart_by_those():
    def build(*fields):
        def in_job(stream):
            for field in fields:
                stream.keyBy(field).process(Counter()).name(str(field)).print()

        return in_job

    earlier = graph_of(build(0, 1))
    assert uids_by_name(graph_of(build(1, 0), earlier)) == uids_by_name(earlier)


def test_sources_keep_their_places_whatever_the_order_of_their_definitions(tmp_path):
    def build(*names):
        env = fl.StreamExecutionEnvironment()
        for name in names:
            env.fromSource(fl.FileSource.forLines(str(tmp_path / name)), None, name).print()
        return env._sinks

    earlier = JobGraph(StreamGraph.of(build("a", "b")))
    changed = JobGraph(StreamGraph.of(build("b", "a"), earlier.identities()))
    assert [v.head.name for v in changed.sources] == ["Source: a", "Source: b"]
    assert [v.uid for v in changed.sources] == [v.uid for v in earlier.sources]


def test_an_operator_after_one_that_was_matched_is_found_too():
    def build(*functions):
        def in_job(stream):
            for name, function in functions:
                first = stream.keyBy(key).process(function).name(name)
                first.keyBy(key).process(Counter()).name(f"after {name}").print()

        return in_job

    earlier = graph_of(build(("plus", PLUS), ("times", TIMES)))
    changed = graph_of(build(("times", TIMES), ("plus", PLUS)), earlier)
    assert uids_by_name(changed) == uids_by_name(earlier)


# ---------------------------------------------------------------------- names and fingerprints


def local_class():
    class Local(Keeping):
        pass

    return Local()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


class Calls:
    def __call__(self, a, b):
        return a

    def method(self, a, b):
        return a


MODULE = __name__


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (Counter(), f"{MODULE}.Counter"),
        (largest, f"{MODULE}.largest"),
        (lambda a, b: a, "<lambda>"),
        (functools.partial(largest, 1), f"partial({MODULE}.largest)"),
        (Calls(), f"{MODULE}.Calls"),
        (Calls().method, f"{MODULE}.Calls.method"),
        (local_class(), f"{MODULE}.local_class.<locals>.Local"),
        (decorated(largest), f"{MODULE}.largest"),
        (functools.lru_cache(largest), f"{MODULE}.largest"),
        (max, "max"),
    ],
)
def test_names_of_functions(function, name):
    assert function_name(function) == name


def test_main_is_no_part_of_a_name():
    namespace = {"__name__": "__main__"}
    exec("def f(a, b): return a\nclass C: pass", namespace)
    assert function_name(namespace["f"]) == "f"
    assert function_name(namespace["C"]()) == "C"


def test_fingerprints_tell_code_constants_and_closures_apart_and_are_stable():
    def adding(number):
        return lambda value: value + number

    different = [
        lambda v: v + 1,
        lambda v: v + 2,
        lambda v: v - 1,
        lambda v: v.a,
        lambda v: v.b,
        adding(1),
        adding(2),
        functools.partial(largest, 1),
        functools.partial(largest, 2),
        Counter(1),
        Counter(2),
        {"a": {1, 2}},
        largest,
    ]
    for one, other in itertools.combinations(different, 2):
        assert Fingerprint.of(one) != Fingerprint.of(other)
    assert Fingerprint.of(adding(1)) == Fingerprint.of(adding(1))
    assert Fingerprint.of(Counter([object()])) == Fingerprint.of(Counter([object()]))


def test_a_fingerprint_takes_no_time_over_much_data():
    looped = Counter(list(range(10**6)))
    looped.itself = looped  # type: ignore[attr-defined]
    assert Fingerprint.of(looped) == Fingerprint.of(looped)


def test_fingerprints_of_another_python_compare_without_bytecode():
    """Two lambdas that differ only in constants are still distinguished."""
    earlier = graph_of(processing(("times", TIMES), ("plus", PLUS)))

    def of_another_python(identity):
        ours = identity.fingerprint
        return replace(identity, fingerprint=Fingerprint(ours.names, "other bytecode", "3.0"))

    class Earlier:
        def identities(self):
            return {uid: of_another_python(i) for uid, i in earlier.identities().items()}

    changed = graph_of(processing(("plus", PLUS), ("times", TIMES)), Earlier())
    assert uids_by_name(changed) == uids_by_name(earlier)


# ---------------------------------------------------------------------- pinned


class Add(fl.AggregateFunction):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def getResult(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class Show(fl.ProcessWindowFunction):
    def process(self, key, context, elements, out):
        out.collect((key, *elements))


class Both(fl.KeyedCoProcessFunction):
    def processElement1(self, value, ctx, out):
        pass

    def processElement2(self, value, ctx, out):
        pass


TEN = fl.TumblingEventTimeWindows.of(10)

TYPICAL = {
    "process": lambda s: s.keyBy(key).process(Counter()),
    "lambda": lambda s: s.keyBy(key).process(PLUS),
    "sum": lambda s: s.keyBy(key).sum(1),
    "maxBy": lambda s: s.keyBy(key).maxBy(1),
    "reduce": lambda s: s.keyBy(key).reduce(largest),
    "windows": lambda s: s.keyBy(key).window(TEN).aggregate(Add(), Show()),
    "sessions": lambda s: (
        s.keyBy(key).window(fl.EventTimeSessionWindows.withGap(5)).reduce(largest)
    ),
    "count": lambda s: s.keyBy(key).countWindow(3).reduce(largest),
    "connected": lambda s: s.keyBy(key).connect(s.keyBy(key)).process(Both()),
    "join": lambda s: s.join(s).where(key).equalTo(key).window(TEN).apply(largest),
    "after another": lambda s: s.keyBy(key).process(Counter()).keyBy(key).process(Sum()),
}

PINNED = {
    "process": ["CollectionSource-adc039641e", "KeyedProcess-1845460b2f"],
    "lambda": ["CollectionSource-adc039641e", "KeyedProcess-cdda6c4f09"],
    "sum": ["CollectionSource-adc039641e", "KeyedReduce-a9e075540e"],
    "maxBy": ["CollectionSource-adc039641e", "KeyedReduce-3509ca25c4"],
    "reduce": ["CollectionSource-adc039641e", "KeyedReduce-cb8963c6a7"],
    "windows": ["CollectionSource-adc039641e", "WindowOperator-5a96bf64e5"],
    "sessions": ["CollectionSource-adc039641e", "WindowOperator-501dfcbe40"],
    "count": ["CollectionSource-adc039641e", "WindowOperator-38a0b48d96"],
    "connected": ["CollectionSource-adc039641e", "KeyedCoProcess-782586be2f"],
    "join": ["CollectionSource-adc039641e", "WindowOperator-43000bee07"],
    "after another": [
        "CollectionSource-adc039641e",
        "KeyedProcess-1845460b2f",
        "KeyedProcess-659503014b",
    ],
}


@pytest.mark.parametrize("job", TYPICAL)
def test_uids_of_typical_jobs_stay(job):
    """A uid that changes with a version of flinkish loses the state of every job that has it."""
    graph = graph_of(lambda s: TYPICAL[job](s).print())
    found = [node.uid for node in graph if node.isSource or node.isStateful]
    assert found == PINNED[job]


class Rich(fl.MapFunction, fl.RichFunction):
    def map(self, value):
        return value


class CoMap(fl.CoMapFunction):
    def map1(self, value):
        return value

    map2 = map1


class CoFlatMap(fl.CoFlatMapFunction):
    def flatMap1(self, value, out):
        out.collect(value)

    flatMap2 = flatMap1


class CoProcess(fl.CoProcessFunction):
    def processElement1(self, value, ctx, out):
        out.collect(value)

    processElement2 = processElement1


class RichFilter(fl.FilterFunction, fl.RichFunction):
    def filter(self, value):
        return True


class RichFlatMap(fl.FlatMapFunction, fl.RichFunction):
    def flatMap(self, value, out):
        out.collect(value)


class Process(fl.ProcessFunction):
    def processElement(self, value, ctx, out):
        out.collect(value)


WITH_AND_WITHOUT_KEY = {
    "Map": lambda s: s.map(Rich()),
    "Filter": lambda s: s.filter(RichFilter()),
    "FlatMap": lambda s: s.flatMap(RichFlatMap()),
    "CoMap": lambda s: s.connect(s).map(CoMap()),
    "CoFlatMap": lambda s: s.connect(s).flatMap(CoFlatMap()),
    "CoProcess": lambda s: s.connect(s).process(CoProcess()),
}


@pytest.mark.parametrize("kind", WITH_AND_WITHOUT_KEY)
def test_what_works_with_and_without_a_key_has_a_kind_for_each(kind):
    operation = WITH_AND_WITHOUT_KEY[kind]
    for stream_of, expected in ((lambda s: s, kind), (lambda s: s.keyBy(key), f"Keyed{kind}")):
        graph = graph_of(lambda s: operation(stream_of(s)).print())  # noqa: B023
        [operator] = [node.operator for node in graph if not (node.isSource or node.isSink)]
        assert operator.kind == expected
        assert operator.keyed == (expected != kind)


def test_a_process_function_without_timers_is_a_kind_of_its_own_under_a_key():
    graph = graph_of(lambda s: s.keyBy(key).process(Process()).print())
    assert [n.operator.kind for n in graph if n.isStateful] == ["ProcessUnderKey"]
