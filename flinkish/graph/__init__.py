"""Turns transformations into nodes and edges, and these into vertices, in levels.

It may import ``api`` only.
"""
