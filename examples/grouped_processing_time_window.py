"""GroupedProcessingTimeWindow: sums by key over the last 2.5 seconds of the clock, twice a second.

``python -m examples.grouped_processing_time_window --keys 1000 --elements 200000``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from flinkish import (
    DataGeneratorSource,
    DataStream,
    Duration,
    ReduceFunction,
    SlidingProcessingTimeWindows,
    StreamExecutionEnvironment,
)

Pair = tuple[int, int]


def build(
    pairs: DataStream[Pair],
    size: int = 2500,
    slide: int = 500,
) -> DataStream[Pair]:
    """The job: pairs of a key and the sum of its numbers in a window of ``size`` ms."""
    return (
        pairs.keyBy(lambda pair: pair[0])
        .window(SlidingProcessingTimeWindows.of(Duration.ofMillis(size), Duration.ofMillis(slide)))
        .reduce(SummingReducer())
    )


class SummingReducer(ReduceFunction[Pair]):
    """Adds the numbers of two pairs."""

    def reduce(self, value1: Pair, value2: Pair) -> Pair:
        return value1[0], value1[1] + value2[1]


def report(results: list[Pair], batch: int) -> None:
    """Say what a batch has brought."""
    total = sum(number for _, number in results)
    print(f"batch {batch}: {len(results):,} results, sum {total:,}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Sum up generated pairs, some of them every half second."""
    parser = argparse.ArgumentParser(prog="python -m examples.grouped_processing_time_window")
    parser.add_argument("--keys", type=int, default=1_000, help="%(default)s")
    parser.add_argument("--elements", type=int, default=200_000, help="%(default)s")
    parser.add_argument("--elements-per-batch", type=int, default=20_000, help="%(default)s")
    options = parser.parse_args(arguments)
    keys: int = options.keys

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    env.setTriggerInterval(Duration.ofMillis(500))
    env.getConfig().setElementsPerBatch(options.elements_per_batch)
    source = DataGeneratorSource(lambda n: (n % keys + 1, 1), options.elements)
    build(env.fromSource(source, sourceName="Pairs")).forEachBatch(report)
    result = env.execute("GroupedProcessingTimeWindowExample")
    print(f"Took {result.getNetRuntime():,} ms for {options.elements:,} values")


if __name__ == "__main__":
    main()
