"""What the driver knows about a job while it runs: its history of batches, and its details for whoever looks.

Both engines tell it when a batch has ended.
"""
