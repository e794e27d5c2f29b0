"""A table is no collection of elements: what streams elements refuses it, and says what takes its rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

import flinkish as fl

TABLE = pa.table({"user": ["ada"], "clicks": [3]})


@pytest.mark.parametrize("kind", ["pyarrow", "pandas"])
@pytest.mark.parametrize("method", ["fromData", "fromCollection", "fromElements"])
def test_a_table_is_refused_with_the_method_that_takes_it(method, kind):
    table = TABLE if kind == "pyarrow" else TABLE.to_pandas()
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment().setLocalExecution()
    with pytest.raises(
        fl.InvalidProgramError, match=rf"{method}: .* of {kind} is a table, and not"
    ):
        getattr(env, method)(table)
    assert env.fromDataFrame(table).executeAndCollect(1) == [fl.Row(user="ada", clicks=3)]
