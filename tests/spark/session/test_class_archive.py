"""The archive of Spark's classes: the JVM's options for it, and its creation."""

from __future__ import annotations

from pathlib import Path

import pytest

from flinkish.api.errors import JobExecutionError
from flinkish.spark.session import class_archive
from flinkish.spark.session.class_archive import archive_options, archive_path, make_archive

JAVA = 'openjdk version "17.0.15"'

WRITES = f"""
import os
from pathlib import Path
Path(os.environ["{class_archive._DRAFT}"]).write_text("classes")
"""
"""A job whose JVM has written its archive."""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.delenv(class_archive._DRAFT, raising=False)
    return tmp_path / "a cache"


def test_each_java_has_an_archive_of_its_own(cache: Path) -> None:
    path = archive_path(JAVA)
    assert path == archive_path(JAVA)
    assert path.parent == cache / "flinkish"
    assert path != archive_path('openjdk version "21.0.1"')


def test_a_jvm_is_told_of_an_archive_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert archive_options(JAVA) == ()
    monkeypatch.setattr(class_archive, "_JOB", WRITES)
    path = make_archive(JAVA)
    assert path.read_text() == "classes"
    option, *quiet = archive_options(JAVA)
    assert option == f"'-XX:SharedArchiveFile={path}'"  # quoted, as the path has a blank
    assert quiet
    assert all(each.startswith("-Xlog:") and each.endswith("=off") for each in quiet)
    assert archive_options("another Java") == ()


def test_the_jvm_of_the_job_that_makes_it_is_told_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(class_archive._DRAFT, "/tmp/draft")
    assert archive_options(JAVA) == ("-XX:ArchiveClassesAtExit=/tmp/draft", "-Xlog:disable")


@pytest.mark.parametrize(
    ("job", "said"), [("raise SystemExit('no session')", "no session"), ("pass", "no archive")]
)
def test_one_that_could_not_be_made_is_an_error_and_leaves_nothing(
    job: str, said: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_archive, "_JOB", job)
    with pytest.raises(JobExecutionError, match=said):
        make_archive(JAVA)
    assert list((cache / "flinkish").iterdir()) == []
