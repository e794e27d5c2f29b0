"""Plans what a batch reads, and turns it into records in the worker.

It may import ``checkpoint``, ``connect`` and ``session`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
