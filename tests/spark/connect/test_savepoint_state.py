"""SavepointReader and SavepointWriter over Spark Connect: state is made of a DataFrame at the server, read as
DataFrames, changed, and gone on from."""

from __future__ import annotations

import pytest

import flinkish as fl
from tests.spark.test_savepoint_state import (
    EXPECTED,
    PRICES,
    TOTAL,
    Bootstrap,
    MakeRules,
    Read,
    larger,
    run_totals,
)

pytestmark = [
    pytest.mark.connect,
    pytest.mark.slow("a server writes two savepoints, and runs a job from one"),
]


def test_state_is_written_read_changed_and_gone_on_from(env, remote, there):
    table = remote.createDataFrame([*PRICES, ("a", 1)], "name string, price bigint")
    data = fl.OperatorTransformation.bootstrapWith(table)
    timed = data.assignTimestamps(lambda row, at: row.price).keyBy(lambda row: row.name)
    writer = fl.SavepointWriter.newSavepoint(env, 8)
    writer.withOperator("totals", data.keyBy(lambda row: row.name).transform(Bootstrap()))
    writer.withOperator("largest", timed.window(fl.TumblingEventTimeWindows.of(100)).reduce(larger))
    writer.withOperator("rules", data.transform(MakeRules())).write(f"{there}/written")

    reader = fl.SavepointReader.read(remote, f"{there}/written")
    totals = reader.readKeyedState("totals", TOTAL, keyType=str)
    assert totals.dtypes == [("key", "string"), ("value", "bigint")]
    assert {tuple(row) for row in totals.collect()} == {("a", 11), ("b", 20), ("c", 30)}
    read = reader.readKeyedState("totals", Read(), outputType=tuple[str, int, list[int]])
    assert sorted(map(tuple, read.collect()))[0] == ("a", 11, [101, 110])
    windows = reader.readWindowState("largest", larger, None, str)
    assert {(row.key, row.end) for row in windows.collect()} == {(name, 100) for name, _ in PRICES}
    assert (
        dict(map(tuple, reader.readBroadcastState("rules", MakeRules.RULES).collect()))["b"] == 20
    )
    with pytest.raises(fl.IllegalArgumentError, match="no operator 'nobody'"):
        reader.readTimers("nobody")

    changed = fl.SavepointWriter.fromExistingSavepoint(remote, f"{there}/written")
    changed.changeOperatorIdentifier("largest", "most").removeOperator("rules")
    changed.write(f"{there}/changed")
    env.setSavepoint(f"{there}/changed", True)
    assert run_totals(env) == EXPECTED


def test_a_directory_that_is_not_empty_is_refused(env, remote, there):
    (there / "full").mkdir()
    (there / "full" / "file").touch()
    data = fl.OperatorTransformation.bootstrapWith(remote.createDataFrame([(1,)], "n bigint"))
    made = data.keyBy(lambda row: row.n).transform(MakeNothing())
    writer = fl.SavepointWriter.newSavepoint(env, 8).withOperator("totals", made)
    with pytest.raises(fl.CheckpointStorageError, match="is not empty"):
        writer.write(f"{there}/full")


class MakeNothing(fl.KeyedStateBootstrapFunction):
    def processElement(self, value, ctx):
        pass
