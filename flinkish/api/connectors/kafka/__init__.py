"""Kafka's topics as sources and sinks, as data: Flink's Kafka connector by its names.

It may import what ``connectors`` may.
"""
