"""The Spark session that a job runs in, its logs, its workers and interrupts.

It may import ``checkpoint`` and ``connect`` of ``spark``, and ``api``.
"""
