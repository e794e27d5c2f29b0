"""Cassandra, whose connectors are Java's: the names say what to write instead."""

from flinkish.pyflink.absent import absent_names

__getattr__ = absent_names(__name__)
