"""The words of other systems for what flinkish does with time, complete in a package for each system.

A package may import ``runtime`` and ``api``, and registers the operators that it brings; nothing imports it
unless a user does. Streams go in and streams come out, so the packages mix with the rest of flinkish.
"""
