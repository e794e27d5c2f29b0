"""The operators that are not windows, with their contexts, timers and outputs.

It may import ``records``, ``state``, ``time`` and ``tracing`` of ``runtime``, and ``api``.
"""
