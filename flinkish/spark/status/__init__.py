"""What only Spark knows about a job while it runs, and its history in the checkpoint.

May be imported from ``flinkish.spark``.
"""
