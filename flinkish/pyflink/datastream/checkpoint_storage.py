"""The location of checkpoints, for ported jobs. Nothing in PyFlink 2 takes one of these: use
``get_checkpoint_config().set_checkpoint_storage_dir(path)``."""

from __future__ import annotations

from flinkish.pyflink.absent import absent_names

__all__ = ["CheckpointStorage", "FileSystemCheckpointStorage", "JobManagerCheckpointStorage"]


class CheckpointStorage:
    """Base class of checkpoint storages (PyFlink: ``CheckpointStorage``)."""

    def __init__(self, checkpoint_path: str | None = None) -> None:
        self._path = checkpoint_path

    def get_checkpoint_path(self) -> str | None:
        """The directory that was given."""
        return self._path

    def get_savepoint_path(self) -> str | None:
        """None: a savepoint's directory is named when it is taken."""
        return None


class JobManagerCheckpointStorage(CheckpointStorage):
    """On the heap of Flink's JobManager (PyFlink: ``JobManagerCheckpointStorage``)."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024
    """The largest size of a state in bytes, unless another is given."""

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        super().__init__(checkpoint_path)
        self._max_state_size = max_state_size or self.DEFAULT_MAX_STATE_SIZE

    def get_max_state_size(self) -> int:
        """The value that was given, without effect."""
        return self._max_state_size


class FileSystemCheckpointStorage(CheckpointStorage):
    """In a directory (PyFlink: ``FileSystemCheckpointStorage``)."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    """The highest threshold in bytes for the size of a small file."""

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        super().__init__(checkpoint_path)
        small = 20 * 1024 if file_state_size_threshold is None else file_state_size_threshold
        self._min_file_size = small
        self._write_buffer_size = small if write_buffer_size < 0 else write_buffer_size

    def get_min_file_size_threshold(self) -> int:
        """The value that was given, without effect."""
        return self._min_file_size

    def get_write_buffer_size(self) -> int:
        """The value that was given, without effect."""
        return self._write_buffer_size


__getattr__ = absent_names(__name__)
