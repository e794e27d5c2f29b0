"""The jobs on the pages about other systems run and print what the pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = sorted((Path(__file__).parents[2] / "docs" / "compat").glob("*.md"))
EXAMPLE = re.compile(r"```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)


def test_there_are_pages() -> None:
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_print_what_it_says(
    page: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after another, as a reader would type them in."""
    text = page.read_text("utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python") > 0
    names: dict[str, Any] = {"__name__": page.stem}
    for code, printed in examples:
        exec(compile(code, str(page), "exec"), names)
        # Results of several sinks come in any order.
        assert sorted(capsys.readouterr().out.splitlines()) == sorted(printed.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
        assert (page.parent / link).exists(), link
