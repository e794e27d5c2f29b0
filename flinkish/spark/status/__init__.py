"""The status of a running job that only Spark knows, and the job's history in the checkpoint.

It may import ``checkpoint``, ``session`` and ``sources`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
