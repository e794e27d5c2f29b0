"""Tracing: user functions that only compute are run over columns of Arrow and NumPy, a run at once.

An operator calls ``ColumnFunction``, ``ColumnFold`` or another class of this package with a run of
columns. None means that the function has to be called for each element, which is always right.
Nothing here changes a result, so a reader may skip this package.

It may import ``records`` and ``state`` of ``runtime``, and ``api``.
"""
