"""SourceFunctions of Flink 1 run from their beginning to their end, or until the job is cancelled."""

from __future__ import annotations

import threading
import time

import pytest

import flinkish as fl

CALLS: list[str] = []
CANCELLED = threading.Event()
CLOSED = threading.Event()


@pytest.fixture
def local():
    CALLS.clear()
    CANCELLED.clear()
    CLOSED.clear()
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


class Timed(fl.RichSourceFunction):
    """Three elements with timestamps, and watermarks among them."""

    def open(self, openContext):
        self.name = self.getRuntimeContext().getTaskInfo().getTaskName()

    def run(self, ctx):
        element = [self.name, 0]
        for number in range(3):
            with ctx.getCheckpointLock():
                element[1] = number
                ctx.collectWithTimestamp(element, number * 1_000)
                ctx.emitWatermark(fl.Watermark(number * 1_000))
        ctx.close()

    def close(self):
        CALLS.append("close")


class Forever(fl.SourceFunction):
    """Emits one element and then waits for ``cancel``."""

    def __init__(self):
        self.running = True

    def run(self, ctx):
        ctx.collect(1)
        while self.running:
            time.sleep(0.01)
        CLOSED.set()

    def cancel(self):
        CANCELLED.set()
        self.running = False


class Endless(fl.RichSourceFunction):
    def run(self, ctx):
        number = 0
        while True:
            try:
                ctx.collect(number)
            except Exception:
                CALLS.append("caught")
            number += 1

    def close(self):
        CLOSED.set()


def test_timestamps_and_watermarks_are_those_it_emits(local):
    class Shows(fl.ProcessFunction):
        def processElement(self, value, ctx, out):
            out.collect((value, ctx.timestamp(), ctx.timerService().currentWatermark()))

    shown = list(local.addSource(Timed(), "timed").process(Shows()).executeAndCollect())
    assert [value for value, _, _ in shown] == [["Timed", 0], ["Timed", 1], ["Timed", 2]]
    assert [timestamp for _, timestamp, _ in shown] == [0, 1_000, 2_000]
    assert [watermark for _, _, watermark in shown][1:] == [0, 1_000]


def test_windows_fire_by_its_watermarks(local):
    def run(ctx):
        for second in (1, 2, 11):
            ctx.collectWithTimestamp(("a", second), second * 1_000)
        ctx.emitWatermark(fl.Watermark(10_000))
        ctx.collectWithTimestamp(("a", 100), 3_000)  # late

    totals = (
        local.addSource(run)
        .keyBy(lambda e: e[0])
        .window(fl.TumblingEventTimeWindows.of(fl.Time.seconds(10)))
        .sum(1)
    )
    assert list(totals.executeAndCollect()) == [("a", 3), ("a", 11)]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("how", ["collects", "yields", "both", "a lambda"])
def test_ways_to_emit(local, how, bounded):
    class Collects(fl.SourceFunction):
        def run(self, ctx):
            for number in (1, 2, 3):
                ctx.collect(number)

    class Yields(fl.SourceFunction):
        def run(self, ctx):
            yield from (1, fl.StreamRecord(2, 5), 3)

    class Both(fl.SourceFunction):
        def run(self, ctx):
            ctx.collect(1)
            yield 2
            ctx.collect(3)

    functions = {
        "collects": Collects(),
        "yields": Yields(),
        "both": Both(),
        "a lambda": lambda ctx: [ctx.collect(number) for number in (1, 2, 3)],
    }
    assert list(local.addSource(functions[how], bounded=bounded).executeAndCollect()) == [1, 2, 3]


def test_an_element_of_several_batches_is_copied_when_it_is_emitted(local):
    def run(ctx):
        element = {"n": 0}
        for number in range(25):
            element["n"] = number
            ctx.collect(element)

    local.getConfig().setElementsPerBatch(4)
    found = list(local.addSource(run).executeAndCollect())
    assert [element["n"] for element in found] == list(range(25))


