"""The benefit of ``AsyncDataStream``: lookups of 10 ms, up to 100 under way at once, compared with one after the other.

python -m tests.benchmarks.lookups
"""

from __future__ import annotations

import asyncio
import time

import flinkish as fl
from flinkish.pyflink import datastream
from flinkish.pyflink.common import Time

LOOKUP = 0.01
ELEMENTS = 5_000
ALONE = 100


async def lookup(value: int) -> list[int]:
    """Answers after 10 ms."""
    await asyncio.sleep(LOOKUP)
    return [value]


class Lookup(datastream.AsyncFunction[int, int]):
    """The same as PyFlink has it."""

    async def async_invoke(self, value: int) -> list[int]:
        return await lookup(value)


def core(elements: int, capacity: int, ordered: bool = True) -> int:
    """The number of results of flinkish's own AsyncDataStream."""
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    stream = env.setParallelism(1).fromSequence(1, elements)
    wait = fl.AsyncDataStream.orderedWait if ordered else fl.AsyncDataStream.unorderedWait
    found = wait(stream, lookup, fl.Duration.ofSeconds(60), capacity=capacity)
    return len(list(found.executeAndCollect()))


def pyflink(elements: int, capacity: int) -> int:
    """The number of results through PyFlink's door."""
    env = datastream.StreamExecutionEnvironment.get_execution_environment()
    stream = env.set_local_execution(True).set_parallelism(1).from_collection(range(elements))
    found = datastream.AsyncDataStream.unordered_wait(stream, Lookup(), Time.seconds(60), capacity)
    return len(list(found.execute_and_collect()))


def _milliseconds_each(elements: int, run: object) -> float:
    assert callable(run)
    began = time.monotonic()
    assert run() == elements
    return (time.monotonic() - began) * 1000 / elements


def main() -> None:
    """Prints a line for each way."""
    core(1, 1)  # what is imported and started once
    alone = _milliseconds_each(ALONE, lambda: core(ALONE, 1))
    print(f"one after the other: {alone:.2f} ms a lookup")
    for name, run in (
        ("orderedWait", lambda: core(ELEMENTS, 100)),
        ("unorderedWait", lambda: core(ELEMENTS, 100, ordered=False)),
        ("PyFlink's unordered_wait", lambda: pyflink(ELEMENTS, 100)),
    ):
        each = _milliseconds_each(ELEMENTS, run)
        print(f"{name}, capacity 100: {each:.3f} ms a lookup, {alone / each:.0f} times faster")


if __name__ == "__main__":
    main()
