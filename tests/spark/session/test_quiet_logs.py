"""Spark's loggers are quiet while jobs run, and have their levels again afterwards."""

from __future__ import annotations

import logging
from threading import Event

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
    """INFO is what pyspark has by default, behind a filter that a user's level would pass."""
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


def test_bars_of_stages_are_held_back_until_the_last_job_has_ended(spark, monkeypatch):
    monkeypatch.setattr(quiet_logs, "_AFTERWARDS_SECONDS", 0.1)
    held = []

    def without_bars():
        held.append(Event())
        return held[-1]

    monkeypatch.setattr(quiet_logs, "_without_bars", without_bars)
    loggers = QuietLoggers()
    for _ in range(2):
        loggers.begin(spark)
        loggers.begin(spark)
        loggers.end(spark)
        assert not held[-1].is_set()
        loggers.end(spark)
        assert held[-1].wait(30)
    assert len(held) == 2


def test_py4j_logs_no_steps_unless_the_program_has_set_a_level(monkeypatch):
    logger = logging.getLogger("py4j")
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    quiet_logs.quiet_py4j_steps()
    assert logger.level == logging.WARNING
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    quiet_logs.quiet_py4j_steps()
    assert logger.level == logging.DEBUG


def test_where_sql_has_no_such_function_nothing_changes(spark, monkeypatch):
    monkeypatch.setattr(quiet_logs, "_MANAGER", "'no.such.Class', 'method'")
    loggers = QuietLoggers()
    loggers.begin(spark)
    loggers.end(spark)
    assert loggers._before == {}


def test_a_session_of_our_own_has_the_same_loggers_off():
    lines = quiet_logs.LOGGING.read_text().splitlines()
    named = {
        line.removesuffix(f".name = {name}")
        for name in quiet_logs._LOGGERS
        for line in lines
        if line.endswith(f".name = {name}")
    }
    assert len(named) == len(quiet_logs._LOGGERS)
    assert {f"{logger}.level = off" for logger in named} <= set(lines)


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
