"""Port a job: the rows that a port needs are there, and say what the errors say."""

from __future__ import annotations

import builtins
import re

import pytest

import flinkish
from flinkish.api.absent import ABSENT_METHODS, ABSENT_NAMES, MOVED_NAMES
from tests.docs.pages import DOCS, rows

MISSING = DOCS / "port" / "missing.md"
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
    "TimeUnit",
    "Time.of",
    "RichXFunction",
    "broadcast",
    "enableObjectReuse",
    "timeWindow",
    "AssignerWithPeriodicWatermarks",
    "setStreamTimeCharacteristic",
    "fold",
)


@pytest.mark.parametrize("name", TO_PORT)
def test_a_part_of_a_job_has_a_row(name: str) -> None:
    assert [row for row in JAVA if name in row[0]]


@pytest.mark.parametrize(
    "row",
    [*JAVA, *rows(DOCS / "port" / "pyflink.md", "To flinkish's own names")],
    ids=lambda row: row[0],
)
def test_what_to_write_is_there(row: list[str]) -> None:
    for code in re.findall(r"`([^`]*)`", row[1]):
        names = {call or name for call, name in CALLED.findall(code)}
        assert names - {"function"} <= KNOWN, code


@pytest.mark.parametrize(
    ("heading", "entries"),
    [
        ("Classes", ABSENT_NAMES),
        ("Methods", ABSENT_METHODS),
        ("Names that have moved", {name: f"`{where}`" for name, where in MOVED_NAMES.items()}),
    ],
)
def test_the_page_says_what_the_errors_say(heading: str, entries: dict[str, str]) -> None:
    said = {
        name: text.replace("\\|", "|")
        for names, text in rows(MISSING, heading)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert said == entries
