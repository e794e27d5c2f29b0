"""PyFlink finds its jars by this, and its tests import it; flinkish has none."""

from __future__ import annotations

from flinkish.api.errors import NotSupportedError


def _find_flink_home() -> str:
    raise NotSupportedError("Leave it out: a job runs on Spark, and there is no Flink home.")


_find_flink_source_root = _find_flink_home
