"""State backends, kept for ported jobs: state is in Spark's state store, always."""

from __future__ import annotations

from flinkish.pyflink.absent import absent_names


class StateBackend:
    """Where state is kept (PyFlink: ``StateBackend``); it has no effect."""


class HashMapStateBackend(StateBackend):
    """State on the heap (PyFlink: ``HashMapStateBackend``)."""


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in RocksDB (PyFlink: ``EmbeddedRocksDBStateBackend``)."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self.incremental = enable_incremental_checkpointing


__getattr__ = absent_names(__name__)
