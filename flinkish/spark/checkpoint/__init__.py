"""What flinkish keeps in the checkpoint directory beside Spark's own: the plan of the job, and how
its files are written.

It may import ``session`` and ``connect`` of ``spark``, ``deployment``, ``graph``, ``runtime`` and ``api``.
"""
