"""Random assigners, triggers and evictors, those that go together more often than not."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.conformance.recorder.inputs import MAX, Scale

Spec = dict[str, Any]

EVENT_TIME = (
    "TumblingEventTimeWindows",
    "SlidingEventTimeWindows",
    "EventTimeSessionWindows",
    "DynamicEventTimeSessionWindows",
    "CappedSessionWindows",
)
PROCESSING_TIME = (
    "TumblingProcessingTimeWindows",
    "SlidingProcessingTimeWindows",
    "ProcessingTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
)
GLOBAL = ("GlobalWindows", "countWindow")


class Windowing:
    """The calls between ``keyBy`` and the function of one case."""

    def __init__(self, random: Random, scale: Scale) -> None:
        self._random = random
        self._scale = scale

    def assigner(self, joins: bool = False) -> Spec:
        """Any assigner; for ``joins`` one that joins are recorded with."""
        random, scale = self._random, self._scale
        kind = random.choice(EVENT_TIME[:3] if joins else EVENT_TIME + PROCESSING_TIME + GLOBAL)
        spec: Spec = {"kind": kind}
        if kind == "GlobalWindows":
            if random.random() < 0.2:
                spec["endOfStream"] = True
        elif kind == "countWindow":
            spec["size"] = random.randint(1, 6)
            if random.random() < 0.5:
                spec["slide"] = random.randint(1, 6)
        elif kind.startswith("Dynamic"):
            spec["gapExpr"] = "value"
        elif kind == "CappedSessionWindows":
            spec |= {"gap": scale.size(), "cap": scale.size() * random.choice((1, 2, 3))}
            spec["cap"] = max(spec["gap"], spec["cap"])
        elif "Session" in kind:
            spec["gap"] = scale.size()
        else:
            spec["size"] = scale.size()
            step = spec["size"]
            if kind.startswith("Sliding"):
                step = spec["slide"] = max(scale.size(), spec["size"] // 8)
            offset = random.randint(1 - step, step - 1) if random.random() < 0.3 else 0
            spec["offset"] = offset
        return spec

    def trigger(self, assigner: Spec, plain: bool = False) -> Spec | None:
        """A trigger for the assigner, now and then one that does not suit it."""
        random = self._random
        if random.random() < 0.3:
            return None
        time = ["EventTimeTrigger"]
        if assigner["kind"] in EVENT_TIME:
            # under other windows it would fire almost until the end of time
            time.append("ContinuousEventTimeTrigger")
        if not plain:
            time += ["ProcessingTimeTrigger", "ContinuousProcessingTimeTrigger"]
        kinds = [*time, "CountTrigger", "CountTrigger"]
        if not plain:
            kinds += ["DeltaTrigger", "ProcessingTimeoutTrigger", "EarlyLateTrigger"]
        kind = random.choice(kinds)
        spec = self._simple(kind, kinds)
        if random.random() < 0.3:
            spec = {"kind": "PurgingTrigger", "of": spec}
        return spec

    def _simple(self, kind: str, kinds: list[str]) -> Spec:
        random, scale = self._random, self._scale
        match kind:
            case "CountTrigger":
                return {"kind": kind, "n": random.randint(1, 5)}
            case "DeltaTrigger":
                return {"kind": kind, "threshold": random.choice((0, 2, 5, 10))}
            case "ProcessingTimeoutTrigger":
                nested = self._simple(random.choice(kinds), kinds)
                if random.random() < 0.2:
                    nested = {"kind": "PurgingTrigger", "of": nested}
                return {
                    "kind": kind,
                    "of": nested,
                    "timeout": scale.size(),
                    "resetTimerOnNewRecord": random.random() < 0.5,
                    "shouldClearOnTimeout": random.random() < 0.5,
                }
            case "EarlyLateTrigger":
                return {"kind": kind, "early": scale.size(), "lateCount": random.randint(1, 3)}
            case "ContinuousEventTimeTrigger" | "ContinuousProcessingTimeTrigger":
                return {"kind": kind, "interval": scale.size()}
        return {"kind": kind}

    def evictor(self) -> Spec | None:
        """None, or any evictor."""
        random = self._random
        if random.random() < 0.6:
            return None
        after = random.random() < 0.5
        match random.choice(("CountEvictor", "TimeEvictor", "DeltaEvictor")):
            case "CountEvictor":
                spec: Spec = {"kind": "CountEvictor", "n": random.choice((0, 1, 2, 3, 5))}
            case "TimeEvictor":
                size = random.choice((0, 1, self._scale.size()))
                spec = {"kind": "TimeEvictor", "size": size}
            case _:
                spec = {"kind": "DeltaEvictor", "threshold": random.choice((0, 1, 3, 8, 15))}
        return {**spec, "doEvictAfter": after}

    def lateness(self) -> int:
        """The allowed lateness, most often none."""
        random = self._random
        sizes = (1, self._scale.size(), self._scale.size(), 50 * self._scale.unit, MAX)
        return 0 if random.random() < 0.5 else random.choice(sizes)

    @staticmethod
    def wantsClock(assigner: Spec, trigger: Spec | None) -> bool:
        """Whether the case is about processing time."""
        text = f"{assigner}{trigger}"
        return "Processing" in text or "EarlyLate" in text
