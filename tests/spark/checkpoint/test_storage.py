"""The location of directories: on this machine, or on the file system that Spark means by a plain
path."""

from __future__ import annotations

import pytest

from flinkish.spark.checkpoint.storage import CheckpointStorage, Directory


@pytest.mark.parametrize(
    ("path", "for_spark"),
    [
        ("/jobs/one/", "file:/jobs/one"),
        ("/jobs/./two/../one", "file:/jobs/one"),
        ("file:///jobs/a%20b", "file:/jobs/a b"),
        ("s3a://bucket/one/", "s3a://bucket/one"),
    ],
)
def test_a_plain_path_is_local_where_spark_means_this_machine(spark, path, for_spark):
    directory = Directory(spark, path)
    assert (directory.local is not None, directory.path) == (
        for_spark.startswith("file:"),
        for_spark,
    )


def test_a_plain_path_is_elsewhere_where_spark_means_that(elsewhere):
    """The small files of a checkpoint and Spark's lie side by side."""
    directory = Directory(elsewhere, "/jobs/one/")
    assert (directory.local, directory.path) == (None, "/jobs/one")
    assert Directory(elsewhere, "file:///jobs/one").local is not None


def test_texts_are_written_and_read_through_spark(elsewhere, jobs):
    storage = CheckpointStorage(elsewhere, "/jobs/one")
    assert storage.readText("plan") is None
    storage.writeText("plan", "first\nsecond")
    storage.writeText("plan", "third\nfourth")
    assert storage.readText("plan") == "third\nfourth"
    assert not storage.holds("batch=*")
    storage.appendLine("batch=1", "line", 0)
    assert storage.holds("batch=*")
    (file,) = (jobs / "one" / "batch=1").glob("part-*")
    assert file.read_text() == "line\n"
