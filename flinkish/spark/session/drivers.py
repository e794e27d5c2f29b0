"""Chooses the driver of a session, and the session of a job, a DataFrame or a savepoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.spark.session.connect_server import ConnectServer, is_remote
from flinkish.spark.session.driver import Driver
from flinkish.spark.session.quiet_logs import quiet_py4j_steps
from flinkish.spark.session.session import session_for
from flinkish.spark.session.this_process import ThisProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def driver_of(session: SparkSession) -> Driver:
    return ConnectServer(session) if is_remote(session) else ThisProcess(session)


def prepared_session(sparkSession: SparkSession | None) -> SparkSession:
    """``session_for(sparkSession)``, whose workers find the flinkish of this process, print nothing
    and keep freed memory.

    Spark has a daemon of workers for each environment that they are started with, so all code that
    starts workers gets its session here. A server of Spark Connect keeps the workers that it was
    started with, and is sent the code that they need. Raises JobExecutionError if the session's
    JVM, or its server, is gone.
    """
    quiet_py4j_steps()
    session = session_for(sparkSession)
    driver = driver_of(session)
    if driver.isGone():
        raise driver.goneError()
    driver.prepareWorkers()
    return session
