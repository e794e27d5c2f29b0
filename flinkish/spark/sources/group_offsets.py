"""``GroupOffsets``: commits the offsets that sources have read to Kafka, after each batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.runtime.kafka.planner import ConsumerGroup
from flinkish.spark.sources.plan_log import PlanLog
from flinkish.spark.sources.planned_offset import PlannedOffset


class GroupOffsets:
    """Commits the steps that Spark has committed. ``groups`` has the consumer groups of sources by
    uid, each with the directory of the source's plan log, if it has one."""

    def __init__(self, groups: Mapping[str, tuple[ConsumerGroup, str]]) -> None:
        self._groups = groups
        self._committed: dict[str, int] = {}

    def batchCommitted(self, progress: Mapping[str, Any]) -> None:
        """Called with the progress of each finished batch."""
        if not self._groups:
            return
        for source in progress["sources"]:
            offset = PlannedOffset.of(source["endOffset"])
            if offset is None or not offset.number or offset.source not in self._groups:
                continue
            if self._committed.get(offset.source) != offset.number:
                group, log = self._groups[offset.source]
                whole = offset.whole
                group.commit(PlanLog(log).read(offset.number) if whole is None else whole.step)
                self._committed[offset.source] = offset.number
