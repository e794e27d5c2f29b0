"""Keyed state behind one interface, in memory or in pages.

It may import ``records`` and ``time`` of ``runtime``, and ``api``.
"""
