"""Directories in the temporary folder: whose they are, and who removes them."""

from __future__ import annotations

import fcntl
import tempfile

import pytest

from flinkish.spark.session import temporary_directories
from flinkish.spark.session.temporary_directories import TemporaryDirectory


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    temporary_directories._clear_left_behind.cache_clear()
    yield tmp_path
    temporary_directories._clear_left_behind.cache_clear()


def test_a_temporary_directory_is_for_its_owner_only(folder):
    directory = TemporaryDirectory()
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert directory.path.parent == folder
    directory.remove()
    directory.remove()
    assert list(folder.iterdir()) == []


def test_what_a_crash_left_is_removed_and_what_lives_is_not(folder):
    """A directory is left behind if nobody holds its lock; one without a lock is not ours to tell."""
    living = TemporaryDirectory()
    for name in ("flinkish-left", "flinkish-unlocked", "other-left"):
        (folder / name / "query").mkdir(parents=True)
    (folder / "flinkish-left" / ".lock").touch()
    (folder / "other-left" / ".lock").touch()
    temporary_directories._clear_left_behind.cache_clear()
    TemporaryDirectory().remove()
    assert {path.name for path in folder.iterdir()} == {
        living.path.name,
        "flinkish-unlocked",
        "other-left",
    }


def test_no_symbolic_link_is_followed(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / ".lock").touch()
    (folder / "flinkish-link").symlink_to(elsewhere)
    (folder / "flinkish-inner").mkdir()
    (folder / "flinkish-inner" / ".lock").symlink_to(elsewhere / ".lock")
    TemporaryDirectory().remove()
    assert (elsewhere / ".lock").exists()
    assert (folder / "flinkish-inner").exists()


def test_the_lock_is_held_as_long_as_the_directory_is_used(folder):
    directory = TemporaryDirectory()
    with open(directory.path / ".lock") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    directory.remove()
