"""The part of a program that the user writes, as data: streams, functions, windows and types, and
the plan that they build.

It imports no other layer, and its public names are importable from ``flinkish`` itself.
"""
