"""Removes a checkpoint when its job ends, or keeps it (``ExternalizedCheckpointRetention``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyarrow import fs

from flinkish.api.environment.configuration import ExternalizedCheckpointRetention
from flinkish.api.errors import NotSupportedError
from flinkish.api.execution.client import JobStatus
from flinkish.spark.checkpoint.file_systems import file_system
from flinkish.spark.session.drivers import driver_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flinkish.spark.checkpoint.storage import CheckpointStorage


class CheckpointRetention:
    """Removes the checkpoint of a job that has ended if ``retention`` says so; with None, never.
    Raises NotSupportedError if the checkpoint could not be removed."""

    def __init__(
        self,
        session: SparkSession,
        storage: CheckpointStorage,
        retention: ExternalizedCheckpointRetention | None,
    ) -> None:
        self._path = storage.path
        self._driver = driver_of(session)
        self._retention = retention
        self._files: tuple[fs.FileSystem, str] | None = None
        if retention is not None and not self._driver.canRemove(storage.path):
            try:
                self._files = file_system(session, storage.path)
            except NotSupportedError as error:
                raise NotSupportedError(
                    f"setExternalizedCheckpointRetention: {storage.path} could not be removed when the job"
                    f" ends, as Spark removes nothing, and {error}. Leave it out, and let the store remove"
                    " old directories."
                ) from None

    def jobEnded(self, status: JobStatus, goesOn: bool) -> None:
        """Called when the query has ended. ``goesOn``: the job was stopped to continue from its checkpoint."""
        if self._retention is None or goesOn or not self._removes(self._retention, status):
            return
        if self._files is None:
            self._driver.removeDirectory(self._path)
        else:
            files, path = self._files
            files.delete_dir(path)

    @staticmethod
    def _removes(retention: ExternalizedCheckpointRetention, status: JobStatus) -> bool:
        if status is JobStatus.FINISHED:
            return True
        kinds = ExternalizedCheckpointRetention
        if status is JobStatus.FAILED:
            return retention is kinds.NO_EXTERNALIZED_CHECKPOINTS
        return retention is not kinds.RETAIN_ON_CANCELLATION
