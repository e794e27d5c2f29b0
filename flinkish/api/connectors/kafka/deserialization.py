"""The deserialization of the records of a topic to elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from flinkish.api.arguments import instance
from flinkish.api.connectors.kafka.records import ConsumerRecord
from flinkish.api.connectors.schemas import DeserializationSchema
from flinkish.api.functions.adapt import checked_callable
from flinkish.api.functions.functions import Collector
from flinkish.api.type_variables import T, T_co
from flinkish.api.types.type_info import TypeInformation


class KafkaRecordDeserializationSchema(ABC, Generic[T_co]):
    """Converts whole records to elements: key, value, headers, partition, offset and timestamp
    (Flink: ``KafkaRecordDeserializationSchema``). Derive from it, or call ``of`` or
    ``valueOnly``."""

    @abstractmethod
    def deserialize(self, record: ConsumerRecord, out: Collector[Any]) -> None:
        """Called with each record; ``out.collect(element)`` emits any number of elements, all with the
        timestamp of the record."""

    def getProducedType(self) -> TypeInformation[Any] | None:
        """The type of the elements, if it is known."""
        return None

    @staticmethod
    def valueOnly(schema: DeserializationSchema[T]) -> KafkaRecordDeserializationSchema[T]:
        """Convert the values of records with ``schema``; a record without a value gives no
        element."""
        subject = "KafkaRecordDeserializationSchema.valueOnly"
        fix = "Pass one, such as SimpleStringSchema() or JsonDeserializationSchema(Order)."
        return ValueOnlyDeserialization(instance(subject, schema, DeserializationSchema, fix))

    @staticmethod
    def of(
        function: Callable[[ConsumerRecord], T | None],
        type: TypeInformation[T] | type[T] | None = None,  # noqa: A002
    ) -> KafkaRecordDeserializationSchema[T]:
        """The result of ``function(record)`` for each record; None emits no element.

        >>> keyed = KafkaRecordDeserializationSchema.of(lambda record: (record.key, record.value))
        """
        checked_callable("KafkaRecordDeserializationSchema.of", function, "f(record)", 1)
        produced = None if type is None else TypeInformation.of(type)
        return RecordFunctionDeserialization(function, produced)


@dataclass(frozen=True, eq=False)
class ValueOnlyDeserialization(KafkaRecordDeserializationSchema[T_co]):
    """Converts the value alone."""

    schema: DeserializationSchema[T_co]

    def deserialize(self, record: ConsumerRecord, out: Collector[Any]) -> None:
        element = None if record.value is None else self.schema.deserialize(record.value)
        if element is not None:
            out.collect(element)

    def getProducedType(self) -> TypeInformation[Any] | None:
        return self.schema.getProducedType()


@dataclass(frozen=True, eq=False)
class RecordFunctionDeserialization(KafkaRecordDeserializationSchema[T_co]):
    """Converts by a function of the record."""

    function: Callable[[ConsumerRecord], T_co | None]
    produced: TypeInformation[Any] | None

    def deserialize(self, record: ConsumerRecord, out: Collector[Any]) -> None:
        element = self.function(record)
        if element is not None:
            out.collect(element)

    def getProducedType(self) -> TypeInformation[Any] | None:
        return self.produced
