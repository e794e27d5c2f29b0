"""The Python on the pages runs and prints what the pages say.

The pages in docs/examples show files of examples; tests/examples/test_pages.py has them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs.pages import DOCS, PAGES, blocks, name, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITH_PYTHON = [
    page for page in PAGES if "```python" in text(page) and page.parent != DOCS / "examples"
]
ON_SPARK = [page for page in WITH_PYTHON if "getExecutionEnvironment" in text(page)]
WITHOUT_SPARK = [page for page in WITH_PYTHON if page not in ON_SPARK]

WIDTH = 100
"""As docs/site.css has it."""


def run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One after another, as a reader would type them in; each is followed by what it prints."""
    names: dict[str, Any] = {"__name__": page.stem}
    shown = blocks(page)
    for (language, code), (next_language, printed) in zip(shown, [*shown[1:], ("", "")]):
        if language == "python":
            assert next_language == "text", f"{name(page)} does not say what this prints: {code}"
            exec(compile(code, str(page), "exec", dont_inherit=True), names)
            lines = capsys.readouterr().out.splitlines()
            # Keys and the results of several sinks come in any order
            assert sorted(lines) == sorted(printed.splitlines())
            if page.name == "start.md":
                # A reader compares it line by line
                assert lines == printed.splitlines()


def test_there_are_pages_of_both_kinds() -> None:
    assert ON_SPARK
    assert WITHOUT_SPARK
    for page in WITH_PYTHON:
        python = sum(language == "python" for language, _ in blocks(page))
        assert python == text(page).count("```python"), "a fence is indented or not closed"


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_python_fits_the_column_of_the_site(page: Path) -> None:
    code = [code for language, code in blocks(page) if language == "python"]
    assert [line for each in code for line in each.splitlines() if len(line) > WIDTH] == []


@pytest.mark.slow("a page has up to four jobs, which run one after another")
@pytest.mark.parametrize("page", ON_SPARK, ids=name)
def test_the_jobs_of_a_page_print_what_it_says(
    page: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(page, capsys)


@pytest.mark.parametrize("page", WITHOUT_SPARK, ids=name)
def test_the_examples_of_a_page_print_what_it_says(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(page, capsys)
