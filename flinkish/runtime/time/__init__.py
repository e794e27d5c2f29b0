"""Watermarks as they are combined and generated, and the clock.

It may import ``api``; for ``onEvent`` over a run of columns it also imports ``EventFold`` of ``runtime/columns``.
"""
