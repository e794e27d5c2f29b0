"""Runs a job as one streaming query; the only layer that imports pyspark at run time.

It may import ``deployment``, ``runtime``, ``graph`` and ``api``; only ``flinkish`` itself and ``cli`` import it.
"""
