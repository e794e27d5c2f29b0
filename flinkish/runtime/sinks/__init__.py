"""Runs, in both engines, the sinks that users write and the writers of sinks with transactions.

It may import ``records``, ``formats`` and the modules of ``runtime`` itself, and ``api``.
"""
