"""Opens the file system of a directory with pyarrow, for Python processes without a JVM.

If a program has set the settings of a store like S3 in Spark, pyarrow gets them from Hadoop's
settings. Otherwise pyarrow reads the environment of each process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyarrow as pa
from pyarrow import fs

from flinkish.api.errors import NotSupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_S3 = ("s3", "s3a", "s3n")

_AMAZONS = re.compile(r"(https?://)?s3([.-][a-z0-9-]+)?\.amazonaws\.com/?")
"""Amazon's own endpoints; the bucket determines the region."""


def file_system(session: SparkSession, uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of ``uri``, and the path in it. Raises NotSupportedError if pyarrow does not
    support it, or if it is that of another machine."""
    parsed = urlparse(uri)
    if not parsed.scheme:
        # A path on Spark's default file system; never called for this machine's file system
        raise NotSupportedError(f"only Spark knows on which file system {uri} is: pass a URI")
    if parsed.scheme == "file":
        raise NotSupportedError(f"{uri} is on the machine of the server, and not on this one")
    try:
        if parsed.scheme in _S3:
            path = f"{parsed.netloc}{parsed.path}".rstrip("/")
            return _s3(session, parsed.netloc), path
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError, ValueError, ImportError) as error:
        raise NotSupportedError(f"pyarrow knows no file system for {uri} ({error})") from None


def _s3(session: SparkSession, bucket: str) -> fs.S3FileSystem:
    """The file system of ``bucket``, by the settings of Hadoop's connector S3A."""

    def setting(name: str) -> str | None:
        for key in (f"fs.s3a.bucket.{bucket}.{name}", f"fs.s3a.{name}"):
            for prefix in ("", "spark.hadoop."):
                value = session.conf.get(f"{prefix}{key}", None)
                if value:
                    return value
        return None

    scheme = "http" if setting("connection.ssl.enabled") == "false" else "https"
    endpoint, region = setting("endpoint"), setting("endpoint.region")
    if endpoint is not None and _AMAZONS.fullmatch(endpoint):
        endpoint = None
    if endpoint is not None:
        given, _, endpoint = endpoint.rpartition("://")
        scheme = given or scheme
    elif region is None:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        access_key=setting("access.key"),
        secret_key=setting("secret.key"),
        session_token=setting("session.token"),
        region=region or "us-east-1",
        scheme=scheme,
        endpoint_override=endpoint,
        # pyarrow's timeouts of 1 and 3 s are too short for a busy store
        connect_timeout=30,
        request_timeout=60,
        # One request for a small object instead of three
        allow_delayed_open=True,
        force_virtual_addressing=endpoint is not None and setting("path.style.access") != "true",
    )
