"""Timestamps, watermarks and durations as values, which everything else is made of.

It may import the modules of ``api`` itself, and no folder.
"""
