"""Reads files of a format in the worker, strictly: what does not fit has a file, a line and a
reason. And how elements are written as lines.

It may import ``records`` of ``runtime``, and ``api``.
"""
