"""``ObjectStore``: moto's S3 in this process, and how Spark reaches it, through Hadoop's connector (``s3.xml``)."""

from __future__ import annotations

from pathlib import Path
from urllib.request import Request, urlopen

from tests.maven import S3

BUCKET = "jobs"

# Uploads of whole files would take the SDK's asynchronous client, which does not understand Spark's newer Netty
_DEFAULTS = """spark.driver.extraClassPath {jars}/*
spark.executor.extraClassPath {jars}/*
spark.hadoop.fs.s3a.endpoint {endpoint}
spark.hadoop.fs.s3a.endpoint.region us-east-1
spark.hadoop.fs.s3a.path.style.access true
spark.hadoop.fs.s3a.connection.ssl.enabled false
spark.hadoop.fs.s3a.access.key test
spark.hadoop.fs.s3a.secret.key test
spark.hadoop.fs.s3a.input.stream.type classic
spark.hadoop.fs.s3a.optimized.copy.from.local.enabled false
"""


class ObjectStore:
    """A store with one bucket, which is gone when it is closed."""

    def __init__(self) -> None:
        import boto3
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        self._client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        self._client.create_bucket(Bucket=BUCKET)

    def configure(self, directory: Path) -> dict[str, str]:
        """Write Spark's settings into ``directory``: the variables of a program that is to have them."""
        directory.mkdir()
        settings = _DEFAULTS.format(jars=S3.directory(), endpoint=self.endpoint)
        (directory / "spark-defaults.conf").write_text(settings)
        return {"SPARK_CONF_DIR": str(directory)}

    def names(self, prefix: str) -> list[str]:
        """The names of all objects that begin with ``prefix``."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def close(self) -> None:
        """End it. What it holds is moto's, in this process, and would be there in the next one."""
        urlopen(Request(f"{self.endpoint}/moto-api/reset", method="POST")).close()
        self._server.stop()
