"""Plans which elements of a source each batch reads. Reads numbers, tables, and the sources of
users.

It may import ``records`` and ``formats`` of ``runtime``, and ``api``.
"""
