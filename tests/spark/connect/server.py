"""``ConnectServer``: a server of Spark Connect in a separate process, started as pyspark's script starts it.

Its Python has the packages that flinkish needs, and not flinkish itself.
"""

from __future__ import annotations

import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from tests.cluster.standalone import quick_variables
from tests.reliability.processes import QUICK_JVM, kill, tree_of

START_SECONDS = 200.0

_SPARK = Path(pyspark.__file__).parent

_PYTHON = """#!/bin/sh
# Without the files of site-packages that name further directories, of which flinkish may be one
PYTHONPATH={packages}:$PYTHONPATH exec {python} -S "$@"
"""


class ConnectServer:
    """A server with two cores, whose files are in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.python = directory / "python"
        packages = shlex.quote(str(_SPARK.parent))
        self.python.write_text(
            _PYTHON.format(packages=packages, python=shlex.quote(sys.executable))
        )
        self.python.chmod(0o700)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.started = 0
        """The number of starts."""
        self.start()

    @property
    def url(self) -> str:
        """The URL that a client connects to."""
        return f"sc://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.started += 1
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"{QUICK_JVM} -Djava.io.tmpdir={self.directory}",
            "spark.sql.shuffle.partitions": "2",
        }
        options = [option for pair in settings.items() for option in ("--conf", "=".join(pair))]
        with (self.directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(_SPARK / "sbin" / "start-connect-server.sh"), "--wait", "--master", "local[2]"]
                + options,
                cwd=self.directory,
                env=quick_variables(
                    PYSPARK_PYTHON=str(self.python),
                    PYSPARK_DRIVER_PYTHON=str(self.python),
                    PYTHONPATH="",
                    SPARK_LOG_DIR=str(self.directory),
                    SPARK_PID_DIR=str(self.directory),
                ),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1.0).close()
                return
            except OSError:
                time.sleep(0.2)
        raise TimeoutError(f"the server has not started:\n{self.log()[-3000:]}")

    def kill(self) -> None:
        """Kill all processes of it."""
        if self._process is not None:
            kill(found.pid for found in tree_of(self._process.pid))
            self._process.wait()
            self._process = None

    def log(self) -> str:
        """Return the log so far."""
        return (self.directory / "server.log").read_text("utf-8", "replace")
