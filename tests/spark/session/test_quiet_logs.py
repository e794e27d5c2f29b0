"""Spark's loggers are quiet while jobs run, and have their levels again afterwards."""

from __future__ import annotations

import pytest

from flinkish.spark.session import quiet_logs
from flinkish.spark.session.quiet_logs import QuietLoggers
from tests.spark.waiting import wait_for

LOGGER = "org.apache.spark.scheduler"


@pytest.fixture
def level(spark):
    """Asks for the level of a logger, and sets it."""

    def ask(chosen=None):
        calls = [f"reflect({quiet_logs._MANAGER}, '{LOGGER}')"]
        if chosen:
            calls.insert(0, f"reflect({quiet_logs._CONFIGURATOR}, '{LOGGER}', '{chosen}')")
        said = spark.sql(f"SELECT {', '.join(calls)} FROM VALUES (1)").collect()[0]
        return said[-1].rpartition(":")[2].partition(" ")[0]

    before = ask()
    yield ask
    ask(before)


@pytest.mark.parametrize(("was", "afterwards"), [("FATAL", "FATAL"), ("INFO", "WARN")])
def test_they_are_quiet_until_the_last_of_several_jobs_has_ended(
    spark, level, monkeypatch, was, afterwards
):
    """INFO is what pyspark has by default, behind a filter that a level of one's own would pass."""
    monkeypatch.setattr(quiet_logs, "_AFTERWARDS_SECONDS", 0.1)
    level(was)
    loggers = QuietLoggers()
    loggers.begin(spark)
    loggers.begin(spark.newSession())
    assert level() == "OFF"
    loggers.end(spark)
    assert level() == "OFF"
    loggers.end(spark)
    wait_for(lambda: level() != "OFF", 30)
    assert level() == afterwards


def test_where_sql_has_no_such_function_nothing_changes(spark, monkeypatch):
    monkeypatch.setattr(quiet_logs, "_MANAGER", "'no.such.Class', 'method'")
    loggers = QuietLoggers()
    loggers.begin(spark)
    loggers.end(spark)
    assert loggers._before == {}
