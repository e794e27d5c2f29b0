"""``make bench``: the same jobs on flinkish, Spark and Flink, over the same files in the same run.

``jobs`` and ``nexmark`` describe what is run, ``inputs`` writes what it reads, a module for each side runs it,
``results`` checks that all sides give the same results, and ``report`` makes the page docs/benchmarks.md.
"""
