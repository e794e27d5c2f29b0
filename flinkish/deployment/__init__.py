"""Prepares a job for an engine: the plans of its vertices for their tasks, as bytes.

It may import ``graph``, ``runtime`` and ``api``, and knows no engine.
"""
