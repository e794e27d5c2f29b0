"""Timestamps and watermarks: strategies, generators, and the clock that they may read.

It may import ``functions``, ``time``, ``types`` and the modules of ``api`` itself.
"""
