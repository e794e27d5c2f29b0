"""The runtime context of a rich function: metrics, task information, state, and the rest."""

from __future__ import annotations

from typing import ClassVar

import pytest

import flinkish as fl
from flinkish.api.absent import absent_tables
from flinkish.api.errors import (
    ChangedAttributeWarning,
    IllegalArgumentError,
    IllegalStateError,
    NotSupportedError,
    UserFunctionError,
)
from flinkish.api.functions.runtime_context import TaskInfo
from flinkish.pyflink import datastream as pyflink
from flinkish.runtime.metrics import OperatorMetricGroup
from flinkish.runtime.metrics_totals import EventRate, MetricsTotals
from flinkish.runtime.operators.base import StreamingRuntimeContext
from flinkish.runtime.reports import OperatorReport
from flinkish.runtime.state.keyed_states import KeyedStates
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches


def test_metrics_of_a_group():
    metrics = OperatorMetricGroup()
    group = metrics.addGroup("rides")
    counter, meter = group.counter("all"), group.meter("rate")
    counter.inc(3)
    counter.dec()
    assert group.counter("all").getCount() == 2
    assert meter.getRate() == 0.0
    meter.markEvent(4)
    assert meter.getCount() == 4
    assert meter.getRate() > 0
    histogram = group.histogram("delay")
    assert histogram.getStatistics().getMean() == 0.0
    for delay in (1, 2, 6):
        histogram.update(delay)
    statistics = histogram.getStatistics()
    assert (statistics.size(), statistics.getMean()) == (3, 3.0)
    assert (statistics.getMin(), statistics.getMax()) == (1, 6)
    group.gauge("open", lambda: 7)
    assert metrics.userCounts() == {"rides.all": 2, "rides.rate": 4, "rides.delay": 3}
    assert metrics.userGauges() == {"rides.open": 7}
    with pytest.raises(ValueError, match="is already a counter"):
        group.meter("all")
    metrics.reset()
    assert metrics.userCounts() == {"rides.all": 0, "rides.rate": 0, "rides.delay": 0}
    assert metrics.userHistograms() == {}


def test_a_group_may_be_a_variable_with_a_value():
    metrics = OperatorMetricGroup()
    metrics.addGroup("city", "Bern").addGroup("rides").counter("all").inc()
    assert metrics.userCounts() == {"city.Bern.rides.all": 1}
    with pytest.raises(IllegalArgumentError, match="addGroup: value"):
        metrics.addGroup("city", 7)


class Shows(fl.RichMapFunction):
    def open(self, openContext):
        self.last = self.seen = 0
        group = self.getRuntimeContext().getMetricGroup()
        group.gauge("last", lambda: self.last)
        group.gauge("seen", self.shown)

    def shown(self):
        return self.seen

    def map(self, value):
        self.last = value
        return value


class Counts(Shows):
    def map(self, value):
        self.seen += 1
        return value


def test_what_only_a_gauge_reads_may_change(recwarn):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    assert list(env.fromData(1, 2).map(Shows()).executeAndCollect()) == [1, 2]
    assert not recwarn
    with pytest.warns(ChangedAttributeWarning, match="Counts.seen was changed"):
        list(env.fromData(1, 2).map(Counts()).executeAndCollect())


class ShowsAsInPyFlink(pyflink.MapFunction):
    def open(self, runtime_context):
        self.last = 0
        group = runtime_context.get_metrics_group().add_group("city", "Bern")
        group.gauge("last", lambda: self.last)

    def map(self, value):
        self.last = value
        return value


def test_a_gauge_of_pyflink_shows_what_its_function_sets(recwarn):
    env = pyflink.StreamExecutionEnvironment.get_execution_environment()
    env.core.setLocalExecution()
    assert list(env.from_collection([1, 2]).map(ShowsAsInPyFlink()).execute_and_collect()) == [1, 2]
    assert not recwarn


def test_histograms_are_merged_over_tasks_and_batches():
    totals = MetricsTotals()
    for group, delays in [(0, [5, 1]), (1, [9]), (0, [])]:
        metrics = OperatorMetricGroup()
        histogram = metrics.histogram("delay")
        for delay in delays:
            histogram.update(delay)
        counted = (metrics.userCounts(), metrics.userGauges(), metrics.userHistograms())
        totals.add([OperatorReport("uid", "map", group, 1, 1, 0, 0, 0, 0, 0, None, *counted)])
    assert totals.metrics()["map"].user == {
        "delay": 3,
        "delay.sum": 15,
        "delay.min": 1,
        "delay.max": 9,
    }


class Told(fl.RichMapFunction[int, int]):
    """Keeps its context for the test to ask."""

    context: ClassVar[fl.RuntimeContext]

    def open(self, openContext):
        type(self).context = self.getRuntimeContext()

    def map(self, value):
        return value


