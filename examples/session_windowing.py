"""SessionWindowing: events of an id belong together while gaps between them are short.

``python -m examples.session_windowing``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from examples.watermarks import WatermarkAfterEveryElement
from flinkish import (
    DataStream,
    EventTimeSessionWindows,
    StreamExecutionEnvironment,
    Time,
    WatermarkStrategy,
)


class Event(NamedTuple):
    """So many clicks of an id at a time, in ms."""

    id: str
    timestamp: int
    clicks: int


EVENTS = [
    Event("a", 1, 1),
    Event("b", 1, 1),
    Event("b", 3, 1),
    Event("b", 5, 1),
    Event("c", 6, 1),
    Event("a", 10, 1),  # the session of the first a has ended
    Event("c", 11, 1),  # and so have those of b and of the first c
]


def build(events: DataStream[Event], gap: int = 3) -> DataStream[Event]:
    """The job: one event a session, the first one, with the clicks of all of them."""
    return (
        events.assignTimestampsAndWatermarks(
            WatermarkStrategy[Event]
            .forGenerator(lambda context: WatermarkAfterEveryElement())
            .withTimestampAssigner(lambda event, timestamp: event.timestamp)
        )
        .keyBy(lambda event: event.id)
        .window(EventTimeSessionWindows.withGap(Time.milliseconds(gap)))
        .sum("clicks")
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sessions of a few events."""
    parser = argparse.ArgumentParser(prog="python -m examples.session_windowing")
    parser.add_argument("--gap", type=int, default=3, help="ms that end a session: %(default)s")
    options = parser.parse_args(arguments)

    env = StreamExecutionEnvironment.getExecutionEnvironment()
    build(env.fromCollection(EVENTS), options.gap).print()
    env.execute("SessionWindowing")


if __name__ == "__main__":
    main()
