"""The Python on the pages runs and prints what the pages say: in local execution, and three pages on Spark.

The pages in docs/examples show files of examples; tests/examples/test_pages.py has them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, blocks, name, text
from tests.local_programs import local_execution

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITH_PYTHON = [
    page for page in PAGES if "```python" in text(page) and page.parent != DOCS / "examples"
]
WITH_JOBS = [page for page in WITH_PYTHON if "getExecutionEnvironment" in text(page)]
ON_SPARK = [ROOT / "README.md", DOCS / "start.md", DOCS / "sources.md"]
"""The pages that a reader tries first, and a page with DataFrames."""
TABLES = DOCS / "port" / "tables.md"

WIDTH = 100
"""The line width of code blocks, as in docs/site.css."""


def run(
    page: Path,
    capsys: pytest.CaptureFixture[str],
    execution: Callable[[str], AbstractContextManager[None]] = lambda code: nullcontext(),
) -> None:
    """One after another, as a reader would type them in; each is followed by what it prints."""
    names: dict[str, Any] = {"__name__": page.stem}
    shown = blocks(page)
    for (language, code), (next_language, printed) in zip(shown, [*shown[1:], ("", "")]):
        if language == "python":
            assert next_language == "text", f"{name(page)} does not say what this prints: {code}"
            with execution(code):
                exec(compile(code, str(page), "exec", dont_inherit=True), names)
            lines = capsys.readouterr().out.splitlines()
            # Keys and the results of several sinks come in any order
            assert sorted(lines) == sorted(printed.splitlines())
            if page.name == "start.md":
                # A reader compares it line by line
                assert lines == printed.splitlines()


def test_there_are_pages_of_both_kinds() -> None:
    assert set(ON_SPARK) < set(WITH_JOBS) < set(WITH_PYTHON)
    for page in WITH_PYTHON:
        python = sum(language == "python" for language, _ in blocks(page))
        assert python == text(page).count("```python"), "a fence is indented or not closed"


def test_python_fits_the_column_of_the_site() -> None:
    too_long = [
        f"{name(page)}: {line}"
        for page in WITH_PYTHON
        for language, code in blocks(page)
        for line in code.splitlines()
        if language == "python" and len(line) > WIDTH
    ]
    assert too_long == []


@pytest.mark.parametrize(
    "page",
    [page for page in WITH_PYTHON if page not in (DOCS / "sources.md", TABLES)],
    ids=name,
)
def test_a_page_prints_what_it_says(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with local_execution():
        run(page, capsys)


@pytest.mark.slow("a query of Spark SQL")
def test_the_programs_of_tables_print_what_the_page_says(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(TABLES, capsys, lambda code: nullcontext() if "toDataFrame" in code else local_execution())


@pytest.mark.slow("a page has up to four jobs, which run one after another")
@pytest.mark.parametrize("page", ON_SPARK, ids=name)
def test_the_jobs_of_a_page_print_the_same_on_spark(
    page: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(page, capsys)


@pytest.mark.rotating("the same programs run in local execution")
@pytest.mark.slow("a page has up to four jobs, which run one after another")
@pytest.mark.parametrize("page", [page for page in WITH_JOBS if page not in ON_SPARK], ids=name)
def test_the_jobs_of_each_page_print_the_same_on_spark(
    page: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(page, capsys)
