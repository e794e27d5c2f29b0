"""Doors that send nothing for a minute, and asynchronous look-ups of them in a register.

``python -m examples.pyflink.quiet_doors [--local]``
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from typing import Any

from flinkish.pyflink.common import Time, Types, WatermarkStrategy
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flinkish.pyflink.datastream.state import ValueStateDescriptor

SIGNAL = Types.TUPLE([Types.STRING(), Types.LONG()])
MINUTE = 60_000


class SentAt(TimestampAssigner):
    """When the door sent the signal."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Quiet(KeyedProcessFunction):
    """Emits a door and when it was last heard of, if that was a minute ago."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.last.update(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + MINUTE)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int]]:
        if timestamp == self.last.value() + MINUTE:
            yield ctx.get_current_key(), self.last.value()


class Register(AsyncFunction[tuple[str, int], str]):
    """Stands for a service that takes a while to answer."""

    async def async_invoke(self, value: tuple[str, int]) -> list[str]:
        await asyncio.sleep(0.01)
        door, at = value
        return [f"door {door} on floor {ord(door) - ord('a')}, quiet since {at // 1000} s"]


def build(env: StreamExecutionEnvironment) -> DataStream:
    """The quiet doors, with their floor."""
    signals = env.from_collection(
        [("a", 0), ("b", 10_000), ("a", 50_000), ("b", 100_000), ("c", 110_000)], SIGNAL
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SentAt())
    timed = signals.assign_timestamps_and_watermarks(strategy)
    quiet = timed.key_by(lambda signal: signal[0], Types.STRING()).process(Quiet(), SIGNAL)
    return AsyncDataStream.ordered_wait(quiet, Register(), Time.seconds(30), 10, Types.STRING())


def main(local: bool = False) -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(local)
    env.set_parallelism(1)
    build(env).print()
    env.execute("quiet doors")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", action="store_true", help="run without Spark")
    main(parser.parse_args().local)
