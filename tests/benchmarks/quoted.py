"""The figures of the benchmark that other pages quote, in places that are marked with their name:
``<!--windows-flinkish-->0.13 s<!---->``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.benchmarks.report import Measured, Row
from tests.docs.pages import DOCS, ROOT

PAGES = (ROOT / "README.md", DOCS / "concepts" / "micro-batches.md")

_PLACE = re.compile(r"<!--([\w-]+)-->(.*?)<!---->")
_LARGE = 4_000_000

WINDOWS, SESSIONS = "tumbling, AggregateFunction, 1,000 keys", "sessions, gap 1 s, 1,000 keys"


def figures(measured: Mapping[str, Measured]) -> dict[str, str]:
    """The figures by the names that pages have for them."""
    (pyflink,) = measured["pyflink"].rows
    windows, sessions = _of("table", WINDOWS, measured), _of("table", SESSIONS, measured)
    peers = [_of("peers", title, measured) for title in (WINDOWS, SESSIONS)]
    one = _of("smallest", "smallest batch, 1 keyed operator", measured)
    three = _of("smallest", "smallest batch, 3 keyed operators", measured)
    queries = [row for row in measured["nexmark"].rows if row.batch == _LARGE]
    slower = [row for row in queries if row.seconds["Java"] < row.seconds["flinkish"]]
    return {
        "windows-flinkish": _seconds(windows, "flinkish"),
        "windows-PyFlink": f"{pyflink.seconds['PyFlink']:.0f} s",
        "windows-Spark": _seconds(windows, "Spark"),
        "windows-Java": _seconds(windows, "Java"),
        "windows-Bytewax": _seconds(peers[0], "Bytewax"),
        "sessions-flinkish": _seconds(sessions, "flinkish"),
        "sessions-Spark": _seconds(sessions, "Spark"),
        "sessions-Java": _seconds(sessions, "Java"),
        "sessions-Bytewax": _seconds(peers[1], "Bytewax"),
        "smallest-batch-flinkish": _seconds(one, "flinkish"),
        "smallest-batch-Spark": _seconds(one, "Spark"),
        "smallest-batch-three-operators": _seconds(three, "flinkish"),
        "Nexmark-Java-is-faster": f"{len(slower)} of {len(queries)}",
    }


def quoting(text: str, measured: Mapping[str, Measured]) -> str:
    """``text`` with the figures of ``measured`` in its marked places."""
    found = figures(measured)
    return _PLACE.sub(lambda place: f"<!--{place[1]}-->{found[place[1]]}<!---->", text)


def quote(measured: Mapping[str, Measured]) -> None:
    """Put the figures into the pages."""
    for page in PAGES:
        page.write_text(quoting(page.read_text("utf-8"), measured), "utf-8")


def names(page: Path) -> list[str]:
    """The names of the figures that ``page`` quotes."""
    return [place[1] for place in _PLACE.finditer(page.read_text("utf-8"))]


def _of(group: str, title: str, measured: Mapping[str, Measured]) -> Row:
    """The row of a job, with the larger batches where there are two."""
    return max((r for r in measured[group].rows if r.title == title), key=lambda row: row.batch)


def _seconds(row: Row, side: str) -> str:
    return f"{row.seconds[side]:.2f} s" if side in row.seconds else row.unfinished[side]
