"""Asynchronous I/O: an event loop in the task, with at most ``capacity`` elements in flight.

The elements of a batch are collected, and processed when the batch is complete, or when there are
many. So elements before and after a watermark can be in flight together, while results are still
emitted before the next watermark. Results are emitted in the order of the elements, even where
Flink promises no order, as a batch that is run again must give the same.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from itertools import islice
from math import inf
from typing import Any, TypeVar

from flinkish.api.errors import UnfitElementError, shown
from flinkish.api.functions.adapt import results_of, takes
from flinkish.api.functions.async_function import AsyncFunction, ResultFuture
from flinkish.api.plan.operators import AsyncWaitDescription
from flinkish.api.time.elements import WatermarkStatus
from flinkish.runtime.operators.base import OneInputOperator, OperatorContext, UdfStreamOperator
from flinkish.runtime.operators.output import Input
from flinkish.runtime.records.records import Records
from flinkish.runtime.records.user_code import raise_named

R = TypeVar("R")

MOST_WAITING = 50
"""An operator collects up to this many times its capacity before it processes the elements."""

MOST_SECONDS = 0.01
"""A worker whose results are there at once lets the other workers continue after so long."""

_Started = dict[asyncio.Task[None], float]
"""When each worker started its element, in the time of the event loop."""

_EXPIRED = inf
"""The start of an element that has timed out, and of a worker without an element."""


class AsyncWaitOperator(UdfStreamOperator, OneInputOperator):
    """``AsyncDataStream`` (Flink: ``AsyncWaitOperator``)."""

    keepsRecords = True

    def __init__(self, context: OperatorContext, description: AsyncWaitDescription) -> None:
        super().__init__(context, description)
        self._timeout = description.timeout / 1000
        self._capacity = description.capacity
        self._retries = description.retries
        predicate = description.retries.getRetryPredicate()
        self._retries_result = predicate.resultPredicate()
        self._retries_error = predicate.exceptionPredicate()
        self._invoke = _future_form(description.call)
        retries = self._retries_result or self._retries_error
        self._attempts = self._retried if retries else self._invoke
        function = description.function
        self._on_timeout = _future_form(
            function.timeout if isinstance(function, AsyncFunction) else _timed_out
        )
        self._collects = context.emitsAfterSlices
        self._waiting: list[Records | int | WatermarkStatus] = []
        self._count = 0
        self._loop: _EventLoop | None = None

    def open(self) -> None:
        self._loop = _EventLoop()

        async def opened() -> None:
            self.openFunction(self._function)

        self._loop.run(opened())

    def close(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            super().close()
            return

        async def closed() -> None:
            super(AsyncWaitOperator, self).close()

        try:
            loop.run(closed())
        finally:
            loop.close()

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        super().restore(snapshot)
        self._waiting, self._count = [], 0

    # ------------------------------------------------------------------ inputs

    def processRecords(self, records: Records) -> None:
        self.metrics.numRecordsIn += len(records)
        self._waiting.append(records)
        self._count += len(records)
        if not self._collects or self._count >= self._capacity * MOST_WAITING:
            self._process()

    def processWatermark(self, timestamp: int) -> None:
        if self._waiting:
            self._waiting.append(timestamp)
        else:
            super().processWatermark(timestamp)

    processWatermarks = Input.processWatermarks

    def processWatermarkStatus(self, status: WatermarkStatus) -> None:
        if self._waiting:
            self._waiting.append(status)
        else:
            super().processWatermarkStatus(status)

    def onPeriodicEmit(self) -> None:
        self._process()

    def _process(self) -> None:
        """Await the results of all waiting elements, and emit them with their watermarks."""
        waiting, self._waiting, self._count = self._waiting, [], 0
        values = [v for part in waiting if isinstance(part, Records) for v in part.values]
        if values:
            assert self._loop is not None
            results = iter(self._loop.run(self._results(values)))
        for part in waiting:
            if isinstance(part, Records):
                self._emit(part, list(islice(results, len(part))))
            elif isinstance(part, WatermarkStatus):
                super().processWatermarkStatus(part)
            else:
                super().processWatermark(part)

    def _emit(self, records: Records, results: list[list[Any]]) -> None:
        if not self.output.reusesObjects:
            self.output.emitRecords(records.flatMapped(results).copied())
            return
        for of_record, timestamp in zip(results, records.timestamps.tolist()):
            for result in of_record:
                self.output.collect(result, timestamp)
        self.output.flush()

    # ------------------------------------------------------------------ in the event loop

    async def _results(self, values: list[Any]) -> list[list[Any]]:
        """The results for each value; up to ``capacity`` values are in flight."""
        results: list[list[Any]] = [[]] * len(values)
        elements = iter(enumerate(values))
        started: _Started = {}
        workers = [
            asyncio.create_task(self._work(elements, results, started))
            for _ in range(min(self._capacity, len(values)))
        ]
        tasks = [*workers, asyncio.create_task(self._watch(started))]
        try:
            await asyncio.gather(*workers)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return results

    async def _work(
        self, elements: Iterator[tuple[int, Any]], results: list[list[Any]], started: _Started
    ) -> None:
        """Find the results of one element after the other; an error names the element."""
        task = asyncio.current_task()
        assert task is not None
        now = asyncio.get_running_loop().time
        began = now()
        for position, value in elements:
            started[task] = since = now()
            if since - began > MOST_SECONDS:
                started[task] = _EXPIRED
                await asyncio.sleep(0)
                started[task] = began = now()
            try:
                results[position] = await self._result(value, task, started)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                raise_named(self.name, error, lambda: value)  # noqa: B023 - called at once
        started[task] = _EXPIRED

    async def _watch(self, started: _Started) -> None:
        """Cancel the workers whose elements have timed out. One clock for all of them costs less
        than a timer each."""
        now = asyncio.get_running_loop().time
        while True:
            due = now() - self._timeout
            for worker, since in started.items():
                if since <= due:
                    started[worker] = _EXPIRED
                    worker.cancel()
            # Elements that start during the sleep are due after it
            earliest = min(started.values(), default=_EXPIRED)
            await asyncio.sleep(min(earliest - due, self._timeout))

    async def _result(self, value: Any, task: asyncio.Task[None], started: _Started) -> list[Any]:
        try:
            return _checked(await self._attempts(value))
        except (asyncio.CancelledError, TimeoutError):
            if started[task] != _EXPIRED or task.cancelling() > 1:
                raise
        finally:
            if started[task] == _EXPIRED:
                task.uncancel()
        return _checked(await self._on_timeout(value))

    async def _retried(self, value: Any) -> list[Any]:
        attempt = 1
        while True:
            try:
                results = _checked(await self._invoke(value))
            except Exception as error:
                if not (self._retries_error and self._retries_error(error)):
                    raise
                if not self._retries.canRetry(attempt):
                    raise
            else:
                if not (self._retries_result and self._retries_result(results)):
                    return results
                if not self._retries.canRetry(attempt):
                    return results
            await asyncio.sleep(self._retries.getBackoffTimeMillis(attempt) / 1000)
            attempt += 1


def _checked(returned: Any) -> list[Any]:
    if returned is None:
        raise UnfitElementError(
            "the asynchronous function gave None in place of its results. Return a list of them, [] for"
            " none."
        )
    return list(results_of(returned, "the asynchronous function"))


def _timed_out(value: Any) -> Any:
    raise TimeoutError("Async function call has timed out.")


def _future_form(function: Callable[..., Any]) -> Callable[[Any], Awaitable[Any]]:
    """``function``, which takes a ResultFuture or returns its results, as a coroutine function."""

    async def with_future(value: Any) -> Any:
        future = LoopFuture()
        returned = function(value, future)
        if returned is not None and inspect.isawaitable(returned):
            returned = await returned
            if returned is not None:
                return returned
        if not future.completed:
            await future.completion()
        return future.result()

    async def returning(value: Any) -> Any:
        returned = function(value)
        return await returned if inspect.isawaitable(returned) else returned

    if _takes_future(function):
        return with_future
    return function if inspect.iscoroutinefunction(function) else returning


def _takes_future(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return False
    return takes(function, 2)


class LoopFuture(ResultFuture[Any]):
    """A ResultFuture of the running event loop. What completes it before it is awaited costs no
    turn of the loop."""

    __slots__ = ("_loop", "_waiter", "completed")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self.completed: list[tuple[Any, BaseException | None]] = []
        """The results or the error of each call. Appending is atomic, so one of several threads is
        the first."""

    def complete(self, result: Iterable[Any]) -> None:
        self.completed.append((result, None))
        if self._waiter is not None:
            self._wake(self._waiter)

    def completeExceptionally(self, error: BaseException) -> None:
        if not isinstance(error, BaseException):
            error = UnfitElementError(
                f"completeExceptionally got {shown(error)}. Pass an exception."
            )
        self.completed.append((None, error))
        if self._waiter is not None:
            self._wake(self._waiter)

    def _wake(self, waiter: asyncio.Future[None]) -> None:
        def wake() -> None:
            if not waiter.done():
                waiter.set_result(None)

        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(wake)

    async def completion(self) -> None:
        """Wait for the first call."""
        self._waiter = self._loop.create_future()
        # A thread may have completed it before it could see the waiter
        if not self.completed:
            await self._waiter

    def result(self) -> Any:
        """The results of the first call. Raises its error."""
        result, error = self.completed[0]
        if error is not None:
            raise error
        return result


class _EventLoop:
    """An event loop in its own thread, as the task's thread may be running another one."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "flinkish asyncio")
        self._runner = asyncio.Runner()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        context = copy_context()
        return self._thread.submit(context.run, self._runner.run, coroutine).result()

    def close(self) -> None:
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()
