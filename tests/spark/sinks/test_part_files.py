"""Files that tasks write have what Spark's writer would write, batch by batch, and nothing beside it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import flinkish as fl
from flinkish.api.errors import UserFunctionError
from flinkish.deployment.sink_columns import part_files
from flinkish.graph.stream_graph import StreamGraph
from flinkish.runtime.records.rows import RowColumns
from flinkish.runtime.sinks.lines import LineWriter
from tests.spark.test_connectors import lines_of


def test_spark_and_pandas_read_lines_of_csv(spark, tmp_path):
    """Spark with the options of RFC 4180, as the docs have them."""
    chance = random.Random(0)
    letters = ["a", "b", '"', "\\", ",", "\n", "\r", " ", "\t", "#", "é", "\u3000", "\x85", "😀"]
    texts = [
        None if chance.random() < 0.1 else "".join(chance.choices(letters, k=chance.randint(1, 5)))
        for _ in range(1000)
    ]
    numbers = [chance.uniform(-1, 1) * 10 ** chance.randint(-300, 300) for _ in texts]
    batch = pa.RecordBatch.from_pydict({"text": texts, "d": numbers})
    (tmp_path / "ours").write_bytes(
        LineWriter("sink", "csv", ("text", "d")).content(RowColumns(batch))
    )
    reader = spark.read.schema("text string, d double").option("escape", '"')
    read = reader.option("multiLine", "true").option("lineSep", "\n").csv(str(tmp_path / "ours"))
    assert [tuple(row) for row in read.collect()] == list(zip(texts, numbers))
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(
        tmp_path / "ours", names=["text", "d"], lineterminator="\n", float_precision="round_trip"
    )
    assert [None if text != text else text for text in frame["text"]] == texts
    assert frame["d"].tolist() == numbers


SINKS = {
    "text": (fl.FileSink.forText, True),
    "lines of json": (lambda path: fl.FileSink.forJson(path), True),
    "columns of csv": (lambda path: fl.FileSink.forCsv(path, "n long"), True),
    "a header": (lambda path: fl.FileSink.forCsv(path, "n long", header="true"), True),
    "options of Spark's": (
        lambda path: fl.FileSink.forCsv(path, "n long", compression="gzip"),
        False,
    ),
    "columns of parquet": (lambda path: fl.FileSink.forParquet(path, "n long"), True),
    "parquet with options": (
        lambda path: fl.FileSink.forParquet(path, "n long", compression="gzip"),
        False,
    ),
    "intervals of parquet": (
        lambda path: fl.FileSink.forParquet(path, "n array<interval day to second>"),
        False,
    ),
    "tabs": (lambda path: fl.FileSink.forCsv(path, "n long", sep="\\t"), True),
}


def test_which_sinks_the_tasks_write(tmp_path):
    for name, (make, expected) in SINKS.items():
        env = fl.StreamExecutionEnvironment.getExecutionEnvironment()
        env.fromData({"n": 1}, {"n": 2}).sinkTo(make(str(tmp_path)))
        (sink,) = [node for node in StreamGraph.of(env.getTransformations()) if node.isSink]
        assert (part_files(sink, str(tmp_path), "UTC") is not None) is expected, name


def test_a_batch_has_a_file_a_task_and_leaves_nothing_else(env, tmp_path):
    """And no directory if it has no results."""
    env.getConfig().setElementsPerBatch(100)
    numbers = env.fromCollection(range(300))
    sums = numbers.keyBy(lambda n: n % 50).reduce(lambda a, b: a + b)
    sums.map(str).sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    numbers.filter(lambda n: n == 150).sinkTo(fl.FileSink.forText(str(tmp_path / "few")))
    env.execute()
    found = sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*"))
    assert found == [
        each
        for batch in range(3)
        for each in (f"batch={batch}", *(f"batch={batch}/part-0000{part}.txt" for part in (0, 1)))
    ]
    running = [sum(range(n % 50, n + 1, 50)) for n in range(300)]
    assert sorted(map(int, lines_of(tmp_path / "out"))) == sorted(running)
    assert [path.name for path in (tmp_path / "few").iterdir()] == ["batch=1"]


def test_a_task_that_fails_behind_its_file_leaves_nothing(env, tmp_path):
    numbers = env.fromCollection(range(10))
    numbers.sinkTo(fl.FileSink.forText(str(tmp_path / "out")))
    numbers.keyBy(lambda n: n % 2).map(lambda n: 1 // (n - 9)).print()
    with pytest.raises(UserFunctionError):
        env.execute()
    assert list((tmp_path / "out").glob("*")) == []
