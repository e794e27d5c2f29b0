"""Makes a savepoint of a table, or reads it, as the first thing that a session on a cluster does.

    python tests/cluster/accounts_job.py make|read DIRECTORY MASTER

writes DIRECTORY/savepoint, or DIRECTORY/accounts.json with what is in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import flinkish as fl
from tests.cluster.clicks_job import session

BALANCE = fl.ValueStateDescriptor("balance", fl.Types.LONG())


class Opening(fl.KeyedStateBootstrapFunction):
    """Keeps what an account had."""

    def open(self, openContext):
        self.balance = self.getRuntimeContext().getState(BALANCE)

    def processElement(self, value, ctx):
        self.balance.update((self.balance.value() or 0) + value.amount)
        ctx.timerService().registerEventTimeTimer(1_000 + value.amount)


def make(spark, directory):
    table = spark.createDataFrame(
        [("ada", 100), ("bob", 50), ("ada", -30)], "name string, amount bigint"
    )
    accounts = fl.OperatorTransformation.bootstrapWith(table).keyBy(lambda row: row.name)
    env = fl.StreamExecutionEnvironment.getExecutionEnvironment(spark).setParallelism(2)
    writer = fl.SavepointWriter.newSavepoint(env, 8)
    writer.withOperator("accounts", accounts.transform(Opening())).write(f"{directory}/savepoint")


def read(spark, directory):
    reader = fl.SavepointReader.read(spark, f"{directory}/savepoint")
    balances = reader.readKeyedState("accounts", BALANCE, keyType=str).collect()
    timers = reader.readTimers("accounts", keyType=str).collect()
    answers = {
        "balances": sorted([row.key, row.value] for row in balances),
        "timers": sorted([row.key, row.timestamp] for row in timers),
    }
    (directory / "accounts.json").write_text(json.dumps(answers))


def main(step, directory, master):
    {"make": make, "read": read}[step](session(master), Path(directory))


if __name__ == "__main__":
    main(*sys.argv[1:])