def test_task_information_on_the_harness():
    StreamTestHarness(lambda numbers: numbers.map(Told()).name("told"))
    context = Told.context
    assert context.getTaskInfo() == TaskInfo("told")
    assert (context.getTaskName(), context.getTaskNameWithSubtasks()) == ("told", "told (1/1)#0")
    assert (context.getIndexOfThisSubtask(), context.getNumberOfParallelSubtasks()) == (0, 1)
    assert (context.getMaxNumberOfParallelSubtasks(), context.getAttemptNumber()) == (1, 0)


@pytest.mark.parametrize(
    "method",
    absent_tables()["flink"]["RuntimeContext"],
)
def test_what_is_refused_names_the_alternative(method):
    StreamTestHarness(lambda numbers: numbers.map(Told()))
    with pytest.raises(NotSupportedError, match=rf"\.{method} is not supported\. [A-Z]"):
        getattr(Told.context, method)()


def test_the_context_is_not_there_before_the_job():
    with pytest.raises(IllegalStateError, match="Call it in open"):
        Told().getRuntimeContext()


class Total(fl.AggregateFunction[int, int, int]):
    def createAccumulator(self):
        return 0

    def add(self, value, accumulator):
        return value + accumulator

    def getResult(self, accumulator):
        return accumulator


@pytest.mark.parametrize(
    ("method", "descriptor"),
    [
        ("getState", fl.ValueStateDescriptor("s")),
        ("getListState", fl.ListStateDescriptor("s")),
        ("getMapState", fl.MapStateDescriptor("s")),
        ("getReducingState", fl.ReducingStateDescriptor("s", max)),
        ("getAggregatingState", fl.AggregatingStateDescriptor("s", Total())),
    ],
)
def test_state_wants_a_key(method, descriptor):
    class Stateful(fl.RichMapFunction[int, int]):
        def open(self, openContext):
            self.state = getattr(self.getRuntimeContext(), method)(descriptor)

        def map(self, value):
            return value

    with pytest.raises((IllegalStateError, UserFunctionError), match="keyed stream"):
        StreamTestHarness(lambda numbers: numbers.map(Stateful()))
    harness = StreamTestHarness(lambda numbers: numbers.keyBy(abs).map(Stateful()))
    harness.processElement(1)
    assert harness.getOutput() == [fl.StreamRecord(1, None)]


class Where(fl.RichMapFunction[int, tuple[int, int, int]]):
    def map(self, value):
        task = self.getRuntimeContext().getTaskInfo()
        return (
            task.getNumberOfParallelSubtasks(),
            task.getMaxNumberOfParallelSubtasks(),
            task.getIndexOfThisSubtask(),
        )


def test_an_operator_without_keys_is_there_once():
    stages = MicroBatches(lambda s: [s.map(Where()), s.keyBy(abs).map(Where())], 8, parallelism=2)
    alone, keyed = stages.run([[[(1, None)]]])
    assert [result.value for result in alone] == [(1, 8, 0)]
    assert [result.value for result in keyed] == [(2, 8, 0)]


def test_a_meter_tells_the_rate_of_the_last_minute():
    rate = EventRate(100.0)
    assert rate.rate(100.0) == 0
    rate.add(50, 110.0)
    assert rate.rate(110.0) == 5
    rate.add(110, 150.0)
    rate.add(110, 160.0)
    assert rate.rate(160.0) == pytest.approx(110 / 60)
    assert rate.rate(180.0) == pytest.approx(60 / 60)
    assert rate.rate(220.0) == 0


def test_the_rate_of_a_meter_is_over_all_tasks():
    totals = MetricsTotals()
    for group in range(2):
        metrics = OperatorMetricGroup()
        metrics.meter("events").markEvent(5)
        metrics.counter("other").inc()
        counted = (metrics.userCounts(), metrics.userGauges(), metrics.userHistograms())
        report = OperatorReport("uid", "map", group, 1, 1, 0, 0, 0, 0, 0, None, *counted)
        totals.add([report._replace(userMeters=metrics.userMeters())])
    user = totals.metrics()["map"].user
    assert set(user) == {"events", "events.rate", "other"}
    assert user["events"] == 10
    assert user["events.rate"] > 0


@pytest.mark.parametrize("kind", ["", "List", "Map", "Reducing", "Aggregating"])
@pytest.mark.parametrize("make", [StreamingRuntimeContext, KeyedStates])
def test_wrong_arguments_are_told_of_the_method_that_was_called(make, kind):
    method = getattr(make, f"get{kind}State")
    with pytest.raises(TypeError, match=rf"{make.__name__}\.get{kind}State\(\) missing"):
        method(object.__new__(make))
