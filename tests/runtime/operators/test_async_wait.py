"""Asynchronous I/O: results, order, watermarks, timeout, retries and errors."""

from __future__ import annotations

import asyncio
import threading
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish import AsyncDataStream, AsyncRetryStrategies, RetryPredicates, TimeUnit
from flinkish.runtime.operators import async_wait
from flinkish.testing import StreamTestHarness
from tests.runtime.micro_batches import MicroBatches
from tests.streams import values


async def doubled(value):
    await asyncio.sleep(0.001 * (value % 3))
    return [value, -value]


def waiting(function, timeout=5_000, **settings):
    return lambda stream: AsyncDataStream.unorderedWait(stream, function, timeout, **settings)


@pytest.mark.parametrize("wait", [AsyncDataStream.unorderedWait, AsyncDataStream.orderedWait])
def test_results_come_in_the_order_of_the_elements_with_their_timestamps(wait):
    jobs = MicroBatches(lambda stream: wait(stream, doubled, 5, TimeUnit.SECONDS, 4), 1)
    [results] = jobs.run([[[(n, n) for n in range(9)]]])
    assert [(r.value, r.timestamp) for r in results] == [
        (sign * n, n) for n in range(9) for sign in (1, -1)
    ]


def test_flinks_form_completes_a_future_from_any_thread():
    class Later(fl.AsyncFunction):
        def asyncInvoke(self, value, resultFuture):
            threading.Timer(0.01, resultFuture.complete, ([value + 1],)).start()

    harness = StreamTestHarness(waiting(Later()))
    harness.processElement(1)
    assert values(harness) == [2]
    harness.close()


def test_a_coroutine_may_complete_the_future_too():
    class Awaited(fl.AsyncFunction):
        async def asyncInvoke(self, value, resultFuture):
            await asyncio.sleep(0)
            resultFuture.complete([value + 1])
            resultFuture.complete([0])  # only the first counts

    harness = StreamTestHarness(waiting(Awaited()))
    harness.processElement(1)
    assert values(harness) == [2]


class Answering(fl.AsyncFunction):
    """Answers each way in which an answer may come."""

    def asyncInvoke(self, value, resultFuture):
        number, way = value
        if way == "thread":
            threading.Thread(target=resultFuture.complete, args=([number],)).start()
        elif way == "at once":
            resultFuture.complete([number])
            resultFuture.completeExceptionally(ValueError("only the first counts"))
        return self.awaited(number, way) if way in AWAITED else None

    async def awaited(self, number, way):
        if way == "suspended":
            await asyncio.sleep(0)
        elif way == "late":
            await asyncio.Event().wait()
        elif way == "late but answered":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return [number]
        return [number]

    def timeout(self, value, resultFuture):
        resultFuture.complete([-1 - value[0]])


AWAITED = ["returned", "suspended", "late", "late but answered"]
ANSWERS = st.sampled_from(["at once", "returned", "suspended", "thread"])
TIMED_OUT = st.sampled_from(["at once", "returned", "late", "late but answered"])


@given(
    st.one_of(
        st.tuples(st.just(60_000), st.lists(ANSWERS, max_size=12)),
        st.tuples(st.just(1), st.lists(TIMED_OUT, max_size=6)),
    ),
    st.integers(1, 4),
)
def test_an_answer_may_come_in_any_way(given, capacity):
    timeout, ways = given
    jobs = MicroBatches(waiting(Answering(), timeout, capacity=capacity), 1)
    [results] = jobs.run([[[((n, way), n) for n, way in enumerate(ways)]]])
    expected = [(-1 - n if way == "late" else n, n) for n, way in enumerate(ways)]
    assert [(r.value, r.timestamp) for r in results] == expected


@pytest.mark.parametrize(
    ("seconds", "turned"), [(inf, [False, False, False]), (-inf, [False, True, True])]
)
def test_answers_at_once_need_no_turn_of_the_loop_but_leave_it_some(monkeypatch, seconds, turned):
    class AtOnce(fl.RichAsyncFunction):
        def open(self, openContext):
            self.turned = asyncio.Event()

        def asyncInvoke(self, value, resultFuture):
            if value == 0:
                asyncio.get_running_loop().call_soon(self.turned.set)
            resultFuture.complete([self.turned.is_set()])

    monkeypatch.setattr(async_wait, "MOST_SECONDS", seconds)
    [results] = MicroBatches(waiting(AtOnce(), capacity=1), 1).run(
        [[[(n, None) for n in range(3)]]]
    )
    assert [r.value for r in results] == turned


