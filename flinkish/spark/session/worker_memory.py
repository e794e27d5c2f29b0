"""How much memory the Python workers of Spark keep between the frames that they process.

A frame makes and frees arrays of some MiB. glibc gives such a block back to the system at once, or when the free end
of its heap is long enough, and the system clears the same pages anew for the next frame. Both limits rise by
themselves, at most to what is set here, but only with the largest block that was freed, and the arrays of a frame
are many.
"""

from __future__ import annotations

import os

_LIMITS = {
    # From this size on a block is a mapping of its own, which is given back when it is freed.
    "MALLOC_MMAP_THRESHOLD_": 32 << 20,
    # From this size on the free end of the heap is given back.
    "MALLOC_TRIM_THRESHOLD_": 64 << 20,
}
"""Environment variables of glibc, and bytes. Other C libraries do not read them."""


def set_worker_memory() -> None:
    """Let workers started from now on keep the memory that they have freed, unless the environment or
    ``spark.executorEnv`` says otherwise."""
    from pyspark import SparkContext

    variables = getattr(SparkContext.getOrCreate(), "environment", None)
    if isinstance(variables, dict):
        for name, limit in _LIMITS.items():
            variables.setdefault(name, os.environ.get(name, str(limit)))
