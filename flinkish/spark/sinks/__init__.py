"""What ``foreachBatch`` does with the frames for the sinks.

It may import ``checkpoint``, ``connect`` and ``session`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