def test_results_come_before_the_next_watermark_though_elements_after_it_are_under_way():
    class Running(fl.RichAsyncFunction):
        def open(self, openContext):
            self.three = asyncio.Barrier(3)

        async def asyncInvoke(self, value):
            await self.three.wait()
            return [value]

    class EveryElement(fl.WatermarkGenerator):
        def onEvent(self, event, eventTimestamp, output):
            output.emitWatermark(fl.Watermark(eventTimestamp))

        def onPeriodicEmit(self, output):
            pass

    strategy = fl.WatermarkStrategy.forGenerator(lambda context: EveryElement())

    class Seen(fl.ProcessFunction):
        def processElement(self, value, ctx, out):
            out.collect((value, ctx.timerService().currentWatermark()))

    def build(stream):
        timed = stream.assignTimestampsAndWatermarks(strategy)
        return AsyncDataStream.unorderedWait(timed, Running(), 5_000, capacity=3).process(Seen())

    [results] = MicroBatches(build, 1).run([[[(n, n) for n in range(6)]]])
    assert [r.value for r in results] == [(0, -(2**63)), *((n, n - 1) for n in range(1, 6))]


def test_no_more_than_the_capacity_are_under_way():
    class Counted(fl.RichAsyncFunction):
        def open(self, openContext):
            self.running = 0
            self.three = asyncio.Barrier(3)

        async def asyncInvoke(self, value):
            self.running += 1
            running = self.running
            await self.three.wait()
            self.running -= 1
            return [running]

    [results] = MicroBatches(waiting(Counted(), capacity=3), 1).run(
        [[[(n, None) for n in range(12)]]]
    )
    assert max(r.value for r in results) == 3


def test_what_takes_too_long_goes_to_timeout():
    class Slow(fl.AsyncFunction):
        async def asyncInvoke(self, value):
            await asyncio.Event().wait()
            return [value]

        def timeout(self, value, resultFuture):
            resultFuture.complete([f"late {value}"])

    harness = StreamTestHarness(waiting(Slow(), 20))
    harness.processElement(1)
    assert values(harness) == ["late 1"]


def test_without_a_timeout_of_its_own_it_fails_the_job():
    async def slow(value):
        await asyncio.Event().wait()

    harness = StreamTestHarness(waiting(slow, 20))
    with pytest.raises(fl.UserFunctionError, match=r"Async Wait Operator.*timed out.*7$"):
        harness.processElement(7)


def test_a_timeout_error_of_the_function_is_its_error():
    async def refused(value):
        raise TimeoutError("the other side")

    harness = StreamTestHarness(waiting(refused))
    with pytest.raises(fl.UserFunctionError, match="the other side"):
        harness.processElement(7)


def test_errors_name_operator_and_element_and_end_what_is_under_way():
    ended = []

    async def fails(value):
        if value == 3:
            raise ValueError("no three")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(value)
            raise

    class Failing(fl.AsyncFunction):
        def asyncInvoke(self, value, resultFuture):
            resultFuture.completeExceptionally(KeyError("gone"))

    jobs = MicroBatches(waiting(fails), 1)
    with pytest.raises(fl.UserFunctionError, match=r"no three on the element 3"):
        jobs.process([[(n, None) for n in range(5)]])
    harness = StreamTestHarness(waiting(Failing()))
    with pytest.raises(fl.UserFunctionError, match="gone"):
        harness.processElement(1)


@pytest.mark.parametrize("returned", [None, 7, "text"])
def test_results_are_a_list(returned):
    async def wrong(value):
        return returned

    harness = StreamTestHarness(waiting(wrong))
    with pytest.raises(fl.InvalidProgramError, match="asynchronous function"):
        harness.processElement(1)


