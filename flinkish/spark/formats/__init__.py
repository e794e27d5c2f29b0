"""Reads files of a format in the worker, strictly: what does not fit has a file, a line and a
reason.

It may import ``runtime.records`` and ``api``, and no other folder of ``spark``.
"""
