"""The Spark session that a job runs in: its driver, its logs, its workers and interrupts.

It may import ``connect`` of ``spark``, and ``api``.
"""
