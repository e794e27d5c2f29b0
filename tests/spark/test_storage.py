"""Where a checkpoint directory is: on this machine, or where Spark means by a plain path."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flinkish.spark.storage import CheckpointStorage


def session_on(file_system):
    """What CheckpointStorage asks of a session."""
    configuration = {"fs.defaultFS": file_system}
    context = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: configuration))
    return SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize(
    ("file_system", "path", "is_local", "for_spark"),
    [
        ("file:///", "/jobs/one/", True, "/jobs/one"),
        ("file:///", "file:///jobs/a%20b", True, "/jobs/a b"),
        ("file:///", "s3a://bucket/one/", False, "s3a://bucket/one"),
        ("hdfs://name:8020", "/jobs/one/", False, "/jobs/one"),
        ("hdfs://name:8020", "file:///jobs/one", True, "file:///jobs/one"),
    ],
)
def test_a_plain_path_is_on_the_file_system_of_spark(file_system, path, is_local, for_spark):
    """Its own small files and Spark's lie side by side."""
    storage = CheckpointStorage(session_on(file_system), path)
    assert (storage.isLocal, storage.path) == (is_local, for_spark)
