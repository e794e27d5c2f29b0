"""The marks of ``tests/engines.py``, in separate test runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import EngineMark

pytestmark = pytest.mark.slow("runs pytest many times")

ROOT = Path(__file__).parents[2]


def in_a_run(directory: Path, text: str) -> str:
    """Return pytest's report on a module of tests, a line for each."""
    (directory / "test_it.py").write_text(f"import pytest\n\nmark = pytest.mark\n{text}")
    command = ["-m", "pytest", "-p", "tests.engines", "-o", "addopts=", "-rA", "-q", "--tb=line"]
    done = subprocess.run(
        [
            sys.executable,
            *command,
            "-c",
            ROOT / "pyproject.toml",
            "--rootdir",
            directory,
            directory,
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return done.stdout + done.stderr


def test_a_refusal_is_expected_where_it_is_marked(tmp_path: Path) -> None:
    said = in_a_run(
        tmp_path,
        """
REFUSED = mark.never_on("harness", reason="no time", raises=KeyError, match="clock")

@REFUSED
@mark.not_on("local", "spark", reason="for a test of marks")
def test_refuses(engine):
    if engine == "harness":
        raise KeyError("clock")

@mark.parametrize("n", [1, pytest.param(2, marks=REFUSED), pytest.param(3, marks=REFUSED)])
def test_takes(n, run):
    assert run(lambda stream: stream.map(str), [n]) == [str(n)]
    if n == 2:
        raise KeyError("key")
""",
    )
    lines = said.splitlines()
    assert sorted(line.split(" - ")[0].split("::")[-1] for line in lines if "::" in line) == [
        *(f"test_refuses[{engine}]" for engine in ("batches", "harness")),
        *(f"test_takes[{case}]" for case in EXPECTED),
    ]
    failed = {line.split("::")[1].split(" - ")[0] for line in lines if line.startswith("FAILED")}
    # One began to work, and one is refused in other words
    assert {"test_takes[harness-3]", "test_takes[harness-2]", "test_takes[batches-2]"} == failed
    assert "DID NOT RAISE" in said.upper()


EXPECTED = ["batches-1", "batches-2", "batches-3", "harness-1", "harness-2", "harness-3"]


MARK, KNOWN = pytest.mark, ("harness", "batches")


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        (MARK.never_on("flink", reason="r", raises=KeyError), "must name engines of the test"),
        (MARK.never_on("local", reason="r", raises=KeyError), "must name engines of the test"),
        (MARK.not_on(reason="r"), "must name engines of the test"),
        (MARK.never_on("harness", raises=KeyError), "needs a reason"),
        (MARK.never_on("harness", reason="r"), "needs raises="),
        (MARK.not_on("harness"), "needs a reason"),
        (MARK.not_on("harness", reason="r", raises=KeyError), "has no option"),
    ],
    ids=str,
)
def test_a_mark_that_says_too_little_is_an_error(mark: pytest.MarkDecorator, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        EngineMark.of(mark.mark, KNOWN)


def test_the_error_names_the_test(tmp_path: Path) -> None:
    said = in_a_run(tmp_path, '@mark.not_on("flink", reason="r")\ndef test_it(run): pass\n')
    assert "test_it.py::test_it[harness]: not_on('flink',) must name engines of the test" in said
