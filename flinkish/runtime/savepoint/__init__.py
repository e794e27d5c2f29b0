"""The state of a job as a savepoint holds it: by operator and key, not by the key groups and pages of a run.

It may import ``columns``, ``operators``, ``state``, ``records``, ``time`` and ``windowing`` of ``runtime``,
and ``api``.
"""
