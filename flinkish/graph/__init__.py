"""Turns transformations into nodes and edges, and those into vertices, in levels.

It may import ``api`` only.
"""
