"""Runs the vertices of a stage for a batch: the gates of a vertex, its chain of operators, and its
writers.

It may import every other folder of ``runtime``.
"""
