"""``AvroDecoder``: Avro records with schemas from a registry, by confluent-kafka."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flinkish.api.connectors.kafka.avro import NAME, ConfluentRegistryAvroDeserializationSchema
from flinkish.api.connectors.kafka.records import MalformedKafkaRecord
from flinkish.api.connectors.urls import shown_url
from flinkish.api.errors import IllegalArgumentError, JobExecutionError, NotSupportedError, said_by
from flinkish.api.types.type_info import TypeInformation
from flinkish.runtime.formats.base import ReadResult
from flinkish.runtime.kafka.messages import Maker, MessageDecoder, Messages, maker
from flinkish.runtime.records.records import Records, timestamps_of

_FLINKS = {"basic.auth.credentials.source"}
"""Settings that Confluent's client for Python lacks, as it always behaves as they demand."""


class AvroDecoder(MessageDecoder):
    """Converts each message to a dict, or to an object of the schema's class."""

    def __init__(self, schema: ConfluentRegistryAvroDeserializationSchema[Any]) -> None:
        self._schema = schema
        self._make = None if schema.elementType is None else maker(_of_record, schema.elementType)
        self._opened: Any = None
        _deserializer_modules()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def decode(self, messages: Messages) -> Iterator[ReadResult]:
        messages = messages.withValues()
        if self._opened is None:
            self._opened = self._open()
        deserialize, make = self._opened, self._make
        values, times = [], []
        malformed: list[MalformedKafkaRecord] = []
        for message, time in zip(messages.messages, messages.timestamps()):
            try:
                # No context, with which the registry would be asked for more than the schema
                value = deserialize(message.value(), None)
                values.append(value if make is None else make(value))
                times.append(time)
            except JobExecutionError:
                raise
            except Exception as error:
                malformed.append(messages.malformed(message, said_by(error)))
        if values:
            yield Records(values, timestamps_of(times))
        yield from malformed

    def _open(self) -> Callable[[bytes, Any], Any]:
        avro, registry, errors = _deserializer_modules()
        # The client expects numbers, not texts of them
        settings = ((k, int(v) if v.isdigit() else v) for k, v in self._schema.properties)
        given = {name: value for name, value in settings if name not in _FLINKS}
        url = self._schema.url

        class Registry(registry.SchemaRegistryClient):  # type: ignore[misc, name-defined]
            """Distinguishes a registry that does not answer from one that lacks a schema."""

            def get_schema(self, *arguments: Any, **named: Any) -> Any:
                try:
                    return super().get_schema(*arguments, **named)
                except Exception as error:
                    status = getattr(error, "http_status_code", 500)
                    if isinstance(error, errors.SchemaRegistryError) and status in (404, 422):
                        raise
                    raise JobExecutionError(
                        f"{NAME}: the schema registry at {shown_url(url)} returns no schema:"
                        f" {_said_by(error, url)}. Start it, or fix its URL and settings, and start the job"
                        " again: it continues there."
                    ) from None

        try:
            client = Registry({"url": url, **given})
            found: Callable[[bytes, Any], Any] = avro.AvroDeserializer(client, self._schema.schema)
        except Exception as error:
            raise IllegalArgumentError(
                f"{NAME}: Confluent's client refuses its schema or settings: {_said_by(error, url)}."
            ) from None
        return found


def _said_by(error: Exception, url: str) -> str:
    return said_by(error).replace(url, shown_url(url))


def _deserializer_modules() -> list[Any]:
    try:
        return [
            importlib.import_module(f"confluent_kafka.{name}")
            for name in ("schema_registry.avro", "schema_registry", "schema_registry.error")
        ]
    except ImportError as error:
        raise NotSupportedError(
            f"{NAME} needs packages that this Python does not have ({error}): pip install 'flinkish[avro]',"
            " on the driver and the workers."
        ) from None


def _of_record(kind: TypeInformation[Any], children: Sequence[Maker]) -> Maker:
    """The function that converts a dict to an object of ``kind``."""
    made = kind.typeClass
    if made is None:
        return lambda record: record
    parts = list(zip(kind.fields, children))
    return lambda record: (
        None if record is None else made(**{n: make(record[n]) for n, make in parts})
    )
