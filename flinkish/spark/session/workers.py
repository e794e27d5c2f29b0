"""The session that a job, a DataFrame or a savepoint is made in, ready to start Python workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.spark.connect.server import is_remote
from flinkish.spark.session.artifacts import send_code
from flinkish.spark.session.package_archive import give_package
from flinkish.spark.session.quiet_logs import quiet_py4j_steps
from flinkish.spark.session.session import jvm_gone_error, jvm_is_gone, session_for
from flinkish.spark.session.worker_memory import set_worker_memory
from flinkish.spark.session.worker_python import set_worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prepared_session(sparkSession: SparkSession | None) -> SparkSession:
    """``session_for(sparkSession)``, whose workers find the flinkish of this process, print nothing and keep
    memory.

    Spark has a daemon of workers for each environment that they are started with, so whatever starts workers has
    its session from here. A server of Spark Connect has its workers as it was started, and gets the code that they
    need. Raises JobExecutionError if the session's JVM, or its server, is gone.
    """
    quiet_py4j_steps()
    session = session_for(sparkSession)
    if jvm_is_gone(session):
        raise jvm_gone_error(session)
    if is_remote(session):
        send_code(session)
        return session
    set_worker_python(session)
    set_worker_memory()
    give_package(session)
    return session
