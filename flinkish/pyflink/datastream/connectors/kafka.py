"""Kafka, which Spark's connector reads and writes."""

from __future__ import annotations

from typing import NoReturn

from flinkish.api.errors import NotSupportedError

_READ = (
    'Read with Spark\'s connector: df = spark.readStream.format("kafka").option(...).load(), then'
    ' env.from_data_frame(df, "timestamp").'
)
_WRITE = "Send from stream.for_each_batch(function)."


class KafkaSource:
    """Not supported: Java's."""

    @staticmethod
    def builder() -> NoReturn:
        """Says what to write instead."""
        raise NotSupportedError(f"KafkaSource: the connector is Java's. {_READ}")


class KafkaSink:
    """Not supported: Java's."""

    @staticmethod
    def builder() -> NoReturn:
        """Says what to write instead."""
        raise NotSupportedError(f"KafkaSink: the connector is Java's. {_WRITE}")


class FlinkKafkaConsumer:
    """Not supported: Java's."""

    def __init__(self, *arguments: object) -> None:
        raise NotSupportedError(f"FlinkKafkaConsumer: the connector is Java's. {_READ}")


class FlinkKafkaProducer:
    """Not supported: Java's."""

    def __init__(self, *arguments: object) -> None:
        raise NotSupportedError(f"FlinkKafkaProducer: the connector is Java's. {_WRITE}")
