"""What every use of a session needs of its Python workers before it starts the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flinkish.spark.session.package_archive import give_package
from flinkish.spark.session.worker_memory import set_worker_memory
from flinkish.spark.session.worker_python import set_quiet_worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prepare_workers(session: SparkSession) -> None:
    """Let the workers of ``session`` find the flinkish of this process, print nothing and keep memory.

    Spark has a daemon of workers for each environment that they are started with, so whoever starts workers calls
    this first, always with the same outcome.
    """
    set_quiet_worker_python(session)
    set_worker_memory()
    give_package(session)
