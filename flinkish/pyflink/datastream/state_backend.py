"""State backends, accepted for ported jobs: state is always in Spark's state store."""

from __future__ import annotations

from enum import Enum

from flinkish.pyflink.absent import absent_names


class StateBackend:
    """Base class of state backends (PyFlink: ``StateBackend``), which have no effect."""


class HashMapStateBackend(StateBackend):
    """State on the heap (PyFlink: ``HashMapStateBackend``)."""


class PredefinedOptions(Enum):
    """Settings of RocksDB for a kind of disk (PyFlink: ``PredefinedOptions``); without effect."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in RocksDB (PyFlink: ``EmbeddedRocksDBStateBackend``). Its settings have no effect."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = bool(enable_incremental_checkpointing)
        self._paths: list[str] = []
        self._predefined = PredefinedOptions.DEFAULT
        self._options: str | None = None
        self._threads = 4

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the directories of RocksDB."""
        self._paths = list(paths)

    def get_db_storage_paths(self) -> list[str]:
        """The directories that were set."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """The value that was given."""
        return self._incremental

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Set the options for a kind of disk."""
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The value that was set."""
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> None:
        """Set a factory of options, by the name of Java's class."""
        self._options = options_factory_class_name

    def get_options(self) -> str | None:
        """The value that was set."""
        return self._options

    def get_number_of_transfer_threads(self) -> int:
        """The value that was set."""
        return self._threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads send files to a checkpoint."""
        self._threads = number_of_transfering_threads


__getattr__ = absent_names(__name__)
