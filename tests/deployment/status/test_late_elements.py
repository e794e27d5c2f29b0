"""A job that has dropped late elements says so at its end."""

from __future__ import annotations

import pytest

import flinkish as fl
from flinkish.cep import CEP, Pattern

AT = fl.WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(lambda e, _: e[1])
ELEMENTS = [("a", 1), ("a", 20), ("a", 2), ("a", 3), ("a", 40)]
LATE = fl.OutputTag("late")
BOUND = "A watermark strategy with a larger bound waits for them"


@pytest.fixture
def env():
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.getConfig().setElementsPerBatch(1)
    return env


@pytest.fixture
def keyed(env):
    return env.fromCollection(ELEMENTS).assignTimestampsAndWatermarks(AT).keyBy(lambda e: e[0])


def of_ten(keyed):
    return keyed.window(fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(10)))


def windows(keyed):
    return of_ten(keyed).reduce(max).name("highest")


def sessions(keyed):
    return keyed.window(fl.EventTimeSessionWindows.withGap(fl.Duration.ofMillis(5))).reduce(max)


def patterns(keyed):
    return CEP.pattern(keyed, Pattern.begin("start")).select(lambda match: match["start"])


class Both(fl.ProcessJoinFunction):
    def processElement(self, left, right, ctx, out):
        out.collect((left, right))


def interval_join(keyed):
    return (
        keyed.intervalJoin(keyed.filter(lambda e: e[1] == 1).keyBy(lambda e: e[0]))
        .between(-1, 1)
        .process(Both())
    )


def window_join(keyed):
    joined = keyed.join(keyed).where(lambda e: e[0]).equalTo(lambda e: e[0])
    return joined.window(fl.TumblingEventTimeWindows.of(fl.Duration.ofMillis(10))).apply(
        lambda left, right: left
    )


def arrivals(keyed):
    strategy = fl.ArrivalTimeStrategy(
        timestampAssigner=lambda e, _: e[1],
        arrivalTime=lambda e, _: e[1],
        outOfOrderTolerance=5,
        outOfOrderPolicy=fl.OrderingPolicy.DROP,
    )
    return keyed.assignTimestampsAndWatermarks(strategy)


TAG = ", and sideOutputLateData(tag) sends them to a side output."


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (windows, f"clicks: highest has dropped 2 late elements. {BOUND}{TAG}"),
        (sessions, f"clicks: EventTimeSessionWindows has dropped 2 late elements. {BOUND}{TAG}"),
        (patterns, f"clicks: CepOperator has dropped 2 late elements. {BOUND}{TAG}"),
        (
            interval_join,
            f"clicks: Interval Join has dropped 2 late elements. {BOUND}, and sideOutputLeftLateData(tag) or"
            " sideOutputRightLateData(tag) sends them to a side output.",
        ),
        (
            arrivals,
            f"clicks: Arrival Time has dropped 2 late elements. {BOUND}, and ArrivalTimeStrategy(...,"
            " deadLetters=tag) sends them to a side output.",
        ),
        (window_join, f"clicks: TumblingEventTimeWindows has dropped 4 late elements. {BOUND}."),
    ],
)
def test_each_operator_says_how_many_and_where_they_could_go(env, keyed, caplog, job, said):
    job(keyed).sinkTo(fl.DiscardingSink())
    env.execute("clicks")
    assert caplog.messages == [said]


def test_nothing_is_said_of_elements_that_are_in_time_or_kept(env, keyed, caplog):
    kept = of_ten(keyed).sideOutputLateData(LATE).reduce(max)
    kept.getSideOutput(LATE).sinkTo(fl.DiscardingSink())
    of_ten(keyed.filter(lambda e: e[1] not in (2, 3)).keyBy(lambda e: e[0])).reduce(max).print()
    env.execute("clicks")
    assert caplog.messages == []
