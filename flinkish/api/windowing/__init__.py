"""Windows, with their assigners, triggers and evictors.

It may import ``functions``, ``time``, ``types`` and the modules of ``api`` itself.
"""
