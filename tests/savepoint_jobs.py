"""Jobs with every kind of state, for tests that stop one with a savepoint and go on from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import flinkish as fl
from flinkish.cep import CEP, AfterMatchSkipStrategy, Pattern

BY_TIME = fl.WatermarkStrategy.forBoundedOutOfOrderness(3).withTimestampAssigner(lambda n, at: n)


class Totals(fl.KeyedProcessFunction):
    """Value, list and map state, and timers in event time."""

    def open(self, context):
        runtime = self.getRuntimeContext()
        self.total = runtime.getState(fl.ValueStateDescriptor("total", fl.Types.LONG()))
        self.seen = runtime.getListState(fl.ListStateDescriptor("seen", fl.Types.LONG()))
        self.each = runtime.getMapState(
            fl.MapStateDescriptor("each", fl.Types.LONG(), fl.Types.LONG())
        )

    def processElement(self, value, context, out):
        total = (self.total.value() or 0) + value
        self.total.update(total)
        self.seen.add(value)
        self.each.put(value % 5, value)
        context.timerService().registerEventTimeTimer(value + 40)
        out.collect(("total", context.getCurrentKey(), total))

    def onTimer(self, timestamp, context, out):
        seen, each = list(self.seen.get()), dict(self.each.entries())
        out.collect(("timer", timestamp, len(seen), sum(seen), sorted(each.items())))


class Priced(fl.KeyedBroadcastProcessFunction):
    """Broadcast state beside keyed state."""

    RULES = fl.MapStateDescriptor("rules", fl.Types.LONG(), fl.Types.LONG())

    def open(self, context):
        self.count = self.getRuntimeContext().getState(
            fl.ValueStateDescriptor("count", fl.Types.LONG())
        )

    def processElement(self, value, context, out):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        out.collect(("priced", value, count, context.getBroadcastState(self.RULES).get(value % 3)))

    def processBroadcastElement(self, value, context, out):
        context.getBroadcastState(self.RULES).put(value, value * 100)


def totals(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    return numbers.keyBy(lambda n: n % 7).process(Totals()).uid("totals")


def tumbling(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    windows = numbers.keyBy(lambda n: n % 4).window(fl.TumblingEventTimeWindows.of(30))
    return windows.reduce(lambda a, b: a + b).uid("tumbling").map(lambda n: ("tumbling", n))


def sliding(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    windows = numbers.keyBy(lambda n: n % 4).window(fl.SlidingEventTimeWindows.of(30, 10))
    return windows.apply(lambda key, window, values: [("sliding", key, sorted(values))]).uid(
        "sliding"
    )


def sessions(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    windows = (
        numbers.filter(lambda n: n % 11 < 6)
        .keyBy(lambda n: n % 3)
        .window(fl.EventTimeSessionWindows.withGap(6))
    )
    return windows.reduce(lambda a, b: a + b).uid("sessions").map(lambda n: ("session", n))


def counted(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    counts = numbers.keyBy(lambda n: n % 6).countWindow(5)
    return counts.reduce(lambda a, b: a + b).uid("counted").map(lambda n: ("counted", n))


def twice(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    first = numbers.keyBy(lambda n: n % 8).window(fl.TumblingEventTimeWindows.of(20))
    sums = first.reduce(lambda a, b: a + b).uid("first")
    second = sums.keyBy(lambda n: n % 2).window(fl.TumblingEventTimeWindows.of(60))
    return second.reduce(lambda a, b: a + b).uid("second").map(lambda n: ("twice", n))


def priced(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    rules = numbers.getExecutionEnvironment().fromData(0, 1, 2).uid("rules").broadcast(Priced.RULES)
    return numbers.keyBy(lambda n: n % 9).connect(rules).process(Priced()).uid("priced")


def matched(numbers: fl.DataStream[int]) -> fl.DataStream[Any]:
    """Patterns whose matches are open for some time, and those that took too long."""
    late: fl.OutputTag[Any] = fl.OutputTag("too late")
    steps: Pattern[int, int] = (
        Pattern[int, int]
        .begin("first", AfterMatchSkipStrategy.skipToNext())
        .where(lambda n: n % 3 == 0)
        .followedBy("more")
        .where(lambda n: n % 3 == 1)
        .oneOrMore()
        .followedBy("last")
        .where(lambda n: n % 5 == 0)
        .within(fl.Duration.ofMillis(40))
    )
    found = (
        CEP.pattern(numbers.keyBy(lambda n: n % 4), steps)
        .select(
            late,
            lambda match, time: ("too late", time, sorted(match.items())),
            lambda match: ("matched", sorted(match.items())),
        )
        .uid("matched")
    )
    return found.union(found.getSideOutput(late))


PARTS: dict[str, Callable[[fl.DataStream[int]], fl.DataStream[Any]]] = {
    part.__name__: part
    for part in (totals, tumbling, sliding, sessions, counted, twice, priced, matched)
}


@dataclass
class Run:
    """A run of a job: what came out of it, and how many elements it has read."""

    results: list[Any] = field(default_factory=list)
    read: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    goOn: threading.Event = field(default_factory=threading.Event)

    def build(self, env: Any, parts: list[str], count: int, holdAt: int | None = None) -> None:
        """A job over the numbers below ``count``. After ``holdAt`` of them it waits for ``goOn``."""
        numbers = env.fromSequence(0, count - 1).uid("numbers")
        numbers = numbers.assignTimestampsAndWatermarks(BY_TIME)
        for part in parts:
            PARTS[part](numbers).forEachBatch(lambda values, batch: self.results.extend(values))

        def hold(values: list[Any], batch: int) -> None:
            self.read += len(values)
            if holdAt is not None and self.read >= holdAt:
                self.reached.set()
                self.goOn.wait(60)

        # The last of the sinks, so that all results of the batch are there
        numbers.forEachBatch(hold)

    @property
    def sorted(self) -> list[str]:
        return sorted(map(repr, self.results))


def asked(client: Any) -> None:
    """Wait until a job knows of the savepoint that another thread asks for."""
    wanted = getattr(getattr(client, "_job", None), "_savepoints", None)
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        # On Spark the batch at hand is finished in any case
        if client._savepoint is not None if wanted is None else not wanted.empty():
            break
        time.sleep(0.001)


def stopped(
    env: Any, parts: list[str], count: int, holdAt: int, directory: str, seconds: float = 60
) -> list[Any]:
    """Run a job, stop it with a savepoint after ``holdAt`` elements, and return its results."""
    run = Run()
    run.build(env, parts, count, holdAt)
    stop_held(env.executeAsync(), run.reached, run.goOn, directory, seconds)
    return run.results


def stop_held(
    client: Any,
    reached: threading.Event,
    goOn: threading.Event,
    directory: str,
    seconds: float = 60,
) -> None:
    """Stop a job with a savepoint after the batch that sets ``reached`` and waits for ``goOn``."""
    assert reached.wait(seconds), "the job read too few elements"
    stopping = threading.Thread(target=client.stopWithSavepoint, args=(directory,))
    stopping.start()
    asked(client)
    goOn.set()
    stopping.join(seconds)
    assert client.getJobStatus() is fl.JobStatus.CANCELED


def gone_on(env: Any, parts: list[str], count: int, directory: str, **options: Any) -> list[Any]:
    """Run a job from a savepoint to its end, and return its results."""
    run = Run()
    run.build(env.setSavepoint(directory, **options), parts, count)
    env.execute()
    return run.results
