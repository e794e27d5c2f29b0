"""Sources and sinks as data: what is read or written, and in which format; ``runtime`` and the
engines read and write.

It may import ``functions``, ``time``, ``types`` and the modules of ``api`` itself.
"""
