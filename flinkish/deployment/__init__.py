"""What an engine needs of a job before it runs: the plans of the vertices for their tasks, as bytes.

It may import ``graph``, ``runtime`` and ``api``, and knows no engine.
"""
