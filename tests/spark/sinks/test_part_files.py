"""Files that tasks write have what Spark's writer would write, batch by batch, and nothing beside it."""

from __future__ import annotations

import datetime
import math
import random

import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from flinkish.api.types.table_schema import table_schema
from flinkish.deployment.sink_columns import part_files
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.formats.arrow_types import arrow_schema
from flinkish.runtime.formats.csv_lines import csv_column, csv_fits
from flinkish.runtime.records.columns import ElementColumns
from tests.spark.test_connectors import lines_of

SCHEMA = "id long, text string, small byte, whole int, on boolean, price double, day date"
LETTERS = ["a", "b", '"', "\\", ",", "\n", "\r", " ", "\t", "#", "\0", "é", "\u3000", "\x85", "😀"]


def random_row(number, random):
    def sometimes(make):
        return None if random.random() < 0.1 else make()

    return (
        number,
        sometimes(lambda: "".join(random.choices(LETTERS, k=random.randint(0, 5)))),
        sometimes(lambda: random.randint(-128, 127)),
        sometimes(lambda: random.randint(-(2**31), 2**31 - 1)),
        sometimes(lambda: random.random() < 0.5),
        sometimes(
            lambda: random.choice([0.0, -0.0, 1.5, 1e-3, 1e7, math.inf, -math.inf, math.nan])
        ),
        sometimes(
            lambda: datetime.date(1, 1, 1) + datetime.timedelta(random.randint(0, 3_650_000))
        ),
    )


def columns_of(rows, schema):
    columns = ElementColumns("sink", arrow_schema(table_schema(schema))).of(rows)
    assert csv_fits(columns.schema)
    return columns.batch


def sparks_text(spark, rows, schema, path):
    spark.createDataFrame(rows, schema).coalesce(1).write.csv(str(path))
    (file,) = path.glob("part-*")
    return file.read_bytes().decode()


def test_lines_of_csv_are_those_of_sparks_writer(spark, tmp_path):
    chance = random.Random(7)
    rows = [random_row(number, chance) for number in range(5_000)]
    ours = "\n".join(csv_column(columns_of(rows, SCHEMA)).to_pylist()) + "\n"
    assert ours == sparks_text(spark, rows, SCHEMA, tmp_path / "spark")


def test_a_row_of_nothing_is_a_line_too(spark, tmp_path):
    """Spark's writer drops a row whose only column is null."""
    rows = [(text,) for text in ("a", None, "", " ", "b,c")]
    ours = csv_column(columns_of(rows, "text string")).to_pylist()
    assert ours == ["a", '""', '""', '""', '"b,c"']
    del ours[1]
    assert "\n".join([*ours, ""]) == sparks_text(spark, rows, "text string", tmp_path / "spark")


def test_numbers_with_a_fraction_are_read_back_as_they_were(spark, tmp_path):
    """Which of two texts of a number is the shortest, Java 17 does not always see."""
    chance = random.Random(7)
    rows = [(chance.uniform(-1, 1) * 10 ** chance.randint(-300, 300),) for _ in range(5_000)]
    (tmp_path / "ours").write_text("\n".join(csv_column(columns_of(rows, "d double")).to_pylist()))
    read = spark.read.schema("d double").csv(str(tmp_path / "ours"))
    assert [row[0] for row in read.collect()] == [row[0] for row in rows]


SINKS = {
    "text": (fl.FileSink.forText, True),
    "lines of json": (lambda path: fl.FileSink.forJson(path), True),
    "columns of csv": (lambda path: fl.FileSink.forCsv(path, "n long"), True),
    "a header": (lambda path: fl.FileSink.forCsv(path, "n long", header="true"), False),
    "columns of parquet": (lambda path: fl.FileSink.forParquet(path, "n long"), False),
    "times": (lambda path: fl.FileSink.forCsv(path, "n timestamp"), False),
}


@pytest.mark.parametrize("name", SINKS)
def test_which_sinks_the_tasks_write(name, tmp_path):
    make, expected = SINKS[name]
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
    env.fromData({"n": 1}, {"n": 2}).sinkTo(make(str(tmp_path)))
    (sink,) = [node for node in StreamGraph.of(env.getTransformations()) if node.isSink]
    assert (part_files(sink, str(tmp_path), "UTC") is not None) is expected


def test_a_batch_has_a_file_a_task_and_leaves_nothing_else(env, tmp_path):
    env.getConfig().setElementsPerBatch(100)
    sums = env.fromCollection(range(300)).keyBy(lambda n: n % 50).reduce(lambda a, b: a + b)
    sums.map(str).sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    env.execute()
    found = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*"))
    assert found == [
        each
        for batch in range(3)
        for each in (f"batch={batch}", *(f"batch={batch}/part-0000{part}.txt" for part in (0, 1)))
    ]
    running = [sum(range(n % 50, n + 1, 50)) for n in range(300)]
    assert sorted(map(int, lines_of(tmp_path / "out"))) == sorted(running)


def test_a_batch_without_results_has_no_directory(env, tmp_path):
    env.getConfig().setElementsPerBatch(2)
    few = env.fromCollection(range(6)).filter(lambda n: n == 3)
    few.sinkTo(fl.FileSink.forText(str(tmp_path)))
    env.execute()
    assert [path.name for path in tmp_path.iterdir()] == ["batch=1"]


def test_a_task_that_fails_behind_its_file_leaves_nothing(env, tmp_path):
    numbers = env.fromCollection(range(10))
    numbers.sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    numbers.keyBy(lambda n: n % 2).map(lambda n: 1 // (n - 9)).print()
    with pytest.raises(UserFunctionError):
        env.execute()
    assert list((tmp_path / "out").glob("*")) == []
