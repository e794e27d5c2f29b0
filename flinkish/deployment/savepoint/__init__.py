"""Savepoints: the files of their directory, and how a job begins from one.

It may import ``deployment``, ``graph``, ``runtime`` and ``api``.
"""
