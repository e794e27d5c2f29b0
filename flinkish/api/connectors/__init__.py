"""Sources and sinks as data: what is read or written, and in which format; ``spark`` does the
reading and writing.

It may import ``functions``, ``time``, ``types`` and the modules of ``api`` itself.
"""
