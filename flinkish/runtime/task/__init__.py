"""Runs the vertices of a stage for a batch: gates before a vertex, its chain of operators, writers
behind it.

It may import every other folder of ``runtime``.
"""
