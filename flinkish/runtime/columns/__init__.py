"""Operators vectorised: how a run of columns is processed at once.

The operators in ``runtime/operators`` and ``runtime/windowing`` define what happens to each
element; this package does the same to columns. To learn Flink's semantics, you need not read it.
"""
