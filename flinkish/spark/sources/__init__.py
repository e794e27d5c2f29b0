"""Plans what a batch reads, and turns it into records in the worker.

It may import ``checkpoint`` and ``formats`` of ``spark``, ``runtime`` and ``api``.
"""
