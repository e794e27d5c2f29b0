"""Runs a job as one streaming query, and is the only layer that imports pyspark.

It may import ``runtime``, ``graph`` and ``api``; only ``flinkish`` itself imports it.
"""
