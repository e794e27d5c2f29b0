"""Runs jobs in this process, without Spark: for tests, and for learning.

It may import ``deployment``, ``graph``, ``runtime`` and ``api``.
"""
