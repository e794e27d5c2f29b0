"""Reads and writes topics of Kafka with confluent-kafka, for both engines.

It may import ``records``, ``formats``, ``sinks`` and ``sources`` of ``runtime``, and ``api``.
"""