def test_cancel_ends_a_function_that_waits(local):
    with local.addSource(Forever()).executeAndCollect() as elements:
        assert next(elements) == 1
        assert not CANCELLED.is_set()
    assert CANCELLED.wait(10)
    assert CLOSED.wait(10)


def test_a_function_that_never_looks_ends_in_collect_and_is_closed(local):
    local.getConfig().setElementsPerBatch(10)
    with local.addSource(Endless()).executeAndCollect() as elements:
        assert [next(elements) for _ in range(3)] == [0, 1, 2]
    assert CLOSED.wait(10)
    assert CALLS == []


def test_open_and_close_are_called(local):
    list(local.addSource(Timed()).executeAndCollect())
    assert CALLS == ["close"]


def test_an_error_names_the_function_and_comes_after_the_elements(local):
    class Breaks(fl.SourceFunction):
        def run(self, ctx):
            ctx.collect(1)
            raise ValueError("gone")

    elements = local.addSource(Breaks()).executeAndCollect()
    assert next(elements) == 1
    with pytest.raises(fl.UserFunctionError, match=r"Breaks: .*gone in run\(\)"):
        next(elements)


@pytest.mark.parametrize(
    ("emit", "said"),
    [
        (lambda ctx: ctx.collectWithTimestamp(1, 2.5), "collectWithTimestamp: 2.5"),
        (lambda ctx: ctx.emitWatermark(5), "emitWatermark: "),
        (lambda ctx: ctx.markAsTemporarilyIdle(), "withIdleness"),
    ],
)
def test_what_the_context_refuses(local, emit, said):
    with pytest.raises(fl.FlinkishError, match=said):
        list(local.addSource(emit).executeAndCollect())


@pytest.mark.parametrize("method", ["getMetricGroup", "getGlobalJobParameters"])
def test_the_runtime_context_refuses_what_operators_have(local, method):
    class Asks(fl.RichSourceFunction):
        def run(self, ctx):
            getattr(self.getRuntimeContext(), method)()

    with pytest.raises(fl.NotSupportedError, match=f"Asks: {method}"):
        list(local.addSource(Asks()).executeAndCollect())


def test_what_cannot_be_pickled_is_named(local):
    lock = threading.Lock()

    def run(ctx):
        with lock:
            ctx.collect(1)

    with pytest.raises(fl.InvalidProgramError, match=r"^run: .*open that in run\(ctx\)"):
        list(local.addSource(run).executeAndCollect())


def test_what_is_none_is_refused(local):
    for wrong in (None, Timed, lambda: None, 5):
        with pytest.raises(fl.InvalidProgramError, match="addSource: "):
            local.addSource(wrong)

    class Keeps(fl.SourceFunction, fl.CheckpointedFunction):
        def run(self, ctx):
            pass

        def snapshotState(self, context):
            pass

        def initializeState(self, context):
            pass

    with pytest.raises(fl.NotSupportedError, match=r"addSource: Keeps.*read\(position\)"):
        local.addSource(Keeps())
    with pytest.raises(fl.FlinkishError, match="addSource: bounded"):
        local.addSource(Timed(), bounded=None)
    with pytest.raises(fl.FlinkishError, match="typeInfo"):
        local.addSource(Timed(), "timed", str)


def test_it_runs_from_its_beginning_after_a_failure(local):
    def run(ctx):
        for number in range(1, 6):
            ctx.collect(number)

    def fails_once(number):
        if number == 2 and "failed" not in CALLS:
            CALLS.append("failed")
            raise OSError("once")
        return number

    local.getConfig().setElementsPerBatch(1)
    local.setRestartStrategy(fl.RestartStrategies.fixedDelayRestart(1, 0))
    seen: list[int] = []
    local.addSource(run, bounded=True).forEachBatch(
        lambda numbers, _: seen.extend(map(fails_once, numbers))
    )
    local.execute()
    assert CALLS == ["failed"]
    # The batch that failed keeps its element, and then run() begins anew
    assert seen == [1, 2, 1, 2, 3, 4, 5]
