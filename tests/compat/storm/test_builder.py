"""Topologies of Storm's: spouts and bolts by name, groupings, declared streams and settings."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish import FlinkishError
from flinkish.compat.storm import (
    BaseBasicBolt,
    BaseRichBolt,
    BaseStatefulBolt,
    BaseStatefulWindowedBolt,
    BaseWindowedBolt,
    Config,
    Count,
    Duration,
    Fields,
    JoinBolt,
    StormSubmitter,
    TopologyBuilder,
    Values,
    setBolt,
)
from flinkish.testing import StreamTestHarness
from tests.streams import feed, values

SENTENCES = ["the cow jumped", "the moon", "cow cow"]
COUNTS = [
    *[("the", 1), ("cow", 1), ("jumped", 1), ("the", 2)],
    *[("moon", 1), ("cow", 2), ("cow", 3)],
]


class SplitSentence(BaseBasicBolt):
    def execute(self, tuple_, collector):
        for word in tuple_.getString(0).split():
            collector.emit(Values(word))

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("word"))


class WordCount(BaseRichBolt):
    """As in storm-starter: with a map and a collector in its attributes."""

    def prepare(self, topoConf, context, collector):
        self.collector = collector
        self.counts = {}

    def execute(self, tuple_):
        word = tuple_.getStringByField("word")
        self.counts[word] = self.counts.get(word, 0) + 1
        self.collector.emit(tuple_, Values(word, self.counts[word]))
        self.collector.ack(tuple_)

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("word", "count"))


def word_count(sentences, hint=4):
    builder = TopologyBuilder()
    builder.setBolt("count", WordCount(), hint).fieldsGrouping("split", Fields("word"))
    builder.setBolt("split", SplitSentence(), hint).shuffleGrouping("spout")
    builder.setSpout("spout", sentences, fields=Fields("sentence"))
    return builder.createTopology()


def counted(sentences):
    return word_count(sentences)["count"]


@pytest.mark.parametrize("hint", [None, 1, 4])
def test_word_count(hint):
    harness = StreamTestHarness(lambda s: word_count(s, hint)["count"])
    feed(harness, SENTENCES)
    assert values(harness) == COUNTS
    assert values(harness)[0].getFields().toList() == ["word", "count"]
    assert (values(harness)[0].getSourceComponent(), values(harness)[0]["count"]) == ("count", 1)


def test_what_a_bolt_counted_is_in_the_checkpoint():
    harness = StreamTestHarness(counted)
    feed(harness, SENTENCES[:2])
    harness = StreamTestHarness.restore(counted, harness.snapshot())
    feed(harness, SENTENCES[2:])
    assert values(harness) == COUNTS[5:]


def in_local_execution(build, *inputs):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    return list(build(*map(env.fromCollection, inputs)).executeAndCollect())


class Total(BaseRichBolt):
    """Declares no fields: its output stays unchanged."""

    def prepare(self, topoConf, context, collector):
        self.collector, self.total = collector, 0
        self.me = context.getThisComponentId(), topoConf.get("start", 0)

    def execute(self, tuple_):
        self.total += tuple_[0]
        self.collector.emit({"by": self.me, "total": self.total})


@pytest.mark.parametrize("grouping", ["shuffleGrouping", "globalGrouping", "allGrouping"])
def test_a_bolt_without_a_hint_is_one_task(grouping):
    def build(numbers):
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers)
        declarer = builder.setBolt("total", Total()).addConfiguration("start", 7)
        getattr(declarer, grouping)("numbers")
        return builder.createTopology()["total"]

    harness = StreamTestHarness(build)
    feed(harness, [(1,), (2,), (3,)])
    assert values(harness) == [{"by": ("total", 7), "total": n} for n in (1, 3, 6)]


class Limit(BaseRichBolt):
    """Passes on what is above the limit that the control stream sets."""

    def prepare(self, topoConf, context, collector):
        self.collector, self.limit = collector, 0

    def execute(self, tuple_):
        if tuple_.getSourceComponent() == "control":
            self.limit = tuple_.getIntegerByField("limit")
        elif tuple_.getValueByField("value") > self.limit:
            self.collector.emit(tuple_)


def test_all_tasks_see_what_is_sent_to_all():
    def build(readings, control):
        builder = TopologyBuilder()
        builder.setSpout("readings", readings, fields=Fields("sensor", "value"))
        builder.setSpout("control", control, fields=Fields("limit"))
        limit = builder.setBolt("limit", Limit(), 3)
        limit.fieldsGrouping("readings", Fields("sensor")).allGrouping("control")
        return builder.createTopology()["limit"]

    harness = StreamTestHarness(build)
    harness.processElement1(("a", 5))
    harness.processElement2(10)
    harness.processElement1(("a", 6))
    harness.processElement1(("b", 11))
    assert values(harness) == [("a", 5), ("b", 11)]


class EvenOdd(BaseBasicBolt):
    def execute(self, tuple_, collector):
        collector.emit("odd" if tuple_[0] % 2 else "even", Values(tuple_[0]))

    def declareOutputFields(self, declarer):
        declarer.declareStream("odd", Fields("number"))
        declarer.declareStream("even", Fields("number"))


class Sum(BaseWindowedBolt):
    """As in Java: the collector is that of prepare."""

    def prepare(self, topoConf, context, collector):
        self.collector = collector

    def execute(self, window):
        self.collector.emit(Values(sum(each.getIntegerByField("number") for each in window.get())))

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("sum"))


def even_odd(numbers, bolt=None, config=None, **settings):
    builder = TopologyBuilder()
    builder.setSpout("numbers", numbers, fields=Fields("number"))
    builder.setBolt("split", EvenOdd(), 2).shuffleGrouping("numbers")
    bolt = Sum() if bolt is None else bolt
    declarer = builder.setBolt("odd", bolt).shuffleGrouping("split", "odd")
    declarer.addConfigurations(settings)
    return builder.createTopology(config)


def test_declared_streams():
    harness = StreamTestHarness(
        lambda n: even_odd(n, Sum().withTumblingWindow(Count(2)))["split", "even"]
    )
    feed(harness, [1, 2, 3, 4])
    assert values(harness) == [(2,), (4,)]
    harness = StreamTestHarness(lambda n: even_odd(n, Sum().withTumblingWindow(Count(2)))["odd"])
    feed(harness, [1, 2, 3, 4, 5, 7])
    assert values(harness) == [(4,), (12,)]
    assert values(harness)[0].sum == 4


LENGTH = "topology.bolts.window.length.count"
SLIDE = "topology.bolts.window.sliding.interval.count"


@pytest.mark.parametrize(
    ("bolt", "config", "own", "sums"),
    [
        (Sum(), {LENGTH: 2, SLIDE: 2}, {}, [4, 12]),
        (Sum(), {LENGTH: 2}, {}, [1, 4, 8, 12]),
        (Sum(), {LENGTH: 9}, {LENGTH: 2}, [1, 4, 8, 12]),
        (Sum(), {}, {LENGTH: 3, SLIDE: 2}, [4, 15]),
        (Sum().withTumblingWindow(Count(4)), {LENGTH: 2, SLIDE: 2}, {}, [16]),
    ],
)
def test_windows_by_settings(bolt, config, own, sums):
    harness = StreamTestHarness(lambda n: even_odd(n, bolt, config, **own)["odd"])
    feed(harness, [1, 3, 5, 7])
    assert values(harness) == [(each,) for each in sums]


class Latest(BaseWindowedBolt):
    def execute(self, window, collector):
        collector.emit((window.getEndTimestamp(), [name for name, _ in window.get()]))


def timed(stream, bolt="events"):
    config = Config()
    config.put(Config.TOPOLOGY_BOLTS_WINDOW_LENGTH_DURATION_MS, 20_000)
    config["topology.bolts.window.sliding.interval.duration.ms"] = 10_000
    config["topology.bolts.tuple.timestamp.field.name"] = "ts"
    config["topology.bolts.tuple.timestamp.max.lag.ms"] = 5_000
    config["topology.bolts.watermark.event.interval.ms"] = 500
    config["topology.bolts.late.tuple.stream"] = "late"
    builder = TopologyBuilder()
    builder.setSpout("events", stream, fields=Fields("name", "ts"))
    builder.setBolt("window", Latest()).shuffleGrouping("events")
    topology = builder.createTopology(config)
    return topology["window"], topology["window", "late"]


def test_event_time_by_settings():
    harness = StreamTestHarness(timed)
    feed(harness, [("a", 3_000), ("b", 18_000), ("c", 36_000)])
    harness.setProcessingTime(499)
    assert values(harness) == []
    harness.setProcessingTime(500)
    assert values(harness) == [(10_000, ["a"]), (20_000, ["a", "b"]), (30_000, ["b"])]
    harness.processElement(("late", 30_999))
    harness.processElement(("in time", 31_000))
    assert values(harness, 1) == [("late", 30_999)]


class Running(BaseStatefulWindowedBolt):
    def initState(self, state):
        self.state = state

    def execute(self, window, collector):
        total = self.state.get("total", 0) + sum(each[0] for each in window.getNew())
        self.state.put("total", total)
        collector.emit(Values(total, dict(self.state)))


def running(numbers):
    builder = TopologyBuilder()
    builder.setSpout("numbers", numbers)
    bolt = Running().withWindow(Count(3), Count(2)).withPersistence().withMaxEventsInMemory(10)
    builder.setBolt("running", bolt, 1).shuffleGrouping("numbers")
    return builder.createTopology()["running"]


def test_a_stateful_windowed_bolt_goes_on_after_a_restart():
    harness = StreamTestHarness(running)
    feed(harness, [(1,), (2,)])
    assert values(harness) == [[3, {"total": 3}]]
    harness = StreamTestHarness.restore(running, harness.snapshot())
    feed(harness, [(4,), (8,)])
    assert values(harness) == [[15, {"total": 15}]]


class Seen(BaseStatefulBolt):
    def initState(self, state):
        self.state = state

    def execute(self, tuple_, collector):
        before = self.state.delete(tuple_["user"]) or 0
        self.state.put(tuple_["user"], before + 1)
        collector.emit((tuple_["user"], before + 1))


class ReadsTotal:
    """As in storm-starter."""

    def initState(self, state):
        self.state = state
        self.total = state.get("total", 0)
        if not dict(state):
            state.put("began", self.total)


class RunningTotal(ReadsTotal, BaseStatefulBolt):
    def prepare(self, topoConf, context, collector):
        self.collector, self.total = collector, None

    def execute(self, tuple_):
        self.total += tuple_[0]
        self.state.put("total", self.total)
        self.collector.emit((self.total, dict(self.state)))


class RunningTotalOfWindows(ReadsTotal, BaseStatefulWindowedBolt):
    def execute(self, window, collector):
        self.total += sum(each[0] for each in window.get())
        self.state.put("total", self.total)
        collector.emit((self.total, dict(self.state)))


@pytest.mark.parametrize(
    "bolt", [RunningTotal(), RunningTotalOfWindows().withTumblingWindow(Count(1))]
)
def test_state_is_read_when_it_is_initialized(bolt):
    def build(numbers):
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers)
        builder.setBolt("total", bolt).shuffleGrouping("numbers")
        return builder.createTopology()["total"]

    harness = StreamTestHarness(build)
    feed(harness, [(1,), (2,)])
    assert values(harness) == [(n, {"began": 0, "total": n}) for n in (1, 3)]
    harness = StreamTestHarness.restore(build, harness.snapshot())
    feed(harness, [(4,)])
    assert values(harness) == [(7, {"began": 0, "total": 7})]
    assert in_local_execution(build, [(1,), (2,)])[-1] == (3, {"began": 0, "total": 3})


class ReadsItsState(Seen):
    """A version that reads its state when it is initialized, which the one before did not."""

    def initState(self, state):
        self.state, self.ada = state, state.get("ada")

    def execute(self, tuple_, collector):
        collector.emit(self.ada)


def test_state_that_an_earlier_version_wrote_is_read():
    def build(users, bolt):
        return setBolt(bolt, users).uid("seen")

    harness = StreamTestHarness(lambda users: build(users, Seen()))
    feed(harness, [{"user": "ada"}])
    restored = StreamTestHarness.restore(
        lambda users: build(users, ReadsItsState()), harness.snapshot()
    )
    feed(restored, [{"user": "bob"}])
    assert values(restored) == [1]


class OwnInit(BaseWindowedBolt):
    def __init__(self, factor):
        self.factor = factor

    def execute(self, window, collector):
        collector.emit(self.factor * sum(window.get()))


def test_a_bolt_whose_init_calls_no_other_on_plain_numbers():
    """A value without fields or names goes to a bolt unchanged, and so does the output of one that declares no
    fields."""

    def build(numbers):
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers)
        bolt = OwnInit(10).withTumblingWindow(Count(2))
        builder.setBolt("sums", bolt).globalGrouping("numbers")
        twice = BaseWindowedBolt(lambda window: [2 * sum(window.get())])
        twice.withTumblingWindow(Count(1))
        builder.setBolt("twice", twice).shuffleGrouping("sums")
        return builder.createTopology()["twice"]

    harness = StreamTestHarness(build)
    feed(harness, [1, 2, 3, 4])
    assert values(harness) == [60, 140]


def test_a_stateful_bolt_on_elements_with_names():
    """Dicts, Rows and dataclasses have the fields that they are grouped by."""

    def build(users):
        builder = TopologyBuilder()
        builder.setSpout("users", users)
        builder.setBolt("seen", Seen(), 4).fieldsGrouping("users", Fields("user"))
        return builder.createTopology()["seen"]

    harness = StreamTestHarness(build)
    feed(harness, [{"user": "ada"}, fl.Row(user="bob"), {"user": "ada"}])
    assert values(harness) == [("ada", 1), ("bob", 1), ("ada", 2)]


# ---------------------------------------------------------------------- the context of a task


class Asks(BaseRichBolt):
    """Emits what ``ask(context)`` gives, at its first tuple."""

    def __init__(self, ask):
        self.ask = ask

    def prepare(self, topoConf, context, collector):
        self.context, self.collector = context, collector

    def execute(self, tuple_):
        self.collector.emit((self.ask(self.context), tuple_.getSourceGlobalStreamId()))

    def declareOutputFields(self, declarer):
        declarer.declareStream("alerts", Fields("id"))


def asked(ask):
    def build(numbers):
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers, fields=Fields("n"))
        builder.setBolt("halves", EvenOdd()).shuffleGrouping("numbers")
        declarer = builder.setBolt("asks", Asks(ask)).fieldsGrouping("numbers", Fields("n"))
        declarer.shuffleGrouping("halves", "odd")
        return builder.createTopology()["asks"]

    harness = StreamTestHarness(build)
    feed(harness, [2])
    ((answer, source),) = values(harness)
    assert (source.get_componentId(), source.get_streamId()) == ("numbers", "default")
    return answer


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (
            lambda c: {source: grouping.fields for source, grouping in c.getThisSources().items()},
            {("numbers", "default"): ("n",), ("halves", "odd"): None},
        ),
        (
            lambda c: c.getThisInputFields(),
            {"numbers": {"default": ["n"]}, "halves": {"odd": ["number"]}},
        ),
        (lambda c: c.getComponentId(c.getThisTaskId()), "asks"),
        (lambda c: c.getComponentIds(), {"numbers", "halves", "asks"}),
        (
            lambda c: (c.getThisStreams(), c.getThisOutputFields("alerts")),
            ({"default", "alerts"}, ("id",)),
        ),
        (
            lambda c: [c.getComponentOutputFields(s) for s in c.getThisSources()],
            [("n",), ("number",)],
        ),
    ],
)
def test_a_bolt_asks_what_it_reads(ask, answer):
    assert asked(ask) == answer


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: c.getComponentId(9), r"only the task itself .* not 9.*getSourceComponent"),
        (lambda c: c.getComponentOutputFields("number"), "no component 'number'. There are asks"),
        (lambda c: c.getThisOutputFields("alarm"), "'asks' has no stream 'alarm'. There are ale"),
        (lambda c: c.getThisWorkerPort(), "getThisWorkerPort is not supported.*getRuntimeContext"),
    ],
)
def test_what_the_context_cannot_say(ask, says):
    with pytest.raises(FlinkishError, match=says):
        asked(ask)


# ---------------------------------------------------------------------- joins


USERS = [(1, "ada"), (2, "bob")]
ORDERS = [(10, 1, {"of": {"city": "Ulm"}}), (11, 3, {}), (12, 1, {}), (13, None, {})]


def joined(users, orders, left=False, stream=False):
    bolt = JoinBolt("orders", "userId")
    bolt = bolt.leftJoin("users", "id", "orders") if left else bolt.join("users", "id", "orders")
    bolt.select("orderId, users:name, orders:address.of.city")
    bolt.withTumblingWindow(Count(6))
    if stream:
        bolt.withOutputStream("joined")
    builder = TopologyBuilder()
    builder.setSpout("users", users, fields=Fields("id", "name"))
    builder.setSpout("orders", orders, fields=Fields("orderId", "userId", "address"))
    declarer = builder.setBolt("join", bolt, 1)
    declarer.shuffleGrouping("users").shuffleGrouping("orders")
    topology = builder.createTopology()
    return topology["join", "joined"] if stream else topology["join"]


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ({}, [(10, "ada", "Ulm"), (12, "ada", None)]),
        ({"stream": True}, [(10, "ada", "Ulm"), (12, "ada", None)]),
        ({"left": True}, [(10, "ada", "Ulm"), (11, None, None), (12, "ada", None)]),
    ],
)
def test_a_join_within_a_window(how, found):
    harness = StreamTestHarness(lambda users, orders: joined(users, orders, **how))
    for user in USERS:
        harness.processElement1(user)
    for order in ORDERS:
        harness.processElement2(order)
    assert values(harness) == found
    assert list(values(harness)[0].getFields()) == [
        *("orderId", "users:name", "orders:address.of.city")
    ]


def test_a_join_of_three_in_local_execution_by_fields():
    """The fields that the streams are grouped by have different names."""

    def build(users, orders, cities):
        bolt = JoinBolt("users", "id").join("orders", "userId", "users")
        bolt.leftJoin("cities", "of", "users").select("name,orderId,city")
        bolt.withTumblingWindow(Duration.seconds(10)).withTimestampField("ts")
        builder = TopologyBuilder()
        builder.setSpout("users", users, fields=Fields("id", "name", "ts"))
        builder.setSpout("orders", orders, fields=Fields("orderId", "userId", "ts"))
        builder.setSpout("cities", cities, fields=Fields("of", "city", "ts"))
        declarer = builder.setBolt("join", bolt, 4).fieldsGrouping("users", Fields("id"))
        declarer.fieldsGrouping("orders", Fields("userId")).fieldsGrouping("cities", Fields("of"))
        return builder.createTopology()["join"]

    found = in_local_execution(
        build,
        [(1, "ada", 1_000), (2, "bob", 2_000), (1, "eve", 11_000)],
        [(10, 1, 3_000), (11, 2, 4_000), (12, 1, 12_000)],
        [(1, "Ulm", 5_000)],
    )
    assert sorted(found, key=str) == [("ada", 10, "Ulm"), ("bob", 11, None), ("eve", 12, None)]


def test_a_join_by_streams():
    def build(numbers):
        bolt = JoinBolt(JoinBolt.Selector.STREAM, "odd", "number").join("even", "number", "odd")
        bolt.select("odd:number,even:number").withTumblingWindow(Count(4))
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers)
        builder.setBolt("split", Halves()).shuffleGrouping("numbers")
        builder.setBolt("join", bolt).shuffleGrouping("split", "odd").shuffleGrouping(
            "split", "even"
        )
        return builder.createTopology()["join"]

    class Halves(EvenOdd):
        def execute(self, tuple_, collector):
            collector.emit("odd" if tuple_[0] % 2 else "even", Values(tuple_[0] // 2))

    harness = StreamTestHarness(build)
    feed(harness, [(4,), (5,), (6,), (9,)])
    assert values(harness) == [(2, 2)]


# ---------------------------------------------------------------------- running all


class Print(BaseBasicBolt):
    def execute(self, tuple_):
        print("got", tuple_.getValue(0))


def test_all_bolts_of_a_topology_that_is_submitted_run(capsys):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.setLocalExecution()
    builder = TopologyBuilder()
    builder.setSpout("words", env.fromCollection(["a", "b"]), fields=Fields("word"))
    builder.setBolt("print", Print(), 1).shuffleGrouping("words")
    config = Config()
    config.setNumWorkers(2)
    config.setDebug(True)
    StormSubmitter.submitTopology("words", config, builder.createTopology())
    assert sorted(capsys.readouterr().out.splitlines()) == ["got a", "got b"]


# ---------------------------------------------------------------------- what is refused


def refusal(build):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    builder = TopologyBuilder()
    builder.setSpout("numbers", env.fromCollection([1, 2]), fields=Fields("number"))
    with pytest.raises(FlinkishError) as caught:
        _ = build(builder), builder.createTopology()
    return str(caught.value)


BOLT = WordCount()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda b: b.setBolt("c", BOLT).shuffleGrouping("number"), "Did you mean numbers"),
        (lambda b: b.setBolt("c", BOLT).shuffleGrouping("numbers", "odd"), "no stream 'odd'"),
        (lambda b: b.setBolt("c", BOLT), "c: it reads no component"),
        (lambda b: b.setBolt("numbers", BOLT), "there is a component 'numbers' already"),
        (lambda b: b.setSpout("s", [1, 2]), "env.fromSource"),
        (lambda b: b.setBolt("c", BOLT).shuffleGrouping("c"), "in a circle: c -> c"),
        (lambda b: b.setBolt("c", BOLT).directGrouping("numbers"), "fieldsGrouping"),
        (lambda b: b.setBolt("c", BOLT).customGrouping("numbers", 1), "fieldsGrouping"),
        (lambda b: b.setBolt("c", BOLT).partialKeyGrouping("numbers", 1), "fieldsGrouping"),
        (lambda b: b.setBolt("c", BOLT).fieldsGrouping("numbers"), 'Fields("user")'),
        (lambda b: b.createTopology({"topology.tick.tuple.freq.secs": 5}), "tick tuples"),
        (
            lambda b: b.createTopology({"topology.bolts.window.lenght.count": 5}),
            "Did you mean topology.bolts.window.length.count",
        ),
        (lambda b: b.setBolt("c", Sum()).shuffleGrouping("numbers"), "Sum has no window"),
        (
            lambda b: b.setBolt(
                "c", JoinBolt("numbers", "number").withTumblingWindow(Count(1))
            ).shuffleGrouping("numbers"),
            "select(",
        ),
        (lambda b: JoinBolt("a", "k").join("b", "k", "c"), "'c' is not part of the join yet"),
    ],
)
def test_what_is_refused_says_what_to_write(build, says):
    assert says in refusal(build)


class Unfit(BaseBasicBolt):
    def execute(self, tuple_, collector):
        collector.emit(Values(1, 2))

    def declareOutputFields(self, declarer):
        declarer.declare(Fields("word"))


def test_more_values_than_fields():
    def build(numbers):
        builder = TopologyBuilder()
        builder.setSpout("numbers", numbers)
        builder.setBolt("unfit", Unfit()).shuffleGrouping("numbers")
        return builder.createTopology()["unfit"]

    with pytest.raises(
        FlinkishError, match=r"has 2 values, but the stream 'default' has the fields word"
    ):
        StreamTestHarness(build).processElement(1)
