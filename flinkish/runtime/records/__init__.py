"""Runs of elements, as values or as Arrow columns, with their keys, and the frames that they cross
a shuffle in.

It may import ``api`` only.
"""
