"""``GroupOffsets``: tells Kafka, after each batch, how far the sources of a job have read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flinkish.runtime.kafka.group import ConsumerGroup
from flinkish.spark.sources.plan_log import PlanLog


class GroupOffsets:
    """Commits the steps that Spark has committed. ``groups`` has, by the uids of sources, their groups and
    the directories of their plan logs."""

    def __init__(self, groups: Mapping[str, tuple[ConsumerGroup, str]]) -> None:
        self._groups = groups
        self._committed: dict[str, int] = {}

    def batchCommitted(self, progress: Mapping[str, Any]) -> None:
        """Called with the progress of each batch that is done."""
        if not self._groups:
            return
        for source in progress["sources"]:
            offset = _offset(source["endOffset"])
            uid, step = str(offset.get("source")), int(offset.get("step", 0))
            if uid in self._groups and step and self._committed.get(uid) != step:
                group, log = self._groups[uid]
                group.commit(PlanLog(log).read(step))
                self._committed[uid] = step


def _offset(text: object) -> dict[str, Any]:
    """An offset of a planned source; empty if it is another source's."""
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
