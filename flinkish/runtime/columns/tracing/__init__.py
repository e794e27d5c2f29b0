"""User functions that only compute, run over columns of Arrow and NumPy instead of element by element.

An operator asks ``ColumnFunction`` or ``ColumnFold`` for the columns of a run; None means that the
function has to be called for each element, which is always right. A reader may leave this package
unopened: nothing here changes a result.

It may import ``records`` of ``runtime``, and ``api``.
"""
