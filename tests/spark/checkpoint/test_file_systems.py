"""The file systems of pyarrow that Spark's settings mean. No Spark here, and no store."""

from __future__ import annotations

import pytest
from pyarrow import fs

from flinkish.api.errors import NotSupportedError
from flinkish.spark.checkpoint.file_systems import file_system


class Session:
    """One with settings."""

    def __init__(self, **settings):
        self.conf = {name.replace("_", "."): value for name, value in settings.items()}


@pytest.fixture
def arguments(monkeypatch):
    """The arguments that the last S3 file system was made with, other than defaults."""
    made = {}

    def make(**given):
        made.clear()
        for always in ("allow_delayed_open", "connect_timeout", "request_timeout"):
            assert given.pop(always)
        made.update({name: value for name, value in given.items() if value})

    monkeypatch.setattr(fs, "S3FileSystem", make)
    monkeypatch.setattr(fs, "resolve_s3_region", lambda bucket: f"region of {bucket}")
    return made


def test_the_keys_and_the_endpoint_of_hadoops_connector_are_used(arguments):
    session = Session(
        fs_s3a_access_key="of the session",
        spark_hadoop_fs_s3a_access_key="of the program",
        spark_hadoop_fs_s3a_secret_key="secret",
        spark_hadoop_fs_s3a_endpoint="http://store.example:9000",
        spark_hadoop_fs_s3a_path_style_access="true",
    )
    _, path = file_system(session, "s3a://jobs/a b/checkpoint/")
    assert path == "jobs/a b/checkpoint"
    assert arguments == {
        "access_key": "of the session",
        "secret_key": "secret",
        "region": "us-east-1",
        "scheme": "http",
        "endpoint_override": "store.example:9000",
    }


def test_a_bucket_has_settings_of_its_own(arguments):
    session = Session(
        fs_s3a_endpoint="store.example",
        fs_s3a_endpoint_region="eu",
        fs_s3a_bucket_jobs_endpoint_region="us",
    )
    for bucket, region in (("jobs", "us"), ("others", "eu")):
        file_system(session, f"s3a://{bucket}/checkpoint")
        assert arguments == {
            "region": region,
            "scheme": "https",
            "endpoint_override": "store.example",
            "force_virtual_addressing": True,
        }


@pytest.mark.parametrize(
    "endpoint", [None, "s3.amazonaws.com", "https://s3.eu-west-1.amazonaws.com"]
)
def test_amazons_own_endpoint_is_that_of_the_buckets_region(arguments, endpoint):
    file_system(Session(fs_s3a_endpoint=endpoint), "s3a://jobs/checkpoint")
    assert arguments == {"region": "region of jobs", "scheme": "https"}


def test_others_are_those_of_pyarrow():
    files, path = file_system(Session(), "mock:///jobs/checkpoint")
    assert (files.type_name, path) == ("mock", "jobs/checkpoint")


@pytest.mark.parametrize("uri", ["nowhere://bucket/checkpoint", "/jobs/on Spark's file system"])
def test_what_pyarrow_does_not_know_is_refused(uri):
    with pytest.raises(NotSupportedError, match=uri):
        file_system(Session(), uri)
