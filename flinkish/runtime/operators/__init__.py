"""The operators that are not windows, with their contexts, timers and outputs.

It may import ``records``, ``state``, ``time`` and the modules of ``runtime`` itself, and ``api``; no ``columns``, NumPy or
Arrow.
"""
