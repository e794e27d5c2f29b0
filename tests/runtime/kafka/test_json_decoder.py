"""``JsonDecoder``: the JSON of many messages becomes columns at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from flinkish import JsonDeserializationSchema, Row
from flinkish.runtime.formats.json_values import JsonReader
from flinkish.runtime.kafka.decoding import json_decoder
from flinkish.runtime.records.rows import RowColumns
from tests.runtime.kafka.messages import results


@dataclass
class Sale:
    shop: str
    cents: int


MESSAGES = [b'{"shop": "s%d", "cents": %d}' % (number, number) for number in range(100)]


@pytest.mark.parametrize("made", [Sale, Row])
def test_columns_without_parsing_each(monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError("a message was parsed by itself")

    monkeypatch.setattr(json, "loads", fail)
    monkeypatch.setattr(JsonReader, "rows", fail)
    schema: Any = JsonDeserializationSchema(Sale if made is Sale else "shop string, cents long")
    [run], malformed = results(json_decoder(schema, "UTC"), *MESSAGES)
    assert isinstance(run.values, RowColumns)
    assert list(run.values) == [made(shop=f"s{n}", cents=n) for n in range(100)]
    assert run.timestamps.tolist() == [1000 + n for n in range(100)]
    assert not malformed


def test_poison_costs_no_others_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    read = JsonReader.rows

    def counted(reader: JsonReader, root: Any) -> Any:
        parsed.append(b"")
        return read(reader, root)

    monkeypatch.setattr(JsonReader, "rows", counted)
    messages = [*MESSAGES[:50], b"poison", *MESSAGES[50:]]
    schema = JsonDeserializationSchema(Sale)
    [run], [bad] = results(json_decoder(schema, "UTC"), *messages)
    assert isinstance(run.values, RowColumns)
    assert [sale.cents for sale in run.values] == list(range(100))
    assert (bad.offset, bad.raw) == (50, b"poison")
    assert 0 < len(parsed) <= 16
