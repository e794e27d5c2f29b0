"""Plans what a batch reads, and decodes it to records in the worker.

It may import ``checkpoint``, ``connect`` and ``session`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
