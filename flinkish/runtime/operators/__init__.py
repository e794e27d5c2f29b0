"""The operators that are not windows, with their contexts, timers and outputs.

It may import ``records``, ``state`` and ``time`` of ``runtime``, and ``api``.
"""
