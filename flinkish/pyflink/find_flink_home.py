"""PyFlink finds its jars by this; flinkish has none."""

from __future__ import annotations

from flinkish.api.errors import NotSupportedError


def _find_flink_home() -> str:
    raise NotSupportedError("flinkish has no Flink home: a job runs on Spark.")


_find_flink_source_root = _find_flink_home
