"""pyspark's process that plans the batches of a Python data source, without a traceback when its
query is stopped.

Run as a file by the script of ``worker_python.py``, as ``worker_daemon.py`` is.
"""

from __future__ import annotations

import os
import runpy
import sys

if __name__ == "__main__":
    # As with ``python -m``.
    sys.path.insert(0, os.getcwd())

    try:
        runpy.run_module(
            "pyspark.sql.streaming.python_streaming_source_runner",
            run_name="__main__",
            alter_sys=True,
        )
    except (BrokenPipeError, ConnectionResetError, EOFError):
        # The JVM has closed the connection: the query has ended.
        sys.exit(1)
