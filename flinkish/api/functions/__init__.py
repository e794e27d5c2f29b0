"""What a user implements and what it is handed: functions, contexts, state and its descriptors.

It may import ``time``, ``types`` and the modules of ``api`` itself; windows for type checkers
only.
"""
