"""Sinks that users write, and the writers of sinks that have transactions, as both engines run them.

It may import ``records``, ``formats`` and the modules of ``runtime`` itself, and ``api``.
"""
