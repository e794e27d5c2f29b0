"""``AvroDecoder``: records whose schemas a small registry serves, without a broker."""

from __future__ import annotations

import io
import json
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from flinkish import ConfluentRegistryAvroDeserializationSchema, MalformedKafkaRecord
from flinkish.api.errors import JobExecutionError
from flinkish.runtime.kafka.avro import AvroDecoder
from tests.runtime.kafka.messages import results

fastavro = pytest.importorskip("fastavro")

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "item", "type": "string"}, {"name": "count", "type": "int"}],
}
SALE = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "shop", "type": "string"},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["TEA", "CUPS"]}},
    ],
}
NOTE = {"name": "note", "type": "string", "default": "none"}
LATER = {**SALE, "fields": [*SALE["fields"], NOTE]}
READ = {"type": "record", "name": "Sale", "fields": [{"name": "shop", "type": "string"}, NOTE]}


class Line(NamedTuple):
    item: str
    count: int


@dataclass
class Sale:
    shop: str
    lines: list[Line]


class Registry:
    """Serves schemas by their ids over HTTP, and counts the requests."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                registry.requests.append(path)
                schemas = {"/schemas/ids/1": SALE, "/schemas/ids/2": LATER}
                found = schemas.get(path)
                answer = {"error_code": 40403, "message": "Schema not found"}
                if found is not None:
                    answer = {"schema": json.dumps(found)}
                body = json.dumps(answer).encode()
                self.send_response(404 if found is None else 200)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: Any) -> None:
                """Says nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry()
    yield registry
    registry.stop()


def record(number: int, schema: dict[str, Any], **fields: Any) -> bytes:
    """A record as Confluent's serializers write it: a zero, the id of the schema, and Avro."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), fields)
    return b"\0" + struct.pack(">I", number) + body.getvalue()


TEA = {"item": "tea", "count": 2}
OLD = record(1, SALE, shop="Cork", lines=[TEA], kind="TEA")
NEW = record(2, LATER, shop="Bremen", lines=[], kind="CUPS", note="new")


def decoded(schema: Any, *values: bytes | None) -> tuple[list[Any], list[MalformedKafkaRecord]]:
    """The elements with their timestamps, and the records that do not fit."""
    runs, malformed = results(AvroDecoder(schema), *values)
    return [pair for run in runs for pair in zip(run.values, run.timestamps.tolist())], malformed


def generic(registry: Registry, schema: Any = None) -> Any:
    return ConfluentRegistryAvroDeserializationSchema.forGeneric(schema, registry.url)


def test_each_as_it_was_written_and_each_schema_is_asked_for_once(registry):
    old = {"shop": "Cork", "lines": [TEA], "kind": "TEA"}
    new = {"shop": "Bremen", "lines": [], "kind": "CUPS", "note": "new"}
    elements, malformed = decoded(generic(registry), OLD, NEW, None, OLD)
    assert elements == [(old, 1000), (new, 1001), (old, 1003)]
    assert not malformed
    assert registry.requests == ["/schemas/ids/1", "/schemas/ids/2"]


def test_the_readers_schema(registry):
    expected = [{"shop": "Cork", "note": "none"}, {"shop": "Bremen", "note": "new"}]
    for schema in (READ, json.dumps(READ)):
        elements, _ = decoded(generic(registry, schema), OLD, NEW)
        assert [element for element, _ in elements] == expected


def test_objects_of_a_class_with_objects_in_them(registry):
    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Sale, registry.url)
    elements, _ = decoded(schema, OLD, NEW)
    assert [e for e, _ in elements] == [Sale("Cork", [Line("tea", 2)]), Sale("Bremen", [])]


@pytest.mark.parametrize(
    "poison",
    [b"text", b"", record(7, SALE, shop="", lines=[], kind="TEA"), OLD[:-3]],
    ids=["no record", "empty", "no such schema", "cut off"],
)
def test_what_does_not_fit(registry, poison):
    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Sale, registry.url)
    elements, [bad] = decoded(schema, OLD, poison, OLD)
    assert [time for _, time in elements] == [1000, 1002]
    assert (bad.topic, bad.partition, bad.offset, bad.raw) == ("sales", 3, 1, poison)


def test_fields_that_a_class_needs_and_records_lack(registry):
    @dataclass
    class Priced:
        shop: str
        cents: int

    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Priced, registry.url)
    elements, [bad] = decoded(schema, OLD)
    assert not elements
    assert "cents" in bad.reason


def test_a_registry_that_is_away_is_no_malformed_record(registry):
    registry.stop()
    settings = {"max.retries": "0", "basic.auth.user.info": "ann:hunter2"}
    schema = ConfluentRegistryAvroDeserializationSchema.forSpecific(Sale, registry.url, settings)
    with pytest.raises(JobExecutionError, match="returns no schema") as away:
        decoded(schema, OLD)
    assert "hunter2" not in repr(schema) + str(away.value)
