"""The operators other than windows, with their contexts, timers and outputs, element by element.

It may import ``records``, ``state``, ``time`` and the modules of ``runtime`` itself, and ``api``;
no ``columns``, NumPy or Arrow.
"""
