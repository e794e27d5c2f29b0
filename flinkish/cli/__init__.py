"""The command line: ``python -m flinkish run | list | stop | explain | new``.

Imports from ``flinkish.api`` and ``flinkish.web`` only.
"""
