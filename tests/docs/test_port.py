"""Port a job: what differs has a row, which says what the errors say."""

from __future__ import annotations

import builtins
import re

import flinkish
from tests.docs.pages import DOCS, rows

JAVA = rows(DOCS / "port" / "java.md", "Your job has X: write Y")

KNOWN = {*dir(flinkish), *dir(builtins), "load"}.union(  # Spark's reader has a load
    *(dir(value) for value in vars(flinkish).values() if isinstance(value, type))
)
CALLED = re.compile(r"\b([A-Za-z]\w+)(?=\()|\b([A-Z][a-z]\w*)\b")

TO_PORT = (
    "ParameterTool",
    "KafkaSource",
    "SourceFunction",
    "SinkFunction",
    "AsyncDataStream",
    "CheckpointedFunction",
    "setRestartStrategy",
    "setStateBackend",
    "RateLimiterStrategy",
    "FileSink.forRowFormat",
    "RichXFunction",
    "timeWindow",
    "AssignerWithPeriodicWatermarks",
    "setStreamTimeCharacteristic",
    "fold",
)


def test_each_part_of_a_job_has_a_row() -> None:
    assert [name for name in TO_PORT if not any(name in row[0] for row in JAVA)] == []


def test_what_to_write_is_there() -> None:
    for row in (*JAVA, *rows(DOCS / "port" / "pyflink.md", "To flinkish's own names")):
        for code in re.findall(r"`([^`]*)`", row[1]):
            names = {call or name for call, name in CALLED.findall(code)}
            assert names - {"function"} <= KNOWN, f"{row[0]}: {code}"
