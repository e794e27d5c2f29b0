"""``PlannedOffset``: Spark's position in a planned source, in the form of Spark's own log of the
batches.

On this machine's file system an offset is just the number of a step, and the plan log has the step.
Elsewhere the offset contains the step itself and the planner's snapshot after it: Spark writes the
offset before the batch, to whatever file system the checkpoint is on, so no other log is needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flinkish.api.execution.read_progress import UNKNOWN_BACKLOG, SourceBacklog
from flinkish.runtime.sources.planners import Step


@dataclass(frozen=True)
class WholeStep:
    """A step, and the snapshot of its planner and the source's backlog after it."""

    step: Step
    snapshot: list[Any]
    backlog: SourceBacklog = UNKNOWN_BACKLOG


@dataclass(frozen=True)
class PlannedOffset:
    """The number of the last step of ``source``, a uid; 0 before the first. ``whole``: the step
    itself, None if it is in a plan log."""

    source: str
    number: int
    whole: WholeStep | None = None

    @staticmethod
    def of(offset: object) -> PlannedOffset | None:
        """The planned offset with that JSON; None if it is of another kind of source."""
        try:
            found = json.loads(offset) if isinstance(offset, str) else offset
            if not isinstance(found, Mapping) or not isinstance(found["step"], int):
                return None
            source, number = str(found["source"]), found["step"]
            if "pieces" not in found:
                return PlannedOffset(source, number)
            step = Step(found["pieces"], found["last"])
            backlog = SourceBacklog.of(found.get("backlog", {}))
            return PlannedOffset(source, number, WholeStep(step, found["snapshot"], backlog))
        except (ValueError, LookupError):
            return None

    def asDict(self) -> dict[str, Any]:
        """Return the offset as the dict that is written as JSON."""
        fields: dict[str, Any] = {"source": self.source, "step": self.number}
        if self.whole is not None:
            whole, step = self.whole, self.whole.step
            fields |= {"pieces": step.pieces, "last": step.last, "snapshot": whole.snapshot}
            fields["backlog"] = whole.backlog.asDict()
        return fields

    @property
    def ended(self) -> bool:
        """Whether the source ends with this step."""
        return self.whole is not None and self.whole.step.last

    def shown(self) -> str:
        """The source and the number, for messages."""
        return json.dumps({"source": self.source, "step": self.number})
