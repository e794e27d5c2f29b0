"""What a person sees of a job: its graph and state in a notebook, its progress in a terminal, and what event time waits for.

It draws the details of ``api/execution``, which are data.
"""
