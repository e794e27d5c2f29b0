"""The job as data: transformations, a description of each operator, and the types of the results.

``streams`` builds it, ``graph`` and ``runtime`` read it; it may import ``eventtime``,
``functions``, ``types`` and ``windowing``.
"""
