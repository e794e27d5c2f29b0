"""Runs of elements, as values or as Arrow columns, with their keys, and the frames in which they
cross a shuffle.

It may import ``api`` only.
"""
