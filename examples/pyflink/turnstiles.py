"""Visitors at the turnstiles of a museum, in count, sliding and session windows.

``python -m examples.pyflink.turnstiles [--local]``
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from flinkish.pyflink.common import Time, Types, WatermarkStrategy
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import (
    CountWindow,
    DataStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
    WindowFunction,
)
from flinkish.pyflink.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
)

VISIT = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()])
"""The turnstile, the second, and how many went through."""

COUNTED = Types.TUPLE([Types.STRING(), Types.STRING(), Types.INT()])


class At(TimestampAssigner):
    """When they went through."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 1000


class ByCount(WindowFunction[tuple[str, int, int], tuple[str, str, int], str, CountWindow]):
    """The visitors of so many visits."""

    def apply(
        self, key: str, window: CountWindow, inputs: Iterable[tuple[str, int, int]]
    ) -> Iterable[tuple[str, str, int]]:
        yield key, "three visits", sum(visitors for _, _, visitors in inputs)


class ByTime(ProcessWindowFunction[tuple[str, int, int], tuple[str, str, int], str, TimeWindow]):
    """The visitors of a stretch of time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(
        self, key: str, context: Any, elements: Iterable[tuple[str, int, int]]
    ) -> Iterable[tuple[str, str, int]]:
        window = context.window()
        stretch = f"{self.name} {window.start // 1000}-{window.end // 1000} s"
        yield key, stretch, sum(visitors for _, _, visitors in elements)


class Larger(SessionWindowTimeGapExtractor):
    """A large party takes longer."""

    def extract(self, element: Any) -> int:
        return int(element[2]) * 2_000


def build(env: StreamExecutionEnvironment) -> list[DataStream]:
    """The counts, by each kind of window."""
    visits = env.from_collection(
        [("east", 1, 2), ("west", 2, 1), ("east", 4, 1), ("east", 9, 5), ("east", 15, 1)], VISIT
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    timed = visits.assign_timestamps_and_watermarks(strategy)
    turnstiles = timed.key_by(lambda visit: visit[0], Types.STRING())
    sliding = SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(4))
    parties = EventTimeSessionWindows.with_dynamic_gap(Larger())
    return [
        turnstiles.count_window(3).apply(ByCount(), COUNTED),
        turnstiles.window(sliding).process(ByTime("sliding"), COUNTED),
        turnstiles.window(sessions).process(ByTime("session"), COUNTED),
        turnstiles.window(parties).process(ByTime("party"), COUNTED),
    ]


def main(local: bool = False) -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(local)
    env.set_parallelism(1)
    for counts in build(env):
        counts.print()
    env.execute("turnstiles")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", action="store_true", help="run without Spark")
    main(parser.parse_args().local)
