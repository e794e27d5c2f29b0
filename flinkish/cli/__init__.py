"""The command line: ``python -m flinkish run | list | stop | savepoint | explain | new | doctor
...``.

It may import ``compat``, ``web``, ``spark``, ``deployment`` and ``api``.
"""
