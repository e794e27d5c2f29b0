"""The interfaces that users implement, with the contexts, state and descriptors that their methods receive.

It may import ``time``, ``types`` and the modules of ``api`` itself; windows for type checkers
only.
"""
