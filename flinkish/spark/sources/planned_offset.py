"""``PlannedOffset``: where Spark is in a planned source, as its own log of the batches says it.

On this machine's file system an offset is no more than the number of a step, which the plan log has. Elsewhere
the offset has the step itself, and what its planner knew after it: Spark writes it before the batch, to
whatever file system the checkpoint is on, and so it needs no log beside.
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
    """A step, the snapshot of its planner after it, and what is left of the source then."""

    step: Step
    snapshot: list[Any]
    backlog: SourceBacklog = UNKNOWN_BACKLOG


@dataclass(frozen=True)
class PlannedOffset:
    """The number of the last step of ``source``, a uid; 0 before the first. ``whole``: the step itself, None
    where it is in a plan log."""

    source: str
    number: int
    whole: WholeStep | None = None

    @staticmethod
    def of(offset: object) -> PlannedOffset | None:
        """The offset of a planned source, by its JSON; None if it is another's."""
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
        """What is written as JSON."""
        fields: dict[str, Any] = {"source": self.source, "step": self.number}
        if self.whole is not None:
            whole, step = self.whole, self.whole.step
            fields |= {"pieces": step.pieces, "last": step.last, "snapshot": whole.snapshot}
            fields["backlog"] = whole.backlog.asDict()
        return fields

    @property
    def ended(self) -> bool:
        """Whether it says that the source has ended."""
        return self.whole is not None and self.whole.step.last

    def shown(self) -> str:
        """For people: the source and the number."""
        return json.dumps({"source": self.source, "step": self.number})
