"""How many functions of real programs run over columns, as ``explain()`` says, and why the others do not:
the table in docs/columns.md, which ``python -m tests.runtime.columns.functions_taken`` writes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from examples.nexmark.events import generated
from examples.nexmark.generator import NexmarkGenerator
from examples.nexmark.queries import QUERIES
from flinkish import StreamExecutionEnvironment
from tests.compat.atlas.pipelines import EXAMPLES
from tests.compat.atlas.running import run
from tests.compat.stream_analytics.queries import CASES
from tests.compat.stream_analytics.test_language import local
from tests.docs.pages import DOCS
from tests.examples.test_batches import JOBS

PAGE = DOCS / "columns.md"
MARKS = "<!-- functions taken -->", "<!-- end -->"

_LINE = re.compile(
    r"^    [^:]*: ?(?P<said>.*\b(?:over columns|element by element|window by window).*)$"
)
_COLUMNS = "over columns"
_REASONS = 3


def plans(programs: Iterator[Callable[[], Any]]) -> list[str]:
    """What ``explain()`` says of each job that the programs would run."""
    found: list[str] = []

    def explained(environment: StreamExecutionEnvironment, *_: object) -> None:
        found.append(environment.explain())

    with patch.object(StreamExecutionEnvironment, "execute", explained):
        for program in programs:
            program()
    return found


def examples() -> Iterator[Callable[[], Any]]:
    """The examples with a stream of elements."""
    for job in JOBS.values():

        def program(job: Any = job) -> None:
            environment = StreamExecutionEnvironment()
            built = job.build(environment.fromCollection(list(job.elements())))
            for stream in built if isinstance(built, (list, tuple)) else [built]:
                stream.print()
            environment.execute()

        yield program


def nexmark() -> Iterator[Callable[[], Any]]:
    """The queries of Nexmark over columns."""
    for query in QUERIES.values():

        def program(query: Any = query) -> None:
            environment = StreamExecutionEnvironment()
            query(generated(environment, NexmarkGenerator(), 100)).print()
            environment.execute()

        yield program


def pipelines() -> Iterator[Callable[[], Any]]:
    """Pipelines of Atlas."""
    for example in EXAMPLES:
        yield lambda example=example: run(
            example.text, example.documents, source=example.source, collections=example.rows
        )


def queries() -> Iterator[Callable[[], Any]]:
    """Queries of Azure Stream Analytics."""
    for case in CASES.values():
        yield lambda case=case: local(case.sql, case.inputs, **case.options)


PROGRAMS = {
    "examples": examples,
    "Nexmark": nexmark,
    "Atlas": pipelines,
    "Azure": queries,
}


def said(plan: str) -> Iterator[str]:
    """What a plan says of each function, without lines of the source."""
    for line in plan.splitlines():
        if match := _LINE.match(line):
            yield re.sub(r" \(line \d+\)", "", match["said"])


def table() -> str:
    """The table as Markdown."""
    lines = [
        "| programs | jobs | functions | over columns | most of the others |",
        "|---|---|---|---|---|",
    ]
    for name, programs in PROGRAMS.items():
        jobs = plans(programs())
        functions = [function for plan in jobs for function in said(plan)]
        taken = [function for function in functions if _COLUMNS in function]
        reasons = Counter(
            function.partition(", as it ")[2] for function in functions if _COLUMNS not in function
        )
        most = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(_REASONS))
        lines.append(f"| {name} | {len(jobs)} | {len(functions)} | {len(taken)} | {most} |")
    return "\n".join(lines)


def page() -> str:
    """docs/columns.md with the table."""
    before, _, rest = PAGE.read_text("utf-8").partition(MARKS[0])
    return f"{before}{MARKS[0]}\n\n{table()}\n\n{MARKS[1]}{rest.partition(MARKS[1])[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
