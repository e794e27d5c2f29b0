"""The state of a job in a savepoint: by operator and key, independent of the key groups and pages
of a run.

It may import ``columns``, ``operators``, ``state``, ``records``, ``time`` and ``windowing`` of
``runtime``, and ``api``.
"""
