"""Avro with schemas from a registry: ``ConfluentRegistryAvroDeserializationSchema``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flinkish.api.arguments import secret, text
from flinkish.api.connectors.kafka.source import Properties, checked_property
from flinkish.api.connectors.schemas import DeserializationSchema
from flinkish.api.errors import (
    IllegalArgumentError,
    InvalidProgramError,
    NotSupportedError,
    shown,
)
from flinkish.api.type_variables import T, T_co
from flinkish.api.types.type_info import TypeInformation

NAME = "ConfluentRegistryAvroDeserializationSchema"


@dataclass(frozen=True)
class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema[T_co]):
    """Avro as Confluent's serializers write it, with schemas from a schema registry (Flink:
    ``ConfluentRegistryAvroDeserializationSchema``). Created by ``forGeneric`` or ``forSpecific``.

    Each record names the schema that it was written with; readers fetch it from the registry, once.
    Needs ``pip install 'flinkish[avro]'``.
    """

    url: str = field(repr=False)
    schema: str | None = None
    """The reader's schema as JSON; None for the schema of each record."""
    elementType: TypeInformation[Any] | None = None
    """The type of the elements; None if they are dicts."""
    properties: Properties = field(default=(), repr=False)
    """Settings of the registry's client."""

    @staticmethod
    def forGeneric(
        schema: str | Mapping[str, Any] | None,
        schemaRegistryUrl: str,
        registryConfigs: Mapping[str, str] | None = None,
    ) -> ConfluentRegistryAvroDeserializationSchema[Any]:
        """Elements are dicts with the fields of ``schema``, an Avro schema, or if it is None of the
        schema that each was written with. ``registryConfigs`` are settings such as
        ``basic.auth.user.info``."""
        written = _written(schema)
        url, properties = _registry("forGeneric", schemaRegistryUrl, registryConfigs)
        return ConfluentRegistryAvroDeserializationSchema(url, written, None, properties)

    @staticmethod
    def forSpecific(
        tClass: type[T],
        schemaRegistryUrl: str,
        registryConfigs: Mapping[str, str] | None = None,
    ) -> ConfluentRegistryAvroDeserializationSchema[T]:
        """Elements are of the dataclass or NamedTuple ``tClass``, whose fields are those of the records with
        the same names; fields of records that it does not have are left out."""
        known = isinstance(tClass, type)
        found: TypeInformation[Any] | None = TypeInformation.of(tClass) if known else None
        if found is None or found.kind not in ("NamedTuple", "Dataclass"):
            raise InvalidProgramError(
                f"{NAME}.forSpecific: {shown(tClass)} has no fields. Pass a dataclass or a NamedTuple, or use"
                " forGeneric, whose elements are dicts."
            )
        url, properties = _registry("forSpecific", schemaRegistryUrl, registryConfigs)
        return ConfluentRegistryAvroDeserializationSchema(url, None, found, properties)

    def deserialize(self, message: bytes) -> T_co | None:
        raise NotSupportedError(
            f"{NAME}.deserialize: records are read by the source that has this schema. Pass it to"
            " setValueOnlyDeserializer."
        )

    def getProducedType(self) -> TypeInformation[Any] | None:
        return self.elementType


def _written(schema: object) -> str | None:
    if schema is None:
        return None
    try:
        found = json.loads(schema) if isinstance(schema, str) else schema
        written = json.dumps(found)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, Mapping) or "type" not in found:
        raise IllegalArgumentError(
            f"{NAME}.forGeneric: {shown(schema)} is no schema of Avro. Pass its JSON, or None for the schema that"
            " each record was written with."
        )
    return written


def _registry(
    method: str, url: str, configs: Mapping[str, str] | None
) -> tuple[str, tuple[tuple[str, str], ...]]:
    text(f"{NAME}.{method}: schemaRegistryUrl", url)
    if configs is not None:
        secret(f"{NAME}.{method}", configs, Mapping, "Pass a dict of texts, or nothing.")
    return url, tuple(
        checked_property(f"{NAME}.{method}", *item) for item in (configs or {}).items()
    )
