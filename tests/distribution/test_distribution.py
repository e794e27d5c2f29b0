"""The wheel and the sdist hold what they should, and nothing that lies about."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import flinkish

pytestmark = pytest.mark.slow("builds the wheel")

ROOT = Path(__file__).parents[2]
PACKAGE = {
    str(file.relative_to(ROOT))
    for file in (ROOT / "flinkish").rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", directory],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return directory


def test_the_wheel_holds_the_package_and_nothing_else(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == PACKAGE
    assert {
        "flinkish/py.typed",
        "flinkish/spark/session/log4j2.properties",
        "flinkish/spark/session/source_runner.py",
        "flinkish/spark/session/worker_daemon.py",
    } <= names


def test_the_sdist_holds_what_the_tests_and_the_site_need(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= PACKAGE
    assert {
        "README.md",
        "LICENSE",
        "Makefile",
        "pyproject.toml",
        ".mkdocs.yml",
        ".ci/run",
        ".ci/requirements.lock",
        "docs/changelog.md",
        "examples/window_word_count.py",
        "tests/conftest.py",
        "tests/conformance/recorded.jsonl",
    } <= names
    assert not [
        name for name in names if "__pycache__" in name or name.startswith((".venv", "build"))
    ]


def test_the_version_is_that_of_the_distribution() -> None:
    assert flinkish.__version__ == version("flinkish")