class Flaky(fl.RichAsyncFunction):
    """Fails ``failures`` times for each value, and gives nothing once."""

    def __init__(self, failures):
        self.failures = failures

    def open(self, openContext):
        self.tried = {}

    async def asyncInvoke(self, value):
        tried = self.tried[value] = self.tried.get(value, 0) + 1
        if tried <= self.failures:
            raise OSError("try again")
        return [] if tried == self.failures + 1 else [(value, tried)]


def retried(failures, strategy, timeout=5_000):
    return StreamTestHarness(
        lambda stream: AsyncDataStream.orderedWaitWithRetry(
            stream, Flaky(failures), timeout, TimeUnit.MILLISECONDS, strategy
        )
    )


def test_errors_and_results_are_tried_again():
    strategy = (
        AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(5, 1)
        .ifResult(RetryPredicates.EMPTY_RESULT_PREDICATE)
        .ifException(RetryPredicates.createExceptionTypePredicate(OSError))
        .build()
    )
    harness = retried(2, strategy)
    harness.processElement("a")
    assert values(harness) == [("a", 4)]


def test_after_the_last_attempt_the_error_is_raised_and_the_result_stays():
    builder = AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder(2, 1, 4, 2.0)
    strategy = builder.ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE).build()
    with pytest.raises(fl.UserFunctionError, match="try again"):
        retried(3, strategy).processElement("a")
    empty = AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(1, 1)
    harness = retried(0, empty.ifResult(lambda results: True).build())
    harness.processElement("a")
    assert values(harness) == [("a", 2)]


def test_the_timeout_includes_the_retries():
    strategy = (
        AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(5, 60_000)
        .ifException(RetryPredicates.HAS_EXCEPTION_PREDICATE)
        .build()
    )
    harness = retried(2, strategy, timeout=1)
    with pytest.raises(fl.UserFunctionError, match=r"timed out.*'a'$") as failed:
        harness.processElement("a")
    assert failed.value.__cause__.__context__ is None


def test_delays_grow_up_to_the_greatest():
    builder = AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategyBuilder(9, 10, 50, 2.0)
    strategy = builder.build()
    assert [strategy.getBackoffTimeMillis(n) for n in (1, 2, 3, 4)] == [10, 20, 40, 50]
    assert not AsyncRetryStrategies.NO_RETRY_STRATEGY.canRetry(1)


def test_open_runs_within_the_event_loop():
    class Client(fl.RichAsyncFunction):
        def open(self, openContext):
            self.loop = asyncio.get_running_loop()

        async def asyncInvoke(self, value):
            return [asyncio.get_running_loop() is self.loop]

    harness = StreamTestHarness(waiting(Client()))
    harness.processElement(1)
    harness.processElement(2)
    assert values(harness) == [True, True]
    harness.close()


def test_it_works_where_an_event_loop_runs_already():
    async def notebook():
        harness = StreamTestHarness(waiting(doubled))
        harness.processElement(3)
        return values(harness)

    assert asyncio.run(notebook()) == [3, -3]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"timeout": 0}, "timeout is 0 ms"),
        ({"capacity": 0}, "capacity: 0"),
        ({"func": lambda: 1}, r"cannot be called with 1 argument"),
    ],
)
def test_wrong_arguments_are_named(arguments, said):
    given = {"func": doubled, "timeout": 5, **arguments}
    with pytest.raises(fl.FlinkishError, match=said):
        StreamTestHarness(lambda stream: AsyncDataStream.unorderedWait(stream, **given))


@pytest.mark.parametrize("order", ["Java", "Python"])
def test_capacity_and_strategy_come_in_either_order(order):
    strategy = AsyncRetryStrategies.FixedDelayRetryStrategyBuilder(5, 1).ifException(
        RetryPredicates.createExceptionTypePredicate(OSError)
    )
    arguments = (7, strategy.build()) if order == "Java" else (strategy.build(), 7)
    harness = StreamTestHarness(
        lambda stream: AsyncDataStream.unorderedWaitWithRetry(
            stream, Flaky(1), 5_000, TimeUnit.MILLISECONDS, *arguments
        )
    )
    harness.processElement("a")
    assert values(harness) == []
