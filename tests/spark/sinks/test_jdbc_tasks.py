"""``JdbcSink`` from the workers, into a real PostgreSQL: batches that come again, kills, connections."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import flinkish as fl
from flinkish.api.errors import FlinkishError, UserFunctionError
from tests.databases import Server, Tables, postgresql_server
from tests.spark.waiting import wait_for

INSERT = "INSERT INTO {} VALUES (?, ?, pg_backend_pid(), txid_current())"


@pytest.fixture(scope="module")
def postgresql() -> Iterator[Server]:
    with postgresql_server() as server:
        yield server


@pytest.fixture
def tables(postgresql: Server) -> Tables:
    tables = Tables(*postgresql)
    for name in ("written", "latest", "single"):
        tables.run(f"DROP TABLE IF EXISTS {name}")
        tables.run(
            f"CREATE TABLE {name} (n BIGINT, process BIGINT, connection INT, transaction BIGINT)"
        )
    return tables


def number(statement: fl.PreparedStatement, n: int) -> None:
    statement.setLong(1, n)
    statement.setInt(2, os.getpid())


def sink_of(
    tables: Tables, build: Callable[..., None] = number, table: str = "written"
) -> fl.JdbcSink[int]:
    builder = fl.JdbcSink.builder().withQueryStatement(INSERT.format(table), build)
    return builder.buildExactlyOnce(tables.options)


def numbers_in(env: Any, tmp_path: Path) -> Any:
    """0 to 39 in two batches."""
    env.enableCheckpointing(str(tmp_path / "checkpoint")).getConfig().setElementsPerBatch(20)
    env.setParallelism(2).setMaxParallelism(8)
    return env.fromCollection(range(40)).uid("numbers")


def written(tables: Tables, what: str = "n", table: str = "written") -> list[Any]:
    return sorted(value for (value,) in tables.run(f"SELECT {what} FROM {table}"))


@pytest.mark.rotating("the next test has a batch that comes again, too")
@pytest.mark.slow("two runs of a job, one of which loses a worker")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_batch_half_written_by_a_killed_worker_is_finished_by_other_tasks(
    env: Any, tables: Tables, tmp_path: Path, elsewhere: bool
) -> None:
    """Where it was, or before the job begins in another directory, with other batches and parallelism."""
    killed = tmp_path / "killed"

    def dies_once(statement: fl.PreparedStatement, n: int) -> None:
        number(statement, n)
        if n == 39 and not killed.exists():
            # When the other task has committed what it has of the second batch
            wait_for(lambda: tables.run("SELECT n FROM written WHERE n >= 20"))
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def job(environment: Any, tasks: int, elsewhere: bool = False) -> None:
        numbers = numbers_in(environment, tmp_path)
        if elsewhere:
            environment.setSavepoint(str(tmp_path / "checkpoint")).setParallelism(3)
            environment.enableCheckpointing(str(tmp_path / "elsewhere"))
            environment.getConfig().setElementsPerBatch(7)
        keyed = numbers.keyBy(lambda n: n % 8).reduce(lambda a, b: b).uid("last")
        keyed.sinkTo(sink_of(tables, dies_once)).uid("database").setParallelism(tasks)
        environment.execute()

    with pytest.raises(FlinkishError):
        job(env, 2)
    before = written(tables)
    assert 20 < len(before) < 40
    job(fl.StreamExecutionEnvironment.getExecutionEnvironment(env._sparkSession), 1, elsewhere)
    assert written(tables) == list(range(40))


def test_what_comes_straight_from_a_source_is_written_once_by_one_task(
    env: Any, tables: Tables, tmp_path: Path
) -> None:
    """And what comes from elsewhere by as many as the sink has: each has a connection."""
    broken = [True]

    def fail(values: list[int], batch: int) -> None:
        if batch == 1 and broken:
            raise OSError("disk full")

    def job(environment: Any) -> None:
        numbers = numbers_in(environment, tmp_path)
        numbers.sinkTo(sink_of(tables)).uid("database")
        latest = numbers.keyBy(lambda n: n % 8).reduce(lambda a, b: b).uid("last")
        latest.sinkTo(sink_of(tables, table="latest")).uid("by two tasks").setParallelism(2)
        latest.sinkTo(sink_of(tables, table="single")).uid("by one task").setParallelism(1)
        numbers.forEachBatch(fail).uid("after the database")
        environment.execute()

    with pytest.raises(UserFunctionError, match="disk full"):
        job(env)
    assert written(tables) == list(range(40))
    broken.clear()
    job(fl.StreamExecutionEnvironment.getExecutionEnvironment(env._sparkSession))
    assert written(tables) == list(range(40))
    # A transaction for each batch, none of them the driver's
    assert len(set(written(tables, "transaction"))) == 2
    assert os.getpid() not in written(tables, "process")
    assert written(tables, table="latest") == list(range(40))
    assert len(set(written(tables, "transaction", "latest"))) == 2 * 2
    assert written(tables, table="single") == list(range(40))
    assert len(set(written(tables, "transaction", "single"))) == 2
    assert tables.run(
        "SELECT count(*) FROM pg_stat_activity WHERE query ~ 'written|latest|single'"
    ) == [(1,)]
