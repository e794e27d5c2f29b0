"""Identities survive harmless edits, and the graph is cut where state needs it."""

import json

import pytest

from flinkish import OutputTag, StreamExecutionEnvironment, WatermarkGenerator, WatermarkStrategy
from flinkish.api.errors import InvalidProgramError
from flinkish.api.plan.operators import OperatorDescription
from flinkish.graph.job_graph import JobGraph
from flinkish.graph.job_plan import JobPlan
from flinkish.graph.stream_graph import StreamGraph

BOUNDED = WatermarkStrategy.forBoundedOutOfOrderness(5)


class Punctuated(WatermarkGenerator):
    def onEvent(self, event, eventTimestamp, output):
        pass

    def onPeriodicEmit(self, output):
        pass


CUSTOM = WatermarkStrategy.forGenerator(lambda context: Punctuated())


def graph_of(build):
    environment = StreamExecutionEnvironment()
    build(environment)
    return StreamGraph.of(environment._sinks)


def job_of(build):
    return JobGraph(graph_of(build))


def uids(graph, *kinds):
    return [node.uid for node in graph if any(node.uid.startswith(kind) for kind in kinds)]


def counting(stream):
    return stream.keyBy(lambda e: e).sum(0)


def test_state_is_found_again_after_stateless_edits():
    def before(env):
        counting(env.fromElements(1).map(lambda e: e)).print()

    def after(env):
        stream = env.fromElements(1).filter(bool).map(lambda e: e).name("renamed")
        counting(stream.map(lambda e: e)).map(str).print()
        env.fromElements(2).print()

    assert set(uids(graph_of(before), "KeyedReduce")) == set(uids(graph_of(after), "KeyedReduce"))


def test_two_operators_alike_have_identities_of_their_own():
    def build(env):
        stream = env.fromElements(1)
        counting(stream).print()
        counting(stream).print()

    assert len(set(uids(graph_of(build), "KeyedReduce"))) == 2


def test_a_side_output_is_another_input():
    tag = OutputTag("side")

    def build(env):
        stream = env.fromElements(1).map(lambda e: e)
        counting(stream).print()
        counting(stream.getSideOutput(tag)).print()

    first, second = uids(graph_of(build), "KeyedReduce")
    assert not second.startswith(first)


def test_a_given_uid_is_taken():
    graph = graph_of(lambda env: counting(env.fromElements(1)).uid("counts").print())
    assert isinstance(graph.node("counts").content, OperatorDescription)


def test_a_uid_given_twice_is_refused():
    def build(env):
        env.fromElements(1).map(str).uid("same").map(str).uid("same").print()

    with pytest.raises(InvalidProgramError, match="the uid 'same' is given to two operators"):
        graph_of(build)


def test_stateless_operators_are_chained_and_keyed_ones_begin_a_stage():
    def build(env):
        stream = env.fromElements(1).assignTimestampsAndWatermarks(BOUNDED).map(lambda e: e)
        counting(counting(stream).map(lambda e: e)).print()

    job = job_of(build)
    assert [[n.name for n in v.nodes] for v in job.stage(0)] == [
        ["Source: Collection Source", "Timestamps/Watermarks", "Map"]
    ]
    assert [len(v.nodes) for v in job.stage(1)] == [2]
    assert [len(v.nodes) for v in job.stage(2)] == [1]
    assert [v.level for v in job.sinks] == [3]


def test_a_strategy_of_the_users_own_gets_a_stage():
    job = job_of(
        lambda env: counting(env.fromElements(1).assignTimestampsAndWatermarks(CUSTOM)).print()
    )
    assert [[n.name for n in v.nodes] for v in job.stage(1)] == [["Timestamps/Watermarks"]]
    assert [edge.folded for v in job.stage(2) for edge in v.inputs] == [False]


def test_a_running_maximum_is_folded_by_the_receiver():
    job = job_of(
        lambda env: counting(env.fromElements(1).assignTimestampsAndWatermarks(BOUNDED)).print()
    )
    assert [edge.folded for v in job.stage(1) for edge in v.inputs] == [True]


def test_a_running_maximum_that_meets_another_is_not_folded():
    def build(env):
        stream = env.fromElements(1)
        one = stream.filter(bool).assignTimestampsAndWatermarks(BOUNDED)
        two = stream.assignTimestampsAndWatermarks(BOUNDED)
        counting(one.union(two).map(lambda e: e)).print()

    job = job_of(build)
    assert [v.head.name for v in job.stage(1)] == ["Timestamps/Watermarks"] * 2


def test_a_process_function_gets_a_stage_only_before_the_first_shuffle():
    def process(value, ctx, out):
        out.collect(value)

    def build(env):
        timed = env.fromElements(1).assignTimestampsAndWatermarks(BOUNDED).map(lambda e: e)
        counting(timed.process(process).process(process)).process(process).print()

    job = job_of(build)
    assert [[n.name for n in v.nodes] for level in (1, 2) for v in job.stage(level)] == [
        ["Process", "Process"],
        ["Keyed Aggregation", "Process"],
    ]


def test_a_process_function_behind_folded_watermarks_after_a_shuffle_gets_one_too():
    def build(env):
        sums = counting(env.fromElements(1)).assignTimestampsAndWatermarks(BOUNDED)
        sums.process(lambda value, ctx, out: out.collect(value)).print()

    job = job_of(build)
    assert [[n.name for n in v.nodes] for v in job.stage(2)] == [["Process"]]


def test_a_union_of_sources_is_chained_to_each():
    def build(env):
        counting(env.fromElements(1).union(env.fromElements(2)).map(lambda e: e)).print()

    job = job_of(build)
    assert [[n.name for n in v.nodes][1:] for v in job.stage(0)] == [["Map"], ["Map"]]
    assert [edge.gate for v in job.stage(1) for edge in v.inputs] == [0, 1]


def test_the_plan_shows_nodes_and_how_elements_get_to_them():
    job = job_of(lambda env: counting(env.fromElements(1).map(lambda e: e)).print())
    nodes = json.loads(JobPlan(job).asJson())["nodes"]
    assert [node["type"] for node in nodes] == [
        "Source: Collection Source",
        "Map",
        "Keyed Aggregation",
        "Print to Std. Out",
    ]
    assert nodes[2]["predecessors"] == [{"id": 2, "ship_strategy": "HASH", "side": "input 1"}]
    text = JobPlan(job).asText()
    assert "Source: Collection Source -> Map" in text
    assert "HASH to Keyed Aggregation" in text


def test_planning_a_job_asks_for_one_generator():
    made = []

    def supplier(context):
        made.append(Punctuated())
        return made[-1]

    def build(env):
        strategy = WatermarkStrategy.forGenerator(supplier)
        counting(env.fromElements(1).assignTimestampsAndWatermarks(strategy)).print()

    JobPlan(job_of(build)).asText()
    assert len(made) == 1
