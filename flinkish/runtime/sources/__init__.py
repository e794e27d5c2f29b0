"""Plans what a batch reads of a source, and reads numbers.

It may import ``records`` and ``formats`` of ``runtime``, and ``api``.
"""
