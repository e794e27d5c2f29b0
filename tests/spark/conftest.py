"""A file system that is not this machine's."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def jobs(tmp_path_factory):
    """The directory in place of ``/jobs``."""
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="session")
def _session_elsewhere(spark, jobs):
    # One for all tests, as the JVM keeps what is mounted where
    session = spark.newSession()
    session.conf.set("fs.defaultFS", "viewfs://cluster/")
    session.conf.set("fs.viewfs.mounttable.cluster.link./jobs", jobs.as_uri())
    # With block locations, a listing asks for permissions, which this machine's files tell by `ls`
    # only: that fails for a file that Spark has just renamed
    session.conf.set("spark.sql.sources.ignoreDataLocality", "true")
    return session


@pytest.fixture
def elsewhere(_session_elsewhere, spark):
    """A session whose plain paths are on a separate file system."""
    yield _session_elsewhere
    # The session that made a DataFrame last is the active one.
    spark.createDataFrame([], "nothing int")
