"""A map that returns nothing but None is named once."""

from __future__ import annotations

import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flinkish as fl


def forgets(n):
    n + 1


def notes(n) -> None:
    """Its results mean nothing."""


class Forgets(fl.MapFunction):
    def map(self, value):
        value.upper()


ENDS = "has returned None for each of its {} elements. Did the function forget return?"


def warnings_of(caplog, build, source):
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    env.setParallelism(2).getConfig().setElementsPerBatch(50)
    with caplog.at_level(logging.WARNING, "flinkish"):
        build(source(env))
        env.execute()
    found = [r.getMessage() for r in caplog.records if "returned None" in r.getMessage()]
    caplog.clear()
    return found


def numbers(env):
    return env.fromCollection(range(300))


def few(env):
    return env.fromCollection([1, 2, 3])


def kept(stream):
    stream.forEachBatch(lambda values, batch: None)


def test_it_is_named_with_its_operator_once(caplog):
    def build(stream):
        kept(stream.map(forgets).name("Plus one").map(lambda n: (n, 1)))
        kept(stream.map(str).map(Forgets()).name("Upper"))
        kept(stream.keyBy(lambda n: 1).map(lambda n: None).name("In keys"))

    def said(count):
        lambda_, plus_one, upper = sorted(warnings_of(caplog, build, few if count < 9 else numbers))
        assert lambda_.startswith("In keys: the lambda in ")
        assert plus_one.startswith("Plus one: forgets in ")
        assert upper.startswith("Upper: Forgets.map in ")
        assert all(text.endswith(ENDS.format(count)) for text in (lambda_, plus_one, upper))

    said(100)
    said(3)


@pytest.mark.takes_columns("ColumnFunction")
def test_results_over_columns_are_seen_too(caplog, tmp_path):
    table = pa.table({"n": [1, 2], "note": pa.array([None, None], pa.string())})
    pq.write_table(table, tmp_path / "notes.parquet")

    def build(stream):
        kept(stream.map(lambda row: row.note).name("Notes"))
        kept(stream.map(lambda row: (row.n, row.note)))

    source = fl.FileSource.forParquet(str(tmp_path), "n BIGINT, note STRING")
    (said,) = warnings_of(caplog, build, lambda env: env.fromSource(source))
    assert said.startswith("Notes: the lambda in ")
    assert said.endswith(ENDS.format(2))


def test_a_result_that_is_not_none_or_means_nothing_is_no_reason(caplog):
    def build(stream):
        kept(stream.map(lambda n: None if n < 60 else n))
        kept(stream.map(notes))
        kept(stream.filter(lambda n: False).map(forgets))
        stream.map(forgets).sinkTo(fl.DiscardingSink())

    assert warnings_of(caplog, build, numbers) == []
