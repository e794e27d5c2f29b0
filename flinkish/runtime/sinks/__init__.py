"""Sinks that users write, as both engines run them.

It may import ``records`` of ``runtime``, its own modules and ``api``.
"""
