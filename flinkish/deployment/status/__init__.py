"""The driver's view of a running job: the history of its batches, and the details to show.

Both engines call it when a batch has ended.
"""
