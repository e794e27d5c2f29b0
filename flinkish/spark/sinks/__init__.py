"""Writes the frames of each batch to the sinks, in ``foreachBatch``.

It may import ``checkpoint``, ``connect`` and ``session`` of ``spark``, ``deployment``, ``runtime``, ``graph`` and ``api``.
"""
