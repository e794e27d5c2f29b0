"""Windows, and what says how elements fall into them: assigners, triggers and evictors.

It may import ``functions``, ``time``, ``types`` and the modules of ``api`` itself.
"""
