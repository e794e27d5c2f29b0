"""Parcels on a belt: counts those weighed by a station in ten seconds, and finds heavy ones.

``python -m examples.pyflink.parcels [--local]``
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.pyflink.common import Row, Time, Types, WatermarkStrategy
from flinkish.pyflink.common.watermark_strategy import TimestampAssigner
from flinkish.pyflink.datastream import (
    DataStream,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
)
from flinkish.pyflink.datastream.window import TumblingEventTimeWindows

PARCEL = Types.ROW_NAMED(
    ["station", "millis", "grams"], [Types.STRING(), Types.LONG(), Types.INT()]
)
WEIGHED = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT(), Types.INT()])
HEAVY = OutputTag("heavy", PARCEL)


class Weighed(TimestampAssigner):
    """When the parcel was weighed."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.millis)


class Divide(ProcessFunction):
    """Sends heavy parcels to another belt."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value.grams > 20_000:
            yield HEAVY, value
        else:
            yield value


class Total(ProcessWindowFunction[Row, tuple[str, int, int, int], str, TimeWindow]):
    """The number of parcels in a window, and their weight."""

    def process(
        self, key: str, context: Any, elements: Iterable[Row]
    ) -> Iterable[tuple[str, int, int, int]]:
        weights = [element.grams for element in elements]
        yield key, context.window().end, len(weights), sum(weights)


def build(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    """The totals, and the heavy parcels."""
    parcels = env.from_collection(
        [
            ("north", 1_000, 900),
            ("south", 2_500, 1_200),
            ("north", 4_000, 25_000),
            ("north", 9_999, 300),
            ("south", 12_000, 4_000),
        ],
        type_info=PARCEL,
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Weighed())
    light = parcels.assign_timestamps_and_watermarks(strategy).process(Divide(), PARCEL)
    windows = light.key_by(lambda parcel: parcel.station, Types.STRING()).window(
        TumblingEventTimeWindows.of(Time.seconds(10))
    )
    return windows.process(Total(), WEIGHED), light.get_side_output(HEAVY)


def main(local: bool = False) -> None:
    """Run the job."""
    env = StreamExecutionEnvironment.get_execution_environment().set_local_execution(local)
    env.set_parallelism(1)
    totals, heavy = build(env)
    totals.print()
    heavy.print("heavy")
    env.execute("parcels")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--local", action="store_true", help="run without Spark")
    main(parser.parse_args().local)
