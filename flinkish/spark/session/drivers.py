"""Chooses the driver of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.spark.session.connect_server import ConnectServer, is_remote
from flinkish.spark.session.driver import Driver
from flinkish.spark.session.this_process import ThisProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def driver_of(session: SparkSession) -> Driver:
    """The driver of ``session``."""
    return ConnectServer(session) if is_remote(session) else ThisProcess(session)
