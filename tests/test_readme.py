"""The README's jobs run and print what the README says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", README, re.DOTALL)
COMMAND = re.compile(r"^    make (\w+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!http)([^)#]+)\)")


def test_there_are_examples_to_run() -> None:
    assert len(EXAMPLES) == README.count("```python") == 5


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_it_says(
    code: str, printed: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    # Keys come in any order, the results of one key in theirs.
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(printed.splitlines())


@pytest.mark.parametrize("target", sorted(set(COMMAND.findall(README))))
def test_a_command_is_there(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("link", LINK.findall(README))
def test_a_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert re.search(r"^make test\b", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
