"""Fields by name: in sinks, and from tables and files; and refusals that concern names."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

import flinkish as fl
from flinkish.api.errors import (
    IllegalArgumentError,
    InvalidProgramError,
    MalformedRecordError,
    UnfitElementError,
)
from tests.branches import results_of

UTC = datetime.UTC
MIN_TIMESTAMP = -(2**63)


@pytest.fixture
def env():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


class Named(NamedTuple):
    b: int
    a: str


@dataclass
class Classed:
    b: int
    a: str
    more: int = 0


def lines(path) -> list[str]:
    files = sorted(Path(path).glob("batch=*/part-*"))
    return [line for file in files for line in file.read_text().splitlines()]


# ---------------------------------------------------------------------- by name


@pytest.mark.parametrize(
    "element",
    [
        fl.Row(b=1, a="x"),
        Named(1, "x"),
        Classed(1, "x"),
        {"more": 2, "b": 1, "a": "x"},
        fl.Row(more=2, b=1, a="x"),
        ("x", 1),
        fl.Row("x", 1),
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_elements_with_names_are_written_by_name(env, tmp_path, element, mixed):
    elements = [element, element] + [("y", 2)] * mixed
    for kind in ("forCsv", "forJson", "forParquet"):
        sink = getattr(fl.FileSink, kind)(str(tmp_path / kind), "a string, b int")
        env.fromCollection(elements).sinkTo(sink)
    env.execute()
    rest = ["y,2"] * mixed
    assert lines(tmp_path / "forCsv") == ["x,1", "x,1", *rest]
    assert lines(tmp_path / "forJson")[:2] == ['{"a":"x","b":1}'] * 2
    read = fl.FileSource.forParquet(str(tmp_path / "forParquet"), "a string, b int")
    again = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    assert [tuple(row) for row in again.fromSource(read).executeAndCollect()][:2] == [("x", 1)] * 2


def test_rows_of_a_table_that_stay_columns_are_written_by_name(env, tmp_path):
    table = pa.table({"b": [1, 2], "more": [0, 0], "a": ["x", "y"]})
    sink = fl.FileSink.forCsv(str(tmp_path), "a string, b bigint")
    env.fromDataFrame(table).sinkTo(sink)
    env.execute()
    assert lines(tmp_path) == ["x,1", "y,2"]


def test_structs_within_are_written_by_name(env, tmp_path):
    element = {"s": fl.Row(b=1, a="x"), "l": [Named(2, "y")]}
    schema = "s struct<a: string, b: int>, l array<struct<a: string, b: int>>"
    env.fromElements(element).sinkTo(fl.FileSink.forJson(str(tmp_path), schema))
    env.execute()
    assert lines(tmp_path) == ['{"s":{"a":"x","b":1},"l":[{"a":"y","b":2}]}']


@pytest.mark.parametrize(
    ("element", "schema", "says"),
    [
        (fl.Row(b=1, c="x"), "a string, b int", "it has no field 'a'"),
        ({"A": "x", "b": 1}, "a string, b int", "it has no field 'a'"),
        ({}, "a string, b int", "it has no field 'a'"),
        (Named(1, "x"), "a string, c int", "it has no field 'c'"),
        (Classed(1, "x"), "a string, c int", "it has no field 'c'"),
        ({"s": {"b": 1}}, "s struct<a: string, b: int>", "it has no field 's.a'"),
        (("x",), "a string, b int", "which has 2 fields: a, b"),
        (("x", 1, 2), "a string, b int", "which has 2 fields: a, b"),
    ],
)
def test_a_missing_field_is_an_error_that_names_element_and_column(
    env, tmp_path, element, schema, says
):
    env.fromElements(element, element).sinkTo(fl.FileSink.forJson(str(tmp_path), schema)).name(
        "out"
    )
    with pytest.raises(UnfitElementError, match=f"out: the element .*{says}"):
        env.execute()


# ---------------------------------------------------------------------- what a format cannot hold


@pytest.mark.parametrize("kind", ["array<int>", "map<string, int>", "struct<a: int>"])
def test_csv_refuses_columns_with_parts(env, tmp_path, kind):
    sink = fl.FileSink.forCsv(str(tmp_path), f"n int, parts {kind}")
    env.fromElements((1, None)).sinkTo(sink).name("out")
    with pytest.raises(InvalidProgramError, match=r"out: the column 'parts' .* CSV has no form"):
        env.execute()


@pytest.mark.parametrize("value", [(1, 2), [1], {"a": 1}, {1}, Named(1, "x"), object()])
def test_csv_names_a_field_that_it_has_no_form_for(env, tmp_path, value):
    stream = env.fromElements(1).map(lambda n: (n, value))
    stream.sinkTo(fl.FileSink.forCsv(str(tmp_path))).name("out")
    with pytest.raises(UnfitElementError, match=r"out: the field 1 is .* CSV has no form"):
        env.execute()


def test_a_null_alone_in_its_row_is_no_line_of_csv(env, tmp_path):
    env.fromElements(("a",), (None,)).sinkTo(fl.FileSink.forCsv(str(tmp_path), "a string"))
    with pytest.raises(UnfitElementError, match="has only the column 'a'"):
        env.execute()


def test_a_map_of_tuples_has_no_names_in_json(env, tmp_path):
    sink = fl.FileSink.forJson(str(tmp_path), "m map<struct<a: int>, int>")
    env.fromElements(({},)).sinkTo(sink).name("out")
    with pytest.raises(InvalidProgramError, match="out: the column 'm' has a map with keys"):
        env.execute()


def test_a_column_that_is_named_twice_is_refused(env, tmp_path):
    env.fromElements((1, 2)).sinkTo(fl.FileSink.forCsv(str(tmp_path), "a int, a int"))
    with pytest.raises(InvalidProgramError, match="the column 'a' twice"):
        env.execute()


# ---------------------------------------------------------------------- an encoder


class Framed(fl.Encoder[str]):
    """A length, and the bytes."""

    def encode(self, element, stream):
        data = element.encode()
        stream.write(len(data).to_bytes(2, "big") + data)


class Lines(fl.Encoder[str]):
    def encode(self, element, stream):
        stream.write(f"<{element}>\n".encode())


class Returning(fl.Encoder[str]):
    def encode(self, element, stream):
        return element.encode()


def texts_into(env, path, encoder):
    env.fromElements("a", "b\nc").sinkTo(fl.FileSink.forRowFormat(str(path), encoder).build())


def encoded(env, path, encoder):
    texts_into(env, path, encoder)
    env.execute()
    return written(path)


def written(path):
    [file] = Path(path).glob("batch=*/part-*")
    return file.read_bytes()


def test_an_encoder_writes_what_it_likes(env, tmp_path):
    assert encoded(env, tmp_path / "own", Framed()) == b"\0\1a\0\3b\nc"
    assert encoded(env, tmp_path / "simple", fl.SimpleStringEncoder()) == b"a\nb\nc\n"
    with pytest.raises(IllegalArgumentError, match=r"encode of Returning returned .*stream\.write"):
        encoded(env, tmp_path / "returning", Returning())


# ---------------------------------------------------------------------- headers and malformed records


def csv_rows(env, tmp_path, text, schema="a string, b int", **options):
    (tmp_path / "in.csv").write_text(text)
    source = fl.FileSource.forCsv(str(tmp_path / "in.csv"), schema, **options)
    return [tuple(row) for row in env.fromSource(source).executeAndCollect()]


@pytest.mark.parametrize(
    "text", ["a,b\nx,1\n", "b,a\n1,x\n", "B,more,A\n1,y,x\n", 'b,"a"\n1,x\n', "\ufeffb,a\n1,x\n"]
)
def test_a_header_tells_the_columns(env, tmp_path, text):
    assert csv_rows(env, tmp_path, text, header="true") == [("x", 1)]


@pytest.mark.parametrize("header", ["a,c", "a", "a,a,b", "x,y"])
def test_a_header_without_a_column_is_an_error(env, tmp_path, header):
    with pytest.raises(
        MalformedRecordError, match=f"names the columns {header.replace(',', ', ')},"
    ):
        csv_rows(env, tmp_path, f"{header}\nx,1\n", header="true")


def test_a_header_is_passed_over_where_columns_go_by_position(env, tmp_path):
    rows = csv_rows(env, tmp_path, "b,a\nx,1\n", header="true", enforceSchema="true")
    assert rows == [("x", 1)]


def test_a_line_within_a_quoted_text_is_no_record_of_its_own(env, tmp_path):
    text = 'x,1\n"begin\ny,2\nend",no\n"one\ntwo",3\n"a"b\n"never closed,4\nz,5\n'
    (tmp_path / "in.csv").write_text(text)
    tag = fl.OutputTag("bad")
    source = fl.FileSource.forCsv(str(tmp_path / "in.csv"), "a string, b int")
    rows = env.fromSource(source.withMalformedRecords(tag))
    good, bad = [], []
    rows.forEachBatch(lambda values, number: good.extend(map(tuple, values)))
    rows.getSideOutput(tag).forEachBatch(lambda values, number: bad.extend(values))
    env.execute()
    assert good == [("x", 1), ("one\ntwo", 3), ("z", 5)]
    assert [(each.line, each.text) for each in bad] == [
        (2, '"begin\ny,2\nend",no'),
        (7, '"a"b'),
        (8, '"never closed,4'),
    ]


# ---------------------------------------------------------------------- tables and their timestamps


class Timestamped(fl.ProcessFunction):
    def processElement(self, value, ctx, out=None):
        yield ctx.timestamp()


MOMENTS = [
    (pa.array([-500, 1_500, None], pa.timestamp("us", "UTC")), [-1, 1, None]),
    (pa.array([-1, -1_000_001], pa.timestamp("ns")), [-1, -2]),
    (pa.array([-7, 3], pa.timestamp("s")), [-7_000, 3_000]),
    (pa.array([-1, None], pa.date32()), [-86_400_000, None]),
    (pa.array([5, -5], pa.int32()), [5, -5]),
]


@pytest.mark.parametrize(("column", "expected"), MOMENTS)
def test_timestamps_of_a_table_are_floored(env, column, expected):
    stream = env.fromDataFrame(pa.table({"at": column}), "at")
    assert list(stream.process(Timestamped()).executeAndCollect()) == expected


@pytest.mark.parametrize(
    "column", [[1.5], ["1970"], [True], pa.array([1], pa.decimal128(9, 2)), [b"x"], [[1]]]
)
def test_a_column_that_says_no_timestamps_is_refused_at_once(env, column):
    with pytest.raises(
        InvalidProgramError, match=r"the column 'at' is of type .* Convert it before"
    ):
        env.fromDataFrame(pa.table({"at": column}), "at")


def test_a_table_of_pandas(env):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [1.5, float("nan")], "c": pandas.Categorical(["x", "y"])})
    frame.index = pandas.Index([7, 8], name="k")
    assert list(env.fromDataFrame(frame).executeAndCollect()) == [
        fl.Row(n=1.5, c="x", k=7),
        fl.Row(n=None, c="y", k=8),
    ]
    for make in (env.fromData, env.fromCollection, env.fromElements):
        with pytest.raises(InvalidProgramError, match=r"a DataFrame of pandas .*fromDataFrame"):
            make(frame)


def test_whatever_hands_over_arrow_columns_is_a_table(env):
    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"a": pa.array([1, 2], pa.uint8())}).__arrow_c_stream__()

    env.getConfig().setElementsPerBatch(1)
    assert list(env.fromDataFrame(Foreign()).executeAndCollect()) == [fl.Row(a=1), fl.Row(a=2)]
    with pytest.raises(InvalidProgramError, match="a Table of pyarrow is a table"):
        env.fromCollection(pa.table({"a": [1]}))
    with pytest.raises(InvalidProgramError, match=r"column 't' is of type time64"):
        env.fromDataFrame(pa.table({"t": pa.array([1], pa.time64("us"))}))


# ---------------------------------------------------------------------- watermarks of a source, NaN as a key


class Marked(fl.Source[int]):
    def read(self, position):
        for number in range(position or 0, 6):
            what = fl.Watermark(number * 10) if number % 2 else fl.StreamRecord(number, number * 10)
            yield what, number + 1


class Seen(fl.ProcessFunction):
    def processElement(self, value, ctx, out=None):
        yield value, ctx.timerService().currentWatermark()


@pytest.mark.parametrize("perBatch", [None, 1, 2])
def test_a_watermark_of_a_source_is_one(env, perBatch):
    if perBatch:
        env.getConfig().setElementsPerBatch(perBatch)
    stream = env.fromSource(Marked()).keyBy(lambda n: 0)
    timers = stream.process(KeyedSeen()).executeAndCollect()
    assert list(timers) == [(0, MIN_TIMESTAMP), (2, 10), (4, 30)]


class KeyedSeen(fl.KeyedProcessFunction):
    def processElement(self, value, ctx, out=None):
        yield value, ctx.timerService().currentWatermark()


def test_a_strategy_ignores_the_watermarks_of_a_source(env):
    strategy = fl.WatermarkStrategy.forMonotonousTimestamps()
    env.getConfig().setElementsPerBatch(1)
    stream = env.fromSource(Marked(), strategy).keyBy(lambda n: 0)
    seen = dict(stream.process(KeyedSeen()).executeAndCollect())
    assert seen[2] == -1


class Putting(fl.KeyedProcessFunction):
    def __init__(self, key):
        self.key = key

    def open(self, context):
        self.map = self.getRuntimeContext().getMapState(fl.MapStateDescriptor("seen"))

    def processElement(self, value, ctx, out=None):
        self.map.put(self.key, value)
        yield len(list(self.map.keys()))


NAN = float("nan")


@pytest.mark.parametrize(
    "key", [NAN, (1, NAN), ((NAN,), "x"), frozenset([NAN]), fl.Row(a=NAN)], ids=str
)
def test_nan_is_no_key_of_a_map(env, key):
    stream = env.fromElements(1, 2).keyBy(lambda n: 0).process(Putting(key))
    with pytest.raises(fl.FlinkishError, match="the map state 'seen' cannot have the key"):
        list(stream.executeAndCollect())


@pytest.mark.parametrize("key", [None, (None, 1), float("inf"), "nan", -0.0])
def test_other_keys_of_a_map_are_found_again(env, key):
    stream = env.fromElements(1, 2).keyBy(lambda n: 0).process(Putting(key))
    assert list(stream.executeAndCollect()) == [1, 1]


# ---------------------------------------------------------------------- on Spark


def test_encoders_tables_and_watermarks_on_spark(spark, tmp_path):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(1)
    env.getConfig().setElementsPerBatch(2)
    texts_into(env, tmp_path / "own", Framed())
    days = fl.FileSink.forRowFormat(str(tmp_path / "days"), Lines())
    env.fromElements("a", "b").sinkTo(
        days.withBucketAssigner(fl.DateTimeBucketAssigner("yyyy")).build()
    )
    table = pa.table({"at": MOMENTS[0][0], "n": [1, 2, 3]})
    before = spark.sql("SELECT timestamp_micros(-500) AS at, DATE'1969-12-31' AS day, 1.5D AS d")
    with pytest.raises(InvalidProgramError, match="the column 'd' is of type double"):
        env.fromDataFrame(before, "d")
    seen = results_of(
        env,
        {
            "table": lambda env: env.fromDataFrame(table, "at").process(Timestamped()),
            "at": lambda env: env.fromDataFrame(before, "at").process(Timestamped()),
            "day": lambda env: env.fromDataFrame(before, "day").process(Timestamped()),
            "watermarks": lambda env: (
                env.fromSource(Marked()).keyBy(lambda n: 0).process(KeyedSeen())
            ),
        },
    )
    assert written(tmp_path / "own") == b"\0\1a\0\3b\nc"
    files = (tmp_path / "days").glob("batch=*/bucket=*/part-*")
    assert sorted(b"".join(file.read_bytes() for file in files).split()) == [b"<a>", b"<b>"]
    assert sorted(seen["table"], key=str) == sorted(MOMENTS[0][1], key=str)
    assert (seen["at"], seen["day"]) == ([-1], [-86_400_000])
    assert seen["watermarks"] == [(0, MIN_TIMESTAMP), (2, 10), (4, 30)]
