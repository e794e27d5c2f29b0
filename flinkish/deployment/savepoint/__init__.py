"""Savepoints: what is in their directory, and how a job begins from one.

It may import ``deployment``, ``graph``, ``runtime`` and ``api``.
"""
