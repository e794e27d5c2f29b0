"""flinkish's own files in the checkpoint directory, beside Spark's: the plan of the job, and how
files are written.

It may import ``session`` and ``connect`` of ``spark``, ``deployment``, ``graph``, ``runtime`` and ``api``.
"""
