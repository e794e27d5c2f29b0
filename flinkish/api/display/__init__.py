"""Shows a job to people: its graph and state in a notebook, its progress in a terminal, and what event time waits
for.

It draws the details of ``api/execution``, which are data.
"""
