"""The window operators, element by element: ``WindowOperator``, the one with an evictor, sessions,
and windows that depend on the elements. Aligned windows, and sessions over columns, are in
``runtime/columns``.

It may import ``operators``, ``records``, ``state`` and ``time`` of ``runtime``, and ``api``.
"""
