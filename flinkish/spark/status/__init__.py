"""What only Spark knows about a job while it runs, and its history in the checkpoint.

It may import ``checkpoint``, ``session`` and ``sources`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
