"""Typed elements go into Spark's columns and come back as what they were."""

from __future__ import annotations

import datetime
import enum
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError, InvalidProgramError
from tests.spark.test_connectors import lines_of

NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)


class Carrier(enum.Enum):
    AA = 1


class Airport(NamedTuple):
    code: str
    runways: list[int]


@dataclass(frozen=True)
class Flight:
    origin: Airport
    at: datetime.datetime
    delay: int | None
    price: Decimal
    tags: dict[str, float]
    carrier: Carrier


JFK = Airport("JFK", [4, 22])
FLIGHTS = [
    Flight(JFK, NOON, 7, Decimal("12.5"), {"wind": 1.5}, Carrier.AA),
    Flight(JFK, NOON, None, Decimal(3), {}, Carrier.AA),
]


def rows_of(frame, tmp_path, name):
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(tmp_path / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)
    return frame.sparkSession.table(name)


def test_a_dataclass_has_the_columns_of_its_annotations(env, tmp_path):
    table = rows_of(env.fromCollection(FLIGHTS).toDataFrame(), tmp_path, "flights")
    assert table.schema.simpleString() == (
        "struct<origin:struct<code:string,runways:array<bigint>>,at:timestamp,delay:bigint,"
        "price:decimal(38,18),tags:map<string,double>,carrier:string>"
    )
    first, second = table.orderBy("price").collect()
    assert (first.delay, second.delay) == (None, 7)
    assert (second.origin.code, second.origin.runways) == ("JFK", [4, 22])
    assert (second.tags, second.carrier, second.price) == ({"wind": 1.5}, "AA", Decimal("12.5"))


LARGE, HOUR = 2**70, datetime.timedelta(hours=1)
SAMPLES = [
    (
        [("a", 1, [1], LARGE, NOON.date(), HOUR), ("b", None, [], LARGE, NOON.date(), HOUR)],
        "struct<f0:string,f1:bigint,f2:array<bigint>,f3:decimal(38,0),f4:date,"
        "f5:interval day to second>",
        [
            ("a", 1, [1], Decimal(LARGE), NOON.date(), HOUR),
            ("b", None, [], Decimal(LARGE), NOON.date(), HOUR),
        ],
    ),
    ([1.5, 2], "struct<value:double>", [(1.5,), (2.0,)]),
]
NESTED = (
    "origin struct<code string, runways array<int>>, tags map<string, double>, at timestamp,"
    " there timestamp_ntz, day date, price decimal(38,18), tiny tinyint, real float, raw binary"
)
THERE = datetime.datetime(1500, 1, 1, 12)
NESTED_ROWS = [
    (
        *(("JFK", [4, 22]), {"wind": 1.5}, NOON),
        *(THERE, THERE.date(), Decimal("1.50"), 7, 0.5, bytearray(b"x")),
    ),
    (None, {}, *[None] * 7),
]


@pytest.fixture(scope="module")
def written(spark, tmp_path_factory):
    """The output of one job that reads collections and tables, and writes files and DataFrames."""
    directory = tmp_path_factory.mktemp("written")
    found = {"directory": directory, "samples": [[] for _ in SAMPLES], "nested": [], "range": []}
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark)
    env.setParallelism(2).setMaxParallelism(4)

    def sink(name, make, **options):
        return make(str(directory / name), **options)

    def into(frames):
        return lambda frame, batch: frames.append((frame.schema, frame.collect()))

    for (values, _, _), frames in zip(SAMPLES, found["samples"]):
        env.fromCollection(values).forEachBatchDataFrame(into(frames))
    flights = env.fromCollection(FLIGHTS)
    flights.sinkTo(sink("parquet", fl.FileSink.forParquet))
    flights.sinkTo(sink("json", fl.FileSink.forJson))
    pairs = env.fromElements(("JFK", 7), ("LGA, NY", None))
    pairs.sinkTo(sink("csv", fl.FileSink.forCsv, header="true"))
    table = spark.createDataFrame(NESTED_ROWS, NESTED)
    env.fromDataFrame(table).sinkTo(sink("table", fl.FileSink.forParquet))
    rows = env.fromDataFrame(table).filter(lambda row: row.origin and row.origin.runways == [4, 22])
    rows.forEachBatch(lambda values, batch: found["nested"].extend(values))
    numbers = env.fromDataFrame(spark.range(100, numPartitions=3))
    numbers.forEachBatch(lambda values, batch: found["range"].extend(values))
    env.execute()
    return found


