"""Watermarks as they are combined and generated, and the clock.

It may import ``eventtime`` and ``time`` of ``api``, and nothing of ``runtime``.
"""
