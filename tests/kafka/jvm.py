"""``JvmServer``: a server in a separate JVM, which ends with the process that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SMALL = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Options of a JVM that starts soon and stays small."""

START_SECONDS = 90.0

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


class JvmServer:
    """A program in a JVM, whose output goes to ``log``."""

    def __init__(self, name: str, log: Path) -> None:
        self._name = name
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """The log of the server."""
        return self._log.read_text("utf-8", "replace")

    def run(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        """Run ``java`` with these arguments."""
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else "java"
        with self._log.open("ab") as log:
            # In a separate session, so that Ctrl-C in a test ends the test first
            return subprocess.Popen(
                [java, *SMALL, *arguments],
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )

    def start(self, arguments: list[str], answers: Callable[[], bool]) -> None:
        """Run it, and wait until it ``answers``."""
        self._process = self.run(arguments)
        until = time.monotonic() + START_SECONDS
        while not answers():
            if self._process.poll() is not None or time.monotonic() > until:
                self.end(signal.SIGKILL)
                raise RuntimeError(f"the {self._name} has not started:\n{self.log[-3000:]}")
            time.sleep(0.05)

    def end(self, how: signal.Signals) -> None:
        """End it, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _end_with_parent() -> None:
    """Called in the new process: it is killed when the one that started it ends, however that ends."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports
