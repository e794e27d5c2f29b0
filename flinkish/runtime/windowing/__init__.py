"""The window operators, element by element: ``WindowOperator``, with an evictor, and for windows that depend on the
elements. Those for aligned windows and sessions are in ``runtime/columns``.

It may import ``operators``, ``records``, ``state`` and ``time`` of ``runtime``, and ``api``.
"""
