"""``SchemaRegistry``: Apicurio's registry in a separate JVM, which speaks the REST interface of Confluent's."""

from __future__ import annotations

import shutil
import signal
import tarfile
import tempfile
import urllib.request
from pathlib import Path

from tests.kafka.jvm import JvmServer, free_ports
from tests.maven import REGISTRY


class SchemaRegistry:
    """A registry on a free port, which keeps schemas in memory."""

    def __init__(self) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="flinkish-registry-"))
        (self._port,) = free_ports(1)
        self._server = JvmServer("schema registry", self._directory / "registry.log")

    @property
    def url(self) -> str:
        """The URL of Confluent's interface."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        (archive,) = REGISTRY.directory().iterdir()
        with tarfile.open(archive) as files:
            files.extractall(self._directory, filter="data")
        (jar,) = self._directory.glob("*-runner.jar")
        where = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self._port}"]
        self._server.start(["-Xmx320m", *where, "-jar", str(jar)], self._answers)

    def close(self) -> None:
        """End it."""
        self._server.end(signal.SIGKILL)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                return True
        except OSError:
            return False
