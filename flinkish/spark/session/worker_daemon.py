"""pyspark's daemon, which forks the workers, without a traceback when the query of a worker is
stopped.

Run as a file by the script of ``worker_python.py``: the rest of flinkish may not be importable in
the workers of other jobs of the session.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from contextlib import suppress
from importlib import import_module

WORKER = "pyspark.worker"
"""The module of the workers that run tasks; others inspect a source."""

if __name__ == "__main__":
    # As with ``python -m``.
    sys.path.insert(0, os.getcwd())

    from pyspark import daemon

    pysparks_worker = daemon.worker

    def worker(sock: socket.socket, authenticated: bool) -> int:
        """pyspark's worker, which fails if the JVM no longer wants the result."""
        try:
            return pysparks_worker(sock, authenticated)
        except (BrokenPipeError, ConnectionResetError):
            return 1

    # A worker recognises its kind by this.
    sys.modules["__main__"].__spec__ = daemon.__spec__
    daemon.worker = worker
    if WORKER in sys.argv:
        # The imports of every flinkish task are done once, here, and not in each worker: over two
        # seconds of processor time on a slow machine. PyArrow imports pandas with its first array.
        for module in ("flinkish.spark.stage_run", "flinkish.spark.sources.function", "pandas"):
            with suppress(ImportError):
                import_module(module)
        # Garbage collection in a worker would copy every page that it shares with this process.
        gc.freeze()
    daemon.manager()
