"""The state of a job as a savepoint holds it: by operator and key, in no key groups or pages of a run.

It may import ``operators``, ``state``, ``records``, ``time``, ``tracing`` and ``windowing`` of ``runtime``,
and ``api``.
"""
