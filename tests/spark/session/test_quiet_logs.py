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


def test_settings_for_the_logs_are_the_users_where_the_jvm_has_some(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    assert not quiet_logs.logging_is_set(None)
    assert not quiet_logs.logging_is_set("-Xss4m")
    assert quiet_logs.logging_is_set(
        f"-Xss4m -Dlog4j2.configurationFile={quiet_logs.LOGGING.as_uri()}"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "log4j2.properties.template").write_text("")
    assert not quiet_logs.logging_is_set(None)
    (tmp_path / "log4j2.properties").write_text("")
    assert quiet_logs.logging_is_set(None)
