"""Elements whose type is not known are written as the JSON that Spark writes where it is."""

from __future__ import annotations

import datetime
import enum
import json
import math
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flinkish as fl
from flinkish.api.errors import UnfitElementError
from flinkish.runtime.formats.json_lines import JsonLine
from flinkish.runtime.records.frames import Frame, MarksBuilder, encode_frame
from flinkish.runtime.records.records import Records, timestamps_of
from flinkish.runtime.sinks.lines import LineWriter
from flinkish.spark.sinks.frame_decoding import LinesFunction

line = JsonLine("UTC")

INSTANT = datetime.datetime(2024, 1, 1, 12, 30, 15, 123456, tzinfo=datetime.UTC)


class Carrier(enum.Enum):
    AA = 1
    UA = 2


class Airport(NamedTuple):
    code: str
    runways: list[int]


@dataclass
class Leg:
    number: int
    to: Airport | None


@dataclass
class Flight:
    carrier: Carrier
    legs: list[Leg]
    by_name: dict[str, Leg]
    by_number: dict[int, Airport]
    codes: tuple[str, ...]
    delay: float | None
    price: Decimal
    at: datetime.datetime
    day: datetime.date
    takes: datetime.timedelta
    seal: bytes
    late: bool


def flights(count: int) -> list[Flight]:
    draw = random.Random(7)

    def text() -> str:
        return "".join(draw.choice('aé\u2028"/\\\n\x01😀 ') for _ in range(draw.randrange(4)))

    def airport() -> Airport:
        return Airport(text(), [draw.randrange(-5, 5) for _ in range(draw.randrange(3))])

    def leg() -> Leg:
        return Leg(draw.choice([0, -(2**63), 2**63 - 1]), draw.choice([None, airport()]))

    return [
        Flight(
            draw.choice(list(Carrier)),
            [leg() for _ in range(draw.randrange(3))],
            {text(): leg() for _ in range(draw.randrange(3))},
            {draw.randrange(-9, 9): airport() for _ in range(draw.randrange(3))},
            tuple(text() for _ in range(draw.randrange(3))),
            draw.choice([None, 0.1, -0.0, 1e22, 5e-324, math.nan, math.inf, -math.inf]),
            draw.choice([Decimal("12.345"), Decimal(0), Decimal("-1E-18"), Decimal("1E+3")]),
            INSTANT + datetime.timedelta(microseconds=draw.randrange(-(10**15), 10**15)),
            datetime.date(2024, 2, 29),
            datetime.timedelta(microseconds=draw.choice([0, 5, -(10**11) - 5, 10**12, 500_000])),
            bytes(draw.randrange(256) for _ in range(draw.randrange(4))),
            draw.choice([True, False]),
        )
        for _ in range(count)
    ]


def test_lines_are_those_of_columns_where_the_type_is_known(env, tmp_path):
    elements = flights(200)

    def element(index: int) -> Flight:
        return elements[index]

    numbers = env.fromSequence(0, len(elements) - 1)
    numbers.map(element).sinkTo(fl.FileSink.forJson(str(tmp_path / "typed")))
    numbers.map(lambda index: element(index)).sinkTo(fl.FileSink.forJson(str(tmp_path / "lines")))
    env.execute()
    typed, lines = (
        [
            json.loads(text)
            for path in sorted((tmp_path / name).rglob("part-*.json"))
            for text in path.read_text().split("\n")[:-1]
        ]
        for name in ("typed", "lines")
    )
    assert len(typed) == 200
    assert lines == typed


scalars = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(values)
def test_what_json_knows_comes_back(value):
    def plain(part):
        if isinstance(part, float) and math.isinf(part):
            return "Infinity" if part > 0 else "-Infinity"
        if isinstance(part, list):
            return list(map(plain, part))
        return {k: plain(v) for k, v in part.items()} if isinstance(part, dict) else part

    assert json.loads(line(value)) == plain(value)


def of(value: object) -> object:
    return json.loads(line(value))


def test_records_are_objects_at_any_depth():
    airport = Airport("JFK", [4])
    expected = {"code": "JFK", "runways": [4]}
    assert of(airport) == expected
    assert of((1, [airport], {"to": (airport,)})) == [1, [expected], {"to": [expected]}]
    assert of(fl.Row(leg=Leg(1, airport))) == {"leg": {"number": 1, "to": expected}}


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Carrier.AA, '"AA"'),
        (Level.LOW, '"LOW"'),
        ({Carrier.AA: 1, 2: 3, True: 4}, '{"AA":1,"2":3,"true":4}'),
        (Decimal("12.50"), "12.50"),
        (Decimal("NaN"), '"NaN"'),
        (math.nan, '"NaN"'),
        (np.float64(1.5), "1.5"),
        (np.array([1, 2]), "[1,2]"),
        (frozenset([1]), "[1]"),
        (INSTANT, '"2024-01-01T12:30:15.123456Z"'),
        (INSTANT.replace(tzinfo=None), '"2024-01-01T12:30:15.123456"'),
    ],
)
def test_other_values(value, written):
    assert line(value) == written


def test_timestamps_are_in_the_time_zone_of_the_session():
    assert JsonLine("Asia/Kolkata")(INSTANT) == '"2024-01-01T18:00:15.123456+05:30"'


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"by": {("JFK", 1): 2}}, r"the key \('JFK', 1\) of type tuple .* list\("),
        ([object()], r"<object .* of type object has no form in JSON"),
    ],
)
def test_what_has_no_form_names_the_sink(value, says):
    records = Records([value], timestamps_of([0]))
    frame = encode_frame(Frame(records, MarksBuilder().build()), "my sink")
    batch = pa.RecordBatch.from_pydict({"frame": [frame]})
    with pytest.raises(UnfitElementError, match=f"^my sink: {says}"):
        list(LinesFunction(LineWriter("my sink", "json"))(iter([batch])))
