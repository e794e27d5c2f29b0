"""Sets how much freed memory Spark's Python workers keep between the frames that they process.

Each frame allocates and frees arrays of some MiB. glibc returns such a block to the system at once,
or when the free end of its heap is long enough, and the system clears the same pages again for the
next frame. glibc raises both limits automatically, at most to the values set here, but only to the
size of the largest block that was freed, and a frame has many arrays.
"""

from __future__ import annotations

import os

_LIMITS = {
    # From this size on a block is a separate mapping, which is returned when it is freed.
    "MALLOC_MMAP_THRESHOLD_": 32 << 20,
    # From this size on the free end of the heap is returned.
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
