"""What the driver does about the tasks that its workers keep open between batches."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from flinkish.runtime.task_store import JobRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def job_run(session: SparkSession, checkpoint: str | None) -> JobRun | None:
    """A new run of the job with that checkpoint; None where workers do not live to the next batch."""
    if (session.conf.get("spark.python.worker.reuse", None) or "true").lower() != "true":
        return None
    run = uuid.uuid4().hex
    return JobRun(checkpoint or run, run)
