"""Looking at a stream while it is built: previews, tables, and prints that stay in their cell."""

from __future__ import annotations

import contextvars
import logging
import sys

import pytest

import flinkish as fl


def test_a_preview_of_a_bounded_stream_has_all_of_it(env):
    pairs = env.fromCollection([("a", 1), ("b", 2)]).map(lambda e: (e[0], e[1] * 2))
    shown = pairs.preview()
    assert sorted(shown) == [("a", 2), ("b", 4)]
    assert shown.isComplete


@pytest.fixture
def local():
    return fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()


def test_a_table_has_as_many_elements_as_are_asked_for(local, capsys):
    local.fromCollection([("a", 1), ("b", 2)]).display(1)
    assert "the first 1 element" in capsys.readouterr().out


def test_a_preview_of_an_unbounded_stream_ends_with_its_elements_or_its_time(env):
    numbers = env.fromSource(fl.DataGeneratorSource(lambda n: n, elementsPerSecond=100))
    first = numbers.preview(3)
    assert (first, first.isComplete) == ([0, 1, 2], False)
    silent = numbers.filter(lambda n: n < 0).preview(3, seconds=0.5)
    assert (silent, silent.isComplete) == ([], False)
    for mistake in ({"n": 0}, {"seconds": 0}):
        with pytest.raises(fl.FlinkishError, match="preview"):
            numbers.preview(**mistake)


def test_looking_is_no_part_of_the_job_that_is_built(env, tmp_path):
    seen = []
    env.enableCheckpointing(str(tmp_path / "checkpoint"))
    doubled = env.fromCollection([1, 2, 3]).map(lambda n: n * 2)
    doubled.forEachBatch(lambda values, batch: seen.extend(values))
    assert doubled.collectAsArrow().to_pydict() == {"value": [2, 4, 6]}
    assert seen == []
    assert not (tmp_path / "checkpoint").exists()
    env.execute()
    assert seen == [2, 4, 6]


def users(env):
    return env.fromCollection([("ada", 3), ("bob", 4)]).map(
        lambda e: fl.Row(user=e[0], clicks=e[1]),
        fl.Types.ROW_NAMED(["user", "clicks"], [fl.Types.STRING(), fl.Types.LONG()]),
    )


def test_results_as_pandas_have_the_columns_of_the_type(env):
    frame = users(env).collectAsPandas()
    assert list(frame.columns) == ["user", "clicks"]
    assert frame.sort_values("user").values.tolist() == [["ada", 3], ["bob", 4]]


def test_no_results_as_pandas_have_the_columns_too_and_there_may_be_a_limit(local):
    rows = users(local)
    none = rows.filter(lambda row: False).collectAsPandas()
    assert (list(none.columns), len(none)) == (["user", "clicks"], 0)
    assert len(rows.collectAsPandas(limit=1)) == 1


cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell", default="none")


def test_what_is_printed_is_printed_in_the_cell_that_asked_for_it(env, monkeypatch):
    written = []

    class Cells:
        def write(self, text):
            written.append((cell.get(), text))

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stdout", Cells())
    numbers = env.fromCollection([1, 2])
    for name in ("first", "second"):
        context = contextvars.copy_context()
        context.run(cell.set, name)
        context.run(numbers.print, name)
    env.execute()
    assert sorted(written) == [
        ("first", "first> 1\nfirst> 2\n"),
        ("second", "second> 1\nsecond> 2\n"),
    ]


def test_what_functions_log_in_workers_is_in_the_drivers_log(env, caplog):
    def noted(value):
        logging.getLogger("myjob").warning("saw %s", value)
        return value

    numbers = env.fromCollection([1, 2]).map(noted).name("noting").keyBy(lambda n: n).reduce(max)
    numbers.forEachBatch(lambda values, batch: None)
    env.execute()
    said = [(r.name, r.levelname, r.getMessage()) for r in caplog.records if r.name == "myjob"]
    assert sorted(said) == [
        ("myjob", "WARNING", "[noting] saw 1"),
        ("myjob", "WARNING", "[noting] saw 2"),
    ]
