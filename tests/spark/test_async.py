"""Asynchronous I/O on Spark, and in local execution."""

from __future__ import annotations

import asyncio

import flinkish as fl


class Lookup(fl.RichAsyncFunction):
    def open(self, openContext):
        self.table = {n: n * n for n in range(100)}

    async def asyncInvoke(self, value):
        await asyncio.sleep(0.001)
        return [(value, self.table[value])]


def test_a_lookup_before_and_after_a_shuffle(environment):
    found = fl.AsyncDataStream.orderedWait(
        environment.fromSequence(0, 99), Lookup(), fl.Duration.ofSeconds(30)
    )
    latest = found.keyBy(lambda pair: pair[0] % 2).reduce(lambda before, pair: pair)
    again = fl.AsyncDataStream.unorderedWait(
        latest.map(lambda pair: pair[0]), Lookup(), 30, fl.TimeUnit.SECONDS
    )
    expected = [(n, n * n) for n in range(100)]
    assert sorted(again.executeAndCollect()) == expected
