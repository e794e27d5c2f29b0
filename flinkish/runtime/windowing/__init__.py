"""The window operators: the general one, and quicker ones for layouts that allow it.

It may import ``operators``, ``records``, ``state`` and ``time`` of ``runtime``, and ``api``.
"""
