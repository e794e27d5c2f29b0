"""Generating and combining watermarks, and the clock.

It may import ``api`` only.
"""
