"""Events for the queries: generated while the job runs, or written to files and read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.csv

from examples.nexmark.generator import KINDS, Auction, Bid, Event, NexmarkGenerator, Person
from examples.nexmark.queries import Streams
from flinkish import (
    DataGeneratorSource,
    DataStream,
    FileSource,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)

IN_ORDER: WatermarkStrategy[Any] = (
    WatermarkStrategy.forMonotonousTimestamps().withTimestampAssigner(
        lambda event, timestamp: event.dateTime
    )
)


def generated(env: StreamExecutionEnvironment, generator: NexmarkGenerator, count: int) -> Streams:
    """The first ``count`` events of ``generator``."""
    source: DataGeneratorSource[Event] = DataGeneratorSource(generator.event, count)
    return by_kind(env.fromSource(source, IN_ORDER, "Nexmark"))


def by_kind(events: DataStream[Event]) -> Streams:
    """One stream of all events as three."""
    return Streams(
        cast("DataStream[Person]", events.filter(lambda event: isinstance(event, Person))),
        cast("DataStream[Auction]", events.filter(lambda event: isinstance(event, Auction))),
        cast("DataStream[Bid]", events.filter(lambda event: isinstance(event, Bid))),
    )


def write_files(
    generator: NexmarkGenerator, directory: Path, events: int, eventsPerFile: int
) -> None:
    """The first ``events`` events as CSV files, in a directory for each kind."""
    for kind in KINDS:
        (directory / kind).mkdir(parents=True, exist_ok=True)
        for number, first in enumerate(range(0, events, eventsPerFile)):
            columns = generator.columns(kind, first, min(eventsPerFile, events - first))
            options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
            path = directory / kind / f"{number:04d}.csv"
            pa.csv.write_csv(pa.table(columns), path.with_name(f".{path.name}"), options)
            path.with_name(f".{path.name}").rename(path)


def from_files(env: StreamExecutionEnvironment, directory: Path) -> Streams:
    """The events that ``write_files`` wrote, a file of each kind a batch; Rows with the fields of the events."""

    def stream(kind: str) -> DataStream[Any]:
        files = FileSource.forCsv(str(directory / kind), NexmarkGenerator.SCHEMAS[kind])
        return env.fromSource(files.withFilesPerBatch(1), IN_ORDER, kind)

    return Streams(stream("person"), stream("auction"), stream("bid"))
