"""Runs a job as one streaming query, and is the only layer that imports pyspark.

It may import ``deployment``, ``runtime``, ``graph`` and ``api``; only ``flinkish`` itself and ``cli`` import it.
"""
