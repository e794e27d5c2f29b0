"""Reads files in the worker, strictly: a record that does not fit has a file, a line and a reason.
Also writes elements as lines.

It may import ``records`` of ``runtime``, and ``api``.
"""
