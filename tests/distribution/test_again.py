"""CI runs failed tests again, alone, twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("runs pytest many times")

AGAIN = Path(__file__).parents[2] / ".ci" / "again"

# As many failures of each test as the file beside it says
TESTS = """
import pathlib, pytest

@pytest.mark.parametrize("name", {names})
def test_it(name):
    left = pathlib.Path(name)
    failures = int(left.read_text()) if left.exists() else 0
    left.write_text(str(failures - 1))
    assert failures <= 0
"""


def again(directory: Path, *files: dict[str, int]) -> tuple[int, list[str]]:
    """The exit code of a target of files whose tests fail so many times before they pass, and what is listed as flaky."""
    for number, failures in enumerate(files):
        for name, count in failures.items():
            (directory / name).write_text(str(count))
        (directory / f"test_{number}.py").write_text(TESTS.format(names=list(failures)))
    (directory / "Makefile").write_text(f"some:\n\t{sys.executable} -m pytest -q .\n")
    (directory / "build").mkdir()
    done = subprocess.run([sys.executable, AGAIN, "some"], cwd=directory, capture_output=True)
    flaky = directory / "build" / "flaky"
    return done.returncode, flaky.read_text().splitlines() if flaky.exists() else []


def test_a_test_that_then_passes_twice_is_listed(tmp_path: Path) -> None:
    assert again(tmp_path, {"never": 0, "once": 1}) == (
        0,
        ["test_0.py::test_it[once] (make some)"],
    )


def test_tests_of_a_file_are_run_again_together(tmp_path: Path) -> None:
    assert again(tmp_path, dict.fromkeys("abcd", 1), {"e": 1}) == (
        0,
        [
            " ".join(f"test_0.py::test_it[{name}]" for name in "abcd") + " (make some)",
            "test_1.py::test_it[e] (make some)",
        ],
    )


def test_a_test_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    code, flaky = again(tmp_path, {"twice": 2, "never": 0})
    assert (code != 0, flaky) == (True, [])


def test_failures_in_more_than_three_files_fail_the_run_at_once(tmp_path: Path) -> None:
    code, flaky = again(tmp_path, *({name: 1} for name in "abcd"))
    assert (code != 0, flaky) == (True, [])
    assert (tmp_path / "a").read_text() == "0"


def test_a_target_that_fails_without_a_test_fails(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("some:\n\tfalse\n")
    assert subprocess.run([sys.executable, AGAIN, "some"], cwd=tmp_path).returncode != 0