def test_the_type_of_samples_makes_columns(written):
    for (_, columns, rows), frames in zip(SAMPLES, written["samples"], strict=True):
        assert {schema.simpleString() for schema, _ in frames} == {columns}
        found = [tuple(row) for _, batch in frames for row in batch]
        assert sorted(found, key=str) == sorted(rows, key=str)


def test_a_table_comes_back_as_typed_rows(env, spark, written):
    stream = env.fromDataFrame(spark.createDataFrame(NESTED_ROWS, NESTED))
    assert str(stream.getType()) == (
        "Row<origin: Row<code: String, runways: List<Integer>>, tags: Map<String, Double>,"
        " at: Instant, there: LocalDateTime, day: Date, price: BigDecimal, tiny: Byte,"
        " real: Float, raw: Array<Byte>>"
    )
    assert stream.keyBy("origin.code").getKeyType() == fl.Types.STRING()
    [row] = written["nested"]
    assert row[:3] == (fl.Row(code="JFK", runways=[4, 22]), {"wind": 1.5}, NOON)


def test_a_static_table_of_several_partitions(written):
    assert sorted(row.id for row in written["range"]) == [*range(100)]


def test_a_stream_without_a_type_wants_a_schema(env):
    with pytest.raises(InvalidProgramError, match=r"toDataFrame: the elements are of type Pickled"):
        env.fromElements(1).map(lambda n: n).toDataFrame()


def test_parquet_by_the_type(spark, written):
    read = spark.read.parquet(str(written["directory"] / "parquet"))
    assert read.filter("delay = 7").select("origin.code").first()[0] == "JFK"


def test_a_table_goes_through_to_parquet(spark, written):
    """Rows that no function looks at stay columns from the table to the file."""
    table = spark.createDataFrame(NESTED_ROWS, NESTED)
    read = spark.read.parquet(str(written["directory"] / "table")).drop("batch")
    assert read.schema.simpleString() == table.schema.simpleString()
    assert sorted(map(str, read.collect())) == sorted(map(str, table.collect()))


def test_parquet_without_a_type_is_refused_before_the_job_starts(env, tmp_path):
    untyped = env.fromElements(1).map(lambda n: n)
    untyped.sinkTo(fl.FileSink.forParquet(str(tmp_path))).name("table")
    with pytest.raises(InvalidProgramError, match="table: the elements are of type Pickled"):
        env.execute()


def test_csv_with_a_header_by_the_type(written):
    assert lines_of(written["directory"] / "csv") == ["f0,f1", "JFK,7", '"LGA, NY",']


def test_json_by_the_type_keeps_nothing_out(written):
    _, second = map(json.loads, lines_of(written["directory"] / "json"))
    assert second["delay"] is None
    assert second["at"] == "2024-01-01T12:00:00.000Z"


def test_an_element_that_is_not_of_its_type_is_named(env, tmp_path):
    flights = env.fromCollection(FLIGHTS, fl.Types.DATACLASS(Flight))
    late = flights.map(
        lambda flight: Flight(Airport("LGA", [4.5]), *list(vars(flight).values())[1:])  # type: ignore[list-item]
    )
    late.returns(Flight).sinkTo(fl.FileSink.forParquet(str(tmp_path))).name("table")
    with pytest.raises(
        FlinkishError,
        match=r"table: the element Flight\(.*its origin.runways.element 4.5 is not of type int64",
    ):
        env.execute()
