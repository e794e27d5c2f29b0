"""Where checkpoints are, for ported jobs. Nothing of PyFlink 2 takes one of these: what counts is
``get_checkpoint_config().set_checkpoint_storage_dir(path)``."""

from __future__ import annotations

from flinkish.pyflink.absent import absent_names

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage:
    """Where checkpoints are (PyFlink: ``CheckpointStorage``)."""

    def __init__(self, checkpoint_path: str | None = None) -> None:
        self._path = checkpoint_path

    def get_checkpoint_path(self) -> str | None:
        """The directory that was given."""
        return self._path


class JobManagerCheckpointStorage(CheckpointStorage):
    """On the heap of Flink's JobManager (PyFlink: ``JobManagerCheckpointStorage``)."""

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        super().__init__(checkpoint_path)
        self.max_state_size = max_state_size


class FileSystemCheckpointStorage(CheckpointStorage):
    """In a directory (PyFlink: ``FileSystemCheckpointStorage``)."""

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        super().__init__(checkpoint_path)
        self.file_state_size_threshold = file_state_size_threshold
        self.write_buffer_size = write_buffer_size


__getattr__ = absent_names(__name__)
