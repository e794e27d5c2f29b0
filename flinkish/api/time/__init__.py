"""Timestamps, watermarks and durations as values.

It may import the modules of ``api`` itself, and no folder.
"""
